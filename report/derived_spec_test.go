package report

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/collect/plan"
	"assay/report/bundle"
)

// smallSpec is a derived finding from an artifact and a bundle.
const smallSpec = `
schema: assay/derive-spec/v1
finding: 2026-10-20-small
title: A small reading
scope: one artifact and one bundle
decision: Nothing changes.
evidence_label: capacity
decision_label: no-promotion
sources:
  - {id: run, kind: artifact, name: a retained result, file: run.json}
  - {id: other, kind: bundle, name: a published bundle, file: findings/2026-10-17-small-serving-test-evidence}
facts:
  - {subject: a, source: run, place: the file, n: 4, measured: {prompt_tokens: {pointer: /results/1/prompt}, rate_tok_s: {pointer: /results/1/rate}}, stated: {name: {pointer: /name}}}
  - {subject: b, source: other, place: its claims, measured: {planned: {claim: "tally:small-serving-test:requests_planned"}}}
card:
  sentence: "It read {a.prompt_tokens} tokens."
  setup: [[Model, "{a.name}"]]
  headline: [[One, "{a.prompt_tokens}", none], [Two, "{b.planned}", none], [Not known, the rest, none]]
  why: it shows
  caveat: little
outcome: ["{a.name} has {a.rate_tok_s} tok/s and {b.planned} requests."]
sections: [{title: Words, text: [nothing]}]
gaps: [{missing: most, why: small, blocks: all}]
next: [more]
`

func smallSources(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	hostileName, err := json.Marshal(strings.Join(hostile, " "))
	if err != nil {
		t.Fatal(err)
	}
	artifact := `{"name": ` + string(hostileName) + `, "results": [{}, {"prompt": 8192, "rate": 12.50}], "list": [], "none": null}`
	if err := os.WriteFile(filepath.Join(dir, "run.json"), []byte(artifact), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "findings"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := bundle.Seal(filepath.Join(dir, "findings"), finding(t, "failing", failing).Draft); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestFactsAreReadFromArtifactsAndBundles(t *testing.T) {
	dir := smallSources(t)
	data, problems, err := DeriveData([]byte(smallSpec), dir, nil)
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	out := render(t, data, 0)
	checkMarkdown(t, "small narrative", out.Draft.Narrative, out)
	plain := plainText(out.Draft.Narrative)
	for _, h := range hostile {
		if want := strings.Join(strings.Fields(clean(h)), " "); !strings.Contains(strings.Join(strings.Fields(plain), " "), want) {
			t.Errorf("%q is not in the narrative as it was written", want)
		}
	}
	manifest, err := os.ReadFile(filepath.Join(dir, "findings", testID+"-evidence", bundle.ManifestName))
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256(manifest)
	for id, want := range map[string]string{"facts:a.prompt_tokens:whole": "8192", "facts:a.rate_tok_s:words": "12.50", "facts:b.planned:whole": ""} {
		at := slices.IndexFunc(out.Claims, func(c Claim) bool { return c.ID == id })
		switch {
		case at < 0 || len(out.Claims[at].Sources) != 1 || want != "" && out.Claims[at].Value != want:
			t.Errorf("%s: %+v", id, out.Claims)
		case id == "facts:b.planned:whole" && out.Claims[at].Sources[0] != hex.EncodeToString(digest[:]):
			t.Errorf("a claim of a bundle does not name its manifest")
		case id == "facts:a.prompt_tokens:whole" && out.Claims[at].N != "4":
			t.Error("n of the spec is lost")
		}
	}
	findings := t.TempDir()
	if _, err := Derive(context.Background(), data, findings, Options{}); err != nil {
		t.Fatal(err)
	}
	if differences, err := Recheck(context.Background(), findings, Options{}); err != nil || len(differences) > 0 {
		t.Error(differences, err)
	}
	facts := filepath.Join(findings, "2026-10-20-small-evidence", factsFile)
	edited := bytes.Replace(data.Files[factsFile], []byte("8192"), []byte("8193"), 1)
	if err := os.WriteFile(facts, edited, 0o600); err != nil {
		t.Fatal(err)
	}
	if differences, err := Recheck(context.Background(), findings, Options{}); err != nil || len(differences) < 4 {
		t.Errorf("an edited fact changes %v, %v", differences, err)
	}
}

func TestSpecProblemsAreNamedAllAtOnce(t *testing.T) {
	dir := smallSources(t)
	for name, c := range map[string]struct{ from, to, want string }{
		"a number of the author's":    {"why: it shows", "why: it shows 5", "bare_number"},
		"a fact that is not there":    {"{b.planned} requests", "{b.other} requests", "unknown_fact"},
		"praise":                      {"why: it shows", "why: the fastest", "praise_or_cause"},
		"a decode rate alone":         {"rate_tok_s", "decode_tok_s", "decode_alone"},
		"an unknown key":              {"next: [more]", "next: [more]\nextra: 1", "bad_spec"},
		"another schema":              {"spec/v1", "spec/v9", "unknown_schema"},
		"a label of no list":          {"evidence_label: capacity", "evidence_label: simulated", "unknown_label"},
		"a bad name":                  {"2026-10-20-small", "2026-13-20-small", "bad_name"},
		"a pointer to nothing":        {"/results/1/prompt", "/results/7/prompt", "bad_fact"},
		"a pointer to a list":         {"/results/1/prompt", "/list", "bad_fact"},
		"a pointer to null":           {"/results/1/prompt", "/none", "bad_fact"},
		"no such claim":               {"requests_planned", "requests_wished", "bad_fact"},
		"a row too short":             {`[Two, "{b.planned}", none]`, `[Two, "{b.planned}"]`, "bad_shape"},
		"two rows of a headline":      {`, [Not known, the rest, none]`, ``, "bad_shape"},
		"a source without anything":   {", file: run.json", "", "bad_source"},
		"another digest":              {"file: run.json", "file: run.json, bytes: 3, sha256: " + derivedSeedSHA, "digest_differs"},
		"a fact twice":                {"facts:\n", "facts:\n  - {subject: a, source: run, place: x, stated: {name: y}}\n", "repeated_fact"},
		"a fact of no source":         {"{subject: b, source: other", "{subject: b, source: another", "unknown_source"},
		"a private path":              {"caveat: little", "caveat: see /home/jane/run", "private_text"},
		"a name of a computed figure": {"rate_tok_s: {", "full_windows: {", "bad_fact"},
		"a heading of the finding":    {"title: Words", "title: Sources", "bad_shape"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := strings.Replace(smallSpec, c.from, c.to, 1)
			if name == "a decode rate alone" {
				spec = strings.ReplaceAll(smallSpec, c.from, c.to)
			}
			if spec == smallSpec {
				t.Fatal("the spec is unchanged")
			}
			data, problems, err := DeriveData([]byte(spec), dir, nil)
			if err != nil || data.Files != nil {
				t.Fatal(err, len(data.Files))
			}
			if !slices.ContainsFunc(problems, func(p plan.Problem) bool { return p.Code == c.want }) {
				t.Errorf("problems %v, want %s", problems, c.want)
			}
		})
	}
	two := strings.NewReplacer("why: it shows", "why: it shows 5", "caveat: little", `caveat: "{a.b}"`).Replace(smallSpec)
	if _, problems, _ := DeriveData([]byte(two), dir, nil); len(problems) != 2 {
		t.Errorf("problems %v, want both", problems)
	}
}

func TestSimulatedBundleIsNoSource(t *testing.T) {
	dir := smallSources(t)
	if err := os.RemoveAll(filepath.Join(dir, "findings")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "findings"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := bundle.Seal(filepath.Join(dir, "findings"), finding(t, "passing", passing).Draft); err != nil {
		t.Fatal(err)
	}
	if _, _, err := DeriveData([]byte(smallSpec), dir, nil); err == nil || !strings.Contains(err.Error(), "simulated") {
		t.Errorf("error %v, want a refusal", err)
	}
}
