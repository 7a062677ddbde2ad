package signature

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"assay/report/bundle"
)

// SignersName is the file of allowed keys in a findings folder.
const SignersName = "allowed_signers"

// maxSignersBytes bounds what is read of it.
const maxSignersBytes = 1 << 20

// Options of the check.
type Options struct {
	Signers    []byte    // text of allowed_signers
	SignersErr error     // why there is none; wraps fs.ErrNotExist where it does not exist
	Required   bool      // a bundle without a signature fails
	At         time.Time // when a key must be valid
}

// ReadSigners reads the allowed_signers beside a bundle.
func ReadSigners(bundleDir string) (text []byte, err error) {
	abs, err := filepath.Abs(bundleDir)
	if err != nil {
		return nil, err
	}
	name := filepath.Join(filepath.Dir(abs), SignersName)
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxSignersBytes:
		return nil, fmt.Errorf("%s is no file of at most %d bytes", SignersName, maxSignersBytes)
	}
	return os.ReadFile(name)
}

// Check is V-07: a signature that is there, or is required, is good, by a listed
// key, for this namespace, in its time.
func Check(opt Options) bundle.Check {
	return bundle.Check{
		Code: "V-07", Level: 1, Title: "signature by a listed key", Needs: []bundle.Code{"V-01"},
		SkipReason: func(l *bundle.Loaded) string {
			if l.Control[bundle.SignatureName] == nil && !opt.Required {
				return "the bundle has no signature"
			}
			return ""
		},
		Run: func(l *bundle.Loaded) []bundle.Problem {
			if reason := opt.problem(l); reason != "" {
				return []bundle.Problem{{Code: "V-07", File: bundle.SignatureName, Detail: reason}}
			}
			return nil
		},
	}
}

func (opt Options) problem(l *bundle.Loaded) string {
	switch {
	case l.Control[bundle.SignatureName] == nil:
		return "a signature is required and there is none"
	case l.Signature == nil:
		return fmt.Sprintf("cannot be read: %v", l.SignatureErr)
	case errors.Is(opt.SignersErr, fs.ErrNotExist):
		return "the findings folder has no " + SignersName + ", so nobody may sign"
	case opt.SignersErr != nil:
		return fmt.Sprintf("%s cannot be read: %v", SignersName, opt.SignersErr)
	}
	signers, unreadable := ParseSigners(opt.Signers)
	if _, err := Verify(l.ManifestBytes, l.Signature, signers, Namespace, opt.At); err != nil {
		reason := err.Error()
		if len(unreadable) > 0 {
			reason += fmt.Sprintf("; %s has lines that allow nothing: %s", SignersName, unreadable[0])
		}
		return reason
	}
	return ""
}
