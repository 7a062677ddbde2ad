package sanitize

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/report/bundle"
)

const findingID = "2026-10-17-scanned"

// draft is a small valid finding with a file of every kind.
func draft(t *testing.T) bundle.Draft {
	t.Helper()
	rules := RulesSHA256()
	roles := make([]bundle.Role, 0, 10)
	for _, name := range bundle.RoleNames() {
		roles = append(roles, bundle.Role{Role: name, State: bundle.RoleMissing, Reason: "not collected"})
	}
	return bundle.Draft{
		Narrative: []byte("# Scanned\n\nTwo arms.\n\n" + bundle.EndMark + "\n"),
		Files: map[string][]byte{
			"README.md":             []byte("# Map\n"),
			"friction.md":           []byte("none\n"),
			"claims.json":           []byte(`{"model": "a@` + strings.Repeat("0f", 20) + `"}` + "\n"),
			"queries/a.sql":         []byte("-- what is asked\nSELECT 1\n"),
			"tables/a.csv":          []byte("fact,value\nimage_digest,sha256:" + hex64 + "\n"),
			"plots/a.svg":           []byte("<svg xmlns=\"http://www.w3.org/2000/svg\"><desc>n = 8</desc></svg>\n"),
			"data/problems.parquet": parquetOf(t, "detail", []string{"an event is no JSON"}, nil, zstd(false)...),
			bundle.SanitizeName:     fmt.Appendf(nil, "{\"rules_sha256\": %q, \"dropped\": {}, \"replaced\": {}, \"allow\": []}\n", rules),
		},
		Predicate: bundle.Predicate{
			Format: bundle.Format, Finding: bundle.Finding{ID: findingID, Kind: bundle.KindMeasured}, Roles: roles,
			Sanitizer: &bundle.Sanitizer{RulesSHA256: rules},
			Limits:    bundle.DefaultLimits(), NonClaims: []string{"causes"},
			Builder: bundle.Builder{Module: "assay", Version: "(devel)", Go: "go1.26", GOARCH: "amd64"},
		},
	}
}

// verified seals a draft and returns its problems at level 2.
func verified(t *testing.T, d bundle.Draft) []bundle.Problem {
	t.Helper()
	findings := t.TempDir()
	sealed, err := bundle.Seal(findings, d)
	if err != nil {
		t.Fatal(err)
	}
	if err := bundle.WriteIndex(findings); err != nil {
		t.Fatal(err)
	}
	l, err := bundle.Load(filepath.Join(findings, sealed.Folder))
	if err != nil {
		t.Fatal(err)
	}
	r := bundle.Verify(l, bundle.Options{Level: 2, Extra: []bundle.Check{BundleCheck(nil)}})
	if !slices.Contains(r.Executed, "V-13") {
		t.Fatalf("V-13 did not run: %v, %v", r.Skips, r.Problems)
	}
	return r.Problems
}

func TestScannedBundlePasses(t *testing.T) {
	if problems := verified(t, draft(t)); len(problems) > 0 {
		t.Errorf("%v", problems)
	}
}

// TestPrivateFactsInAPublishedBundleAreV13 publishes each, with every digest as
// it should be: nothing but the scan sees it.
func TestPrivateFactsInAPublishedBundleAreV13(t *testing.T) {
	token, gpu := "glpat"+"-abcdefghij0123456789", "GPU-8f6c2f4e-1c6b-4f0a-9d3e-0123456789ab"
	column := func(text string) func(*bundle.Draft) {
		return func(d *bundle.Draft) {
			d.Files["data/problems.parquet"] = parquetOf(t, "detail", []string{"fine", text}, nil, zstd(false)...)
		}
	}
	file := func(name, text string) func(*bundle.Draft) {
		return func(d *bundle.Draft) { d.Files[name] = []byte(text) }
	}
	for name, tamper := range map[string]struct {
		file   string // where the problem is
		change func(*bundle.Draft)
	}{
		"a token in a Parquet column": {"data/problems.parquet", column(token)},
		"a token in Parquet metadata": {"data/problems.parquet", func(d *bundle.Draft) {
			d.Files["data/problems.parquet"] = parquetOf(t, "detail", []string{"fine"}, map[string]string{"by": token})
		}},
		"a token in base64":             {"friction.md", file("friction.md", base64.StdEncoding.EncodeToString([]byte("key: "+token)))},
		"a token in an SVG description": {"plots/a.svg", file("plots/a.svg", "<svg><desc>"+token+"</desc></svg>")},
		"a token in an SQL comment":     {"queries/a.sql", file("queries/a.sql", "SELECT 1 -- "+token+"\n")},
		"a token in a file name":        {"", file("data/"+token+".md", "fine\n")},
		"a token in the narrative":      {findingID + ".md", func(d *bundle.Draft) { d.Narrative = []byte("# A " + token + "\n\n" + bundle.EndMark + "\n") }},
		"a token in the manifest": {bundle.ManifestName, func(d *bundle.Draft) {
			d.Predicate.NonClaims = []string{token}
		}},
		"a private address":                        {"data/problems.parquet", column("dial 10.1.2.3")},
		"a home path":                              {"data/problems.parquet", column("open /home/jane/x")},
		"an e-mail address":                        {"tables/a.csv", file("tables/a.csv", "a\njane.doe@example.org\n")},
		"the UUID of a GPU":                        {"claims.json", file("claims.json", `["`+gpu+`"]`)},
		"the id of a container":                    {"data/problems.parquet", column("container " + hex64)},
		"the id of a container as an image's name": {"tables/a.csv", file("tables/a.csv", "fact,value\nimage,"+hex64+"\n")},
		"a picture":                                {"plots/a.png", file("plots/a.png", "\x89PNG")},
		"an allow entry that matches nothing":      {bundle.SanitizeName, func(d *bundle.Draft) { allow(d, "/chat/templates") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := draft(t)
			tamper.change(&d)
			problems := verified(t, d)
			if len(problems) == 0 {
				t.Fatal("passes")
			}
			if p := problems[0]; p.Code != "V-13" || !strings.HasSuffix(p.File, tamper.file) {
				t.Errorf("first %v, want V-13 in %s", p, tamper.file)
			}
			for _, p := range problems {
				if text := p.Detail; strings.Contains(text, token) || strings.Contains(text, "jane") || strings.Contains(text, hex64) {
					t.Errorf("quoted: %v", p)
				}
			}
		})
	}
}

// allow records one entry for the data.
func allow(d *bundle.Draft, value string) {
	d.Files[bundle.SanitizeName] = fmt.Appendf(nil,
		"{\"rules_sha256\": %q, \"dropped\": {}, \"replaced\": {}, \"allow\": [{\"value\": %q, \"path\": \"data/*\", \"reason\": \"a route\", \"date\": \"2026-10-17\"}]}\n", RulesSHA256(), value)
	d.Predicate.Sanitizer.AllowEntries = 1
}

// TestHiddenBytesOfADataFileAreV13: no reader of tables looks at them.
func TestHiddenBytesOfADataFileAreV13(t *testing.T) {
	table := parquetOf(t, "detail", []string{"fine"}, nil, zstd(false)...)
	footer := len(table) - 8 - int(binary.LittleEndian.Uint32(table[len(table)-8:]))
	d := draft(t)
	d.Files["data/problems.parquet"] = slices.Concat(table[:footer], []byte("/home/jane"), table[footer:])
	if problems := verified(t, d); len(problems) != 1 || problems[0].Code != "V-13" || !strings.Contains(problems[0].Detail, "hidden_bytes") {
		t.Errorf("%v", problems)
	}
	// What cannot be read at all is left to V-15, which says why.
	d.Files["data/problems.parquet"] = []byte("PAR1 no parquet PAR1")
	if problems := verified(t, d); len(problems) != 0 {
		t.Errorf("%v", problems)
	}
}

func TestAllowedTextsPassTheCheck(t *testing.T) {
	d := draft(t)
	allow(&d, "/chat/templates")
	d.Files["data/problems.parquet"] = parquetOf(t, "detail", []string{"GET /chat/templates"}, nil, zstd(false)...)
	d.Narrative = []byte("# GET /chat/templates\n\n" + bundle.EndMark + "\n")
	if problems := verified(t, d); len(problems) > 0 {
		t.Errorf("%v", problems)
	}
}

// TestTheRecordIsCheckedAtLevelOne: the row of level 2 does not take the place of
// the other where it does not run.
func TestTheRecordIsCheckedAtLevelOne(t *testing.T) {
	findings := t.TempDir()
	sealed, err := bundle.Seal(findings, draft(t))
	if err != nil {
		t.Fatal(err)
	}
	l, err := bundle.Load(filepath.Join(findings, sealed.Folder))
	if err != nil {
		t.Fatal(err)
	}
	l.Manifest.Predicate.Sanitizer = nil
	r := bundle.Verify(l, bundle.Options{Level: 1, Extra: []bundle.Check{BundleCheck(nil)}})
	of13 := slices.DeleteFunc(r.Problems, func(p bundle.Problem) bool { return p.Code != "V-13" })
	if len(of13) != 1 || of13[0].File != bundle.ManifestName {
		t.Errorf("%v, want one V-13 for the manifest", r)
	}
}

// TestPublishedFindingsPassTheCheck scans what the repository publishes.
func TestPublishedFindingsPassTheCheck(t *testing.T) {
	folders, err := filepath.Glob("../../findings/*/" + bundle.ManifestName)
	if err != nil || len(folders) == 0 {
		t.Fatalf("no published finding: %v", err)
	}
	for _, manifest := range folders {
		l, err := bundle.Load(filepath.Dir(manifest))
		if err != nil {
			t.Fatal(err)
		}
		if problems := BundleCheck(nil).Run(l); len(problems) > 0 {
			t.Errorf("%s: %v", l.Folder, problems)
		}
	}
}

// TestAnUnreadFileIsAProblem: an exception lets a file be too large to be read.
func TestAnUnreadFileIsAProblem(t *testing.T) {
	findings := t.TempDir()
	sealed, err := bundle.Seal(findings, draft(t))
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(findings, sealed.Folder)
	if err := os.Remove(filepath.Join(folder, "friction.md")); err != nil {
		t.Fatal(err)
	}
	l, err := bundle.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	if problems := BundleCheck(nil).Run(l); len(problems) != 1 || !strings.HasSuffix(problems[0].File, "friction.md") {
		t.Errorf("%v, want one for friction.md", problems)
	}
}
