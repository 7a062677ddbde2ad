package bundle

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

func testManifest(t testing.TB) Manifest {
	t.Helper()
	a, err := Assemble(testDraft(testID))
	if err != nil {
		t.Fatal(err)
	}
	return a.Manifest
}

func TestEncodeMatchesGolden(t *testing.T) {
	a, err := Assemble(smallDraft(testID))
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "manifest.json")
	if *update {
		if err := os.WriteFile(golden, a.ManifestBytes, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(a.ManifestBytes)); diff != "" {
		t.Errorf("manifest changed (-want +got); raise Format if this is meant:\n%s", diff)
	}
}

func TestDecodeInvertsEncode(t *testing.T) {
	m := testManifest(t)
	data, err := Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m, back); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEncodeDoesNotDependOnTheOrderOfSubjectsAndIsNFC(t *testing.T) {
	m := testManifest(t)
	m.Predicate.NonClaims = []string{"caf\u00e9"}
	want, err := Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	m.Subject[0], m.Subject[3] = m.Subject[3], m.Subject[0]
	m.Predicate.NonClaims = []string{"cafe\u0301"}
	got, err := Encode(m)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("forms differ, %v", err)
	}
	if !bytes.Contains(got, []byte("caf\u00e9")) {
		t.Error("not NFC, or escaped")
	}
}

func TestEncodeLeavesItsArgumentAlone(t *testing.T) {
	m := testManifest(t)
	m.Subject[0], m.Subject[3] = m.Subject[3], m.Subject[0]
	m.Predicate.Roles[1].Files = nil
	first := m.Subject[0].Name
	if _, err := Encode(m); err != nil {
		t.Fatal(err)
	}
	if m.Subject[0].Name != first || m.Predicate.Roles[1].Files != nil {
		t.Error("Encode changed its argument")
	}
}

func TestValidateReportsEveryFault(t *testing.T) {
	m := testManifest(t)
	m.Type, m.PredicateType = "x", "y"
	p := &m.Predicate
	p.Format, p.Finding.Supersedes = 0, "nothing"
	p.Roles[2].State = "lost"
	p.Roles[0].Files = nil
	p.Roles[1].Reason = " "
	m.Subject[0].Size = -1
	p.PlanLock = &PlanLock{CanonicalSHA256: "1"}
	p.Inputs = []Input{{Name: "i", SHA256: digestOf(nil), Size: -2}}
	p.External = []External{{Name: "e", SHA256: "2"}}
	p.Sanitizer = &Sanitizer{RulesSHA256: digestOf(nil), Replaced: map[string]int64{"x": -3}}
	p.Tally.Cells.Passing = -4
	_, err := Encode(m)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"_type", "predicateType", "format", "supersedes", "unknown state", "names no file",
		"needs a reason", "size -1", "canonicalSha256", "redactedSha256", "input i is -2", "external e", "sanitizer is -3", "tally is -4"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no mention of %q in:\n%v", want, err)
		}
	}
}

func TestEncodeRefusesBytesThatAreNoText(t *testing.T) {
	for name, change := range map[string]func(*Manifest){
		"map key": func(m *Manifest) { m.Predicate.Builder.Deps = map[string]string{"\xff": "v"} },
		"list":    func(m *Manifest) { m.Predicate.NonClaims = []string{"a\xffb"} },
		"pointer": func(m *Manifest) {
			m.Predicate.Sanitizer = &Sanitizer{RulesSHA256: digestOf(nil), Dropped: map[string]int64{"\xff": 1}}
		},
		"two keys": func(m *Manifest) { m.Predicate.Builder.Deps = map[string]string{"\u00e9": "v", "e\u0301": "v"} },
	} {
		t.Run(name, func(t *testing.T) {
			m := testManifest(t)
			change(&m)
			if data, err := Encode(m); err == nil {
				t.Errorf("encoded as %s", data)
			}
		})
	}
}

func TestSumsAreGNULinesRelativeToTheBundle(t *testing.T) {
	a, err := Assemble(smallDraft(testID))
	if err != nil {
		t.Fatal(err)
	}
	d := smallDraft(testID)
	want := digestOf(d.Narrative) + "  ../" + testID + ".md\n" +
		digestOf(d.Files["README.md"]) + "  README.md\n" +
		digestOf(d.Files["data/x"]) + "  data/x\n" +
		digestOf(a.ManifestBytes) + "  manifest.json\n" + digestOf(testSanitizeRecord()) + "  sanitize.json\n"
	if diff := cmp.Diff(want, string(a.Sums)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzDecode(f *testing.F) {
	a, err := Assemble(smallDraft(testID))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(a.ManifestBytes)
	f.Add([]byte("{}\n"))
	f.Add([]byte("\ufeff{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Decode(data)
		if err != nil {
			return
		}
		again, err := Encode(m)
		if err != nil || !bytes.Equal(again, data) {
			t.Errorf("decoded, but encodes otherwise: %v", err)
		}
	})
}
