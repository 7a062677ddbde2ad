package signature

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

// Namespace is that of signatures of a manifest.
const Namespace = "assay-finding@v1"

// The lines around an armored signature (PROTOCOL.sshsig of OpenSSH).
const (
	armorBegin = "-----BEGIN SSH SIGNATURE-----\n"
	armorEnd   = "\n-----END SSH SIGNATURE-----"
)

// Verify checks a signature over a message and returns who signed: the
// principals of the first line that allows it. The error says why not.
func Verify(message, armored []byte, signers []Signer, namespace string, at time.Time) (principals string, err error) {
	sig, err := decode(armored)
	if err != nil {
		return "", err
	}
	if sig.Namespace != namespace {
		return "", fmt.Errorf("it is made for the namespace %q, not %q", sig.Namespace, namespace)
	}
	// PROTOCOL.sshsig forbids SHA-1 with RSA.
	if sig.Signature.Format == ssh.KeyAlgoRSA {
		return "", errors.New("RSA signatures must use SHA-256 or SHA-512")
	}
	if err := sshsig.Verify(bytes.NewReader(message), sig, sig.PublicKey, sig.HashAlgorithm, namespace); err != nil {
		return "", errors.New("it does not fit the manifest's bytes")
	}
	print := ssh.FingerprintSHA256(sig.PublicKey)
	refused := fmt.Errorf("its key %s is not listed", print)
	for _, s := range signers {
		if !bytes.Equal(s.Key.Marshal(), sig.PublicKey.Marshal()) {
			continue
		}
		reason := s.refusal(namespace, at)
		if reason == "" {
			return s.Principals, nil
		}
		refused = fmt.Errorf("its key %s is listed in line %d, but %s", print, s.Line, reason)
	}
	return "", refused
}

// decode reads an armored signature. Like ssh-keygen, it wants the first line
// first and looks at nothing behind the last.
func decode(armored []byte) (*sshsig.Signature, error) {
	text, ok := strings.CutPrefix(string(armored), armorBegin)
	body, _, closed := strings.Cut(text, armorEnd)
	if !ok || !closed {
		return nil, errors.New("it is no armored SSH signature")
	}
	raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(body), ""))
	if err != nil {
		return nil, errors.New("it is no armored SSH signature: no base64")
	}
	sig, err := sshsig.ParseSignature(raw)
	if err != nil {
		return nil, fmt.Errorf("it cannot be read: %w", err)
	}
	return sig, nil
}
