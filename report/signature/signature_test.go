package signature

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"

	"assay/report/bundle"
)

// at is when the corpus is checked.
var at = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// signers of the corpus: two that may be listed, one that never is.
type keys struct{ first, second, stranger, rsa, ecdsa ssh.Signer }

func newKeys(t *testing.T) keys {
	t.Helper()
	signer := func(key crypto.Signer, err error) ssh.Signer {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		s, err := ssh.NewSignerFromSigner(key)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	edwards := func() ssh.Signer {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return signer(key, err)
	}
	rsaKey, rsaErr := rsa.GenerateKey(rand.Reader, 2048)
	curveKey, curveErr := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	return keys{edwards(), edwards(), edwards(), signer(rsaKey, rsaErr), signer(curveKey, curveErr)}
}

// line lists a key in the words of an allowed_signers file.
func line(options string, s ssh.Signer) string {
	return strings.Join(strings.Fields("author@example.org "+options+" "+string(ssh.MarshalAuthorizedKey(s.PublicKey()))), " ") + "\n"
}

// signed is a findings folder with one signed bundle, a copy of the published
// example.
type signed struct {
	t        *testing.T
	findings string
	bundle   string
}

func copyFindings(t *testing.T) signed {
	t.Helper()
	s := signed{t: t, findings: filepath.Join(t.TempDir(), "findings")}
	if err := os.CopyFS(s.findings, os.DirFS("../../findings")); err != nil {
		t.Fatal(err)
	}
	folders, err := filepath.Glob(filepath.Join(s.findings, "*-example-evidence"))
	if err != nil || len(folders) != 1 {
		t.Fatal(folders, err)
	}
	s.bundle = folders[0]
	return s
}

func (s signed) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s signed) file(name string) string { return filepath.Join(s.bundle, name) }

func (s signed) manifest() string {
	s.t.Helper()
	text, err := os.ReadFile(s.file(bundle.ManifestName))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

func (s signed) sign(key ssh.Signer, namespace string, hash sshsig.HashAlgorithm) {
	s.t.Helper()
	sig, err := sshsig.Sign(strings.NewReader(s.manifest()), key, hash, namespace)
	if err != nil {
		s.t.Fatal(err)
	}
	s.write(s.file(bundle.SignatureName), string(sshsig.Armor(sig)))
}

// rehash changes a file of the bundle and makes the manifest and the sums fit.
func (s signed) rehash(name string, change func([]byte) []byte) {
	s.t.Helper()
	before, err := os.ReadFile(s.file(name))
	if err != nil {
		s.t.Fatal(err)
	}
	after := change(bytes.Clone(before))
	s.write(s.file(name), string(after))
	m, err := bundle.Decode([]byte(s.manifest()))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := range m.Subject {
		if subject := &m.Subject[i]; subject.Name == bundle.SubjectName(filepath.Base(s.bundle), name) {
			sum := sha256.Sum256(after)
			subject.Size, subject.Digest.SHA256 = int64(len(after)), hex.EncodeToString(sum[:])
		}
	}
	s.remanifest(m)
}

func (s signed) remanifest(m bundle.Manifest) {
	s.t.Helper()
	text, err := bundle.Encode(m)
	if err != nil {
		s.t.Fatal(err)
	}
	s.write(s.file(bundle.ManifestName), string(text))
	s.write(s.file(bundle.SumsName), string(bundle.Sums(m, text)))
	if err := bundle.WriteIndex(s.findings); err != nil {
		s.t.Fatal(err)
	}
}

// problems verifies the bundle and returns what was found.
func (s signed) problems(required bool, others ...bundle.Check) bundle.Result {
	s.t.Helper()
	l, err := bundle.Load(s.bundle)
	if err != nil {
		s.t.Fatal(err)
	}
	text, err := ReadSigners(s.bundle)
	check := Check(Options{Signers: text, SignersErr: err, Required: required, At: at})
	return bundle.Verify(l, bundle.Options{Extra: append(others, check)})
}

// row is one case of the corpus. ssh says that ssh-keygen can be asked too.
type row struct {
	name     string
	signers  func(k keys) string
	make     func(s signed, k keys)
	required bool
	want     string // "" for a bundle that passes, or a part of the reason
	ssh      bool
}

func by(key func(keys) ssh.Signer, namespace string) func(signed, keys) {
	return func(s signed, k keys) { s.sign(key(k), namespace, sshsig.HashSHA512) }
}

func first(k keys) ssh.Signer    { return k.first }
func stranger(k keys) ssh.Signer { return k.stranger }

func listed(options string) func(keys) string {
	return func(k keys) string { return line(options, k.first) }
}

const onlyFindings = `namespaces="assay-finding@v1"`

var corpus = []row{
	{"signed by a listed key", listed(onlyFindings), by(first, Namespace), true, "", true},
	{"no options", listed(""), by(first, Namespace), false, "", true},
	{"second of two keys", func(k keys) string { return line(onlyFindings, k.second) + line(onlyFindings, k.first) }, by(first, Namespace), true, "", true},
	{"comments and blank lines", func(k keys) string { return "# who may sign\n\n" + line(onlyFindings, k.first) }, by(first, Namespace), true, "", true},
	{"CRLF in the list", func(k keys) string { return strings.ReplaceAll(line(onlyFindings, k.first), "\n", "\r\n") }, by(first, Namespace), true, "", true},
	{"wildcard namespace", listed(`namespaces="git,assay-*"`), by(first, Namespace), true, "", true},
	{"name of an option in capitals", listed(`Namespaces="assay-finding@v1"`), by(first, Namespace), true, "", true},
	{"within its time", listed(onlyFindings + `,valid-after="20261017Z",valid-before="20271017120000Z"`), by(first, Namespace), true, "", true},
	{"a line that cannot be read before the good one", func(k keys) string {
		return "garbage\n" + line("unknown-option", k.first) + line(onlyFindings, k.first)
	}, by(first, Namespace), true, "", true},
	{"an expired line before the good one", func(k keys) string { return line(`valid-before="20200101Z"`, k.first) + line(onlyFindings, k.first) }, by(first, Namespace), true, "", true},
	{"SHA-256", listed(onlyFindings), func(s signed, k keys) { s.sign(k.first, Namespace, sshsig.HashSHA256) }, true, "", true},
	{"RSA", func(k keys) string { return line(onlyFindings, k.rsa) }, func(s signed, k keys) { s.sign(k.rsa, Namespace, sshsig.HashSHA512) }, true, "", true},
	{"ECDSA", func(k keys) string { return line(onlyFindings, k.ecdsa) }, func(s signed, k keys) { s.sign(k.ecdsa, Namespace, sshsig.HashSHA512) }, true, "", true},
	{"no signature and none required", listed(onlyFindings), func(signed, keys) {}, false, "", false},

	{"no signature although required", listed(onlyFindings), func(signed, keys) {}, true, "required", false},
	{"data edited and re-hashed, signature kept", listed(onlyFindings), func(s signed, k keys) {
		by(first, Namespace)(s, k)
		s.rehash("friction.md", func(text []byte) []byte { return append(text, "none\n"...) })
	}, false, "does not fit", true},
	{"a field of the manifest changed, signature kept", listed(onlyFindings), func(s signed, k keys) {
		by(first, Namespace)(s, k)
		m, err := bundle.Decode([]byte(s.manifest()))
		if err != nil {
			s.t.Fatal(err)
		}
		m.Predicate.NonClaims = append(m.Predicate.NonClaims, "one more")
		s.remanifest(m)
	}, false, "does not fit", true},
	{"key not listed", listed(onlyFindings), by(stranger, Namespace), false, "not listed", true},
	{"nobody is listed", func(keys) string { return "" }, by(first, Namespace), false, "not listed", true},
	{"made for another namespace", listed(""), by(first, "file"), false, `namespace "file"`, true},
	{"key not for this namespace", listed(`namespaces="git"`), by(first, Namespace), false, "may not sign", true},
	{"namespace refused by a negated pattern", listed(`namespaces="*,!assay-*"`), by(first, Namespace), false, "may not sign", true},
	{"expired key", listed(onlyFindings + `,valid-before="20261017Z"`), by(first, Namespace), false, "was valid until", true},
	{"key of the future", listed(onlyFindings + `,valid-after="20270101Z"`), by(first, Namespace), false, "valid only after", true},
	{"validity that ends before it begins", listed(`valid-after="20270101Z",valid-before="20260101Z"`), by(first, Namespace), false, "line 1", true},
	{"an option that is not known", listed("no-touch-required"), by(first, Namespace), false, "not known", true},
	{"namespaces twice", listed(`namespaces="a",namespaces="assay-finding@v1"`), by(first, Namespace), false, "twice", true},
	{"namespaces without quotes", listed(`namespaces=assay-finding@v1`), by(first, Namespace), false, "quotes", true},
	{"foreign signature", listed(onlyFindings), func(s signed, k keys) {
		sig, err := sshsig.Sign(strings.NewReader("another message"), k.first, sshsig.HashSHA512, Namespace)
		if err != nil {
			s.t.Fatal(err)
		}
		s.write(s.file(bundle.SignatureName), string(sshsig.Armor(sig)))
	}, false, "does not fit", true},
	{"signature is empty", listed(onlyFindings), func(s signed, _ keys) { s.write(s.file(bundle.SignatureName), "") }, false, "no armored", true},
	{"signature is garbage", listed(onlyFindings), func(s signed, _ keys) { s.write(s.file(bundle.SignatureName), armorBegin+"AAAA"+armorEnd+"\n") }, false, "cannot be read", true},
	{"text before the signature", listed(onlyFindings), func(s signed, k keys) {
		by(first, Namespace)(s, k)
		text, err := os.ReadFile(s.file(bundle.SignatureName))
		if err != nil {
			s.t.Fatal(err)
		}
		s.write(s.file(bundle.SignatureName), "x\n"+string(text))
	}, false, "no armored", true},
	{"the list is missing", func(keys) string { return "missing" }, by(first, Namespace), false, "nobody may sign", true},
}

func (r row) play(t *testing.T, k keys) signed {
	t.Helper()
	s := copyFindings(t)
	list := filepath.Join(s.findings, SignersName)
	if text := r.signers(k); text == "missing" {
		if err := os.Remove(list); err != nil {
			t.Fatal(err)
		}
	} else {
		s.write(list, text)
	}
	r.make(s, k)
	return s
}

func TestSignatures(t *testing.T) {
	k := newKeys(t)
	for _, r := range corpus {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			s := r.play(t, k)
			result := s.problems(r.required)
			if r.want == "" {
				if !result.OK() {
					t.Errorf("problems %v", result.Problems)
				}
				return
			}
			if len(result.Problems) == 0 || result.Problems[0].Code != "V-07" || !strings.Contains(result.Problems[0].Detail, r.want) {
				t.Errorf("problems %v, want V-07 first with %q", result.Problems, r.want)
			}
			// Without the check nothing notices.
			off := bundle.Check{Code: "V-07", Level: 1, Needs: []bundle.Code{"V-01"}, SkipReason: func(*bundle.Loaded) string { return "off" }}
			l, err := bundle.Load(s.bundle)
			if err != nil {
				t.Fatal(err)
			}
			if rest := bundle.Verify(l, bundle.Options{Extra: []bundle.Check{off}}); len(rest.Problems) > 0 {
				t.Errorf("another check found %v", rest.Problems)
			}
		})
	}
}

// TestSSHKeygenAgrees asks ssh-keygen -Y verify about every signed row.
func TestSSHKeygenAgrees(t *testing.T) {
	keygen, err := exec.LookPath("ssh-keygen")
	if err != nil {
		t.Skip("ssh-keygen is not installed; its verdicts are not compared")
	}
	k := newKeys(t)
	asked := 0
	for _, r := range corpus {
		if !r.ssh {
			continue
		}
		asked++
		t.Run(r.name, func(t *testing.T) {
			s := r.play(t, k)
			cmd := exec.Command(keygen, "-Y", "verify", "-f", filepath.Join(s.findings, SignersName), "-I", "author@example.org",
				"-n", Namespace, "-s", s.file(bundle.SignatureName), "-Overify-time="+at.Format("20060102150405Z"))
			cmd.Stdin = strings.NewReader(s.manifest())
			out, err := cmd.CombinedOutput()
			if (err == nil) != s.problems(false).OK() {
				t.Errorf("ssh-keygen: %v\n%s", err, out)
			}
		})
	}
	if asked < 25 {
		t.Errorf("ssh-keygen was asked %d times", asked)
	}
}

// TestSSHKeygenSignatures reads what the documented command makes.
func TestSSHKeygenSignatures(t *testing.T) {
	keygen, err := exec.LookPath("ssh-keygen")
	if err != nil {
		t.Skip("ssh-keygen is not installed; no signature of its own is read")
	}
	k := newKeys(t)
	s := copyFindings(t)
	key := filepath.Join(t.TempDir(), "key")
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(key, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(keygen, "-q", "-Y", "sign", "-n", Namespace, "-f", key, s.file(bundle.ManifestName)).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	signer, err := ssh.NewSignerFromSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	s.write(filepath.Join(s.findings, SignersName), line(onlyFindings, k.second)+line(onlyFindings, signer))
	if r := s.problems(true); !r.OK() {
		t.Error(r.Problems)
	}
}

func TestPatternsOfNamespaces(t *testing.T) {
	for _, test := range []struct {
		list, name string
		want       bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"a*", "ab", true}, {"?", "a", true}, {"?", "ab", false},
		{"a,b", "b", true}, {"*,!b", "b", false}, {"!b,*", "b", false}, {"!b", "a", false},
		{"*", "a/b", true}, {"[a]", "a", false}, {"[a]", "[a]", true}, {`a\b`, `a\b`, true}, {"", "", true},
	} {
		if got := matches(test.list, test.name); got != test.want {
			t.Errorf("%q on %q: %v", test.list, test.name, got)
		}
	}
}

func TestTimesOfValidity(t *testing.T) {
	for text, want := range map[string]string{
		"20261017": "2026-10-17T00:00:00Z", "202610171130": "2026-10-17T11:30:00Z", "20261017113000Z": "2026-10-17T11:30:00Z",
	} {
		got, err := ParseTime(text)
		if err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "2026", "20261317", "2026101711300", "20261017ZZ", "today"} {
		if got, err := ParseTime(text); err == nil {
			t.Errorf("%q is read as %s", text, got)
		}
	}
}
