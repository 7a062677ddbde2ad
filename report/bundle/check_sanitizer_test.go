package bundle

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// testSanitizer is what the test drafts say of their sanitizer, and
// testSanitizeRecord the file that says the same.
func testSanitizer() *Sanitizer {
	return &Sanitizer{RulesSHA256: digestOf([]byte("rules")), Dropped: map[string]int64{"campaigns.plan": 1}, Replaced: map[string]int64{"plan.json:machine_path": 3}}
}

func testSanitizeRecord() []byte {
	return fmt.Appendf(nil, "{\"rules_sha256\": %q, \"dropped\": {\"campaigns.plan\": 1}, \"replaced\": {\"plan.json:machine_path\": 3}, \"allow\": []}\n",
		digestOf([]byte("rules")))
}

// resanitized replaces text in sanitize.json and lists the file as it then is.
func resanitized(old, new string) func(box) {
	return func(b box) {
		b.edit(SanitizeName, func(d []byte) []byte {
			out := bytes.Replace(d, []byte(old), []byte(new), 1)
			if bytes.Equal(out, d) {
				b.t.Fatal("the mutator changed nothing")
			}
			return out
		})
		relist(b, SanitizeName)
	}
}

// relist gives a changed file its size and digest in the manifest.
func relist(b box, file string) {
	b.remanifest(func(m *Manifest) {
		for i, s := range m.Subject {
			if s.Name == SubjectName(b.folder, file) {
				m.Subject[i] = subjectOf(s.Name, b.read(file))
			}
		}
	})
}

var sanitizerTampers = []tamper{
	{"no record of a sanitizer", "V-13", func(b box) {
		b.remanifest(func(m *Manifest) { m.Predicate.Sanitizer = nil })
	}},
	{"its file renamed", "V-13", func(b box) {
		data := b.read(SanitizeName)
		b.must(os.Remove(b.path(SanitizeName)))
		b.remanifest(func(m *Manifest) {
			for i, s := range m.Subject {
				m.Subject[i].Name = strings.Replace(s.Name, "/"+SanitizeName, "/sanitise.json", 1)
			}
		})
		b.write("sanitise.json", data)
	}},
	{"other rules", "V-13", resanitized(digestOf([]byte("rules")), digestOf([]byte("none")))},
	{"other counts", "V-13", resanitized(`"plan.json:machine_path": 3`, `"plan.json:machine_path": 2`)},
	{"a dropped column forgotten", "V-13", resanitized(`"campaigns.plan": 1`, "")},
	{"a count below 0", "V-13", resanitized(`"plan.json:machine_path": 3`, `"plan.json:machine_path": -3`)},
	{"more in it", "V-13", resanitized(`"allow"`, `"more": 1, "allow"`)},
	{"text after it", "V-13", resanitized("}\n", "}{}\n")},
	{"no JSON", "V-13", resanitized(`{"rules`, `["rules`)},
	{"an entry without its reason", "V-13", resanitized(`"allow": []`, `"allow": [{"value": "x", "path": "plan.json", "reason": " ", "date": "2026-10-17"}]`)},
	{"an entry without its date", "V-13", resanitized(`"allow": []`, `"allow": [{"value": "x", "path": "plan.json", "reason": "public", "date": "2026-02-30"}]`)},
	{"an entry that the manifest does not count", "V-13", resanitized(`"allow": []`, `"allow": [{"value": "x", "path": "plan.json", "reason": "public", "date": "2026-10-17"}]`)},
}
