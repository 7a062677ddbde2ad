package report

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"assay/collect/plan"
	"assay/collect/private"
	"assay/report/bundle"
)

// The tests of this file play the field cases about reports, plots and bundles.
// The numbering has gaps; bundle/case_g_test.go plays G08.

// TestCaseG02HostileNamesStayLiteral has script links, markup, pictures and fences
// in every name and text that a finding prints.
func TestCaseG02HostileNamesStayLiteral(t *testing.T) {
	texts := []string{
		`<img src=x onerror=alert(1)>`, `[x](javascript:alert(1))`, `[x](java&#115;cript:alert(1))`, "```\n# out\n````\n~~~", `![x](http://tracker.example/p.png)`,
	}
	c := failing
	c.exported = true
	c.detail = strings.Join(texts, " ")
	c.mutate = func(p map[string]any) {
		models, _ := p["models"].(map[string]any)
		for i, arm := range testArms {
			model, _ := models[arm].(map[string]any)
			model["engine"], model["repository"] = texts[i], texts[i+1]
		}
		p["owner"], p["telemetry"] = texts[3], texts[4]
	}
	c.change = func(table string, row map[string]any) {
		if table == "identities" && row["fact"] == "served_id" {
			row["value"] = texts[0] + texts[1]
		}
		if table == "gpu_samples" {
			row["gpu_name"] = texts[4] + texts[3]
		}
	}
	data, err := Export(context.Background(), c.store(t), testName)
	if err != nil {
		t.Fatal(err)
	}
	out := render(t, data, 0)
	checkMarkdown(t, "narrative", out.Draft.Narrative, out)
	for _, file := range []string{"friction.md", "publication-summary.md"} {
		checkMarkdown(t, file, out.Draft.Files[file], out)
	}
	active := regexp.MustCompile(`(?i)href="[^"#]*(javascript|tracker)|src="[^"]*tracker|<img src="?x`)
	var html strings.Builder
	if err := markdown().Convert(out.Draft.Narrative, &html); err != nil {
		t.Fatal(err)
	}
	if found := active.FindString(html.String()); found != "" {
		t.Errorf("the finding has %s", found)
	}
	plain := plainText(out.Draft.Narrative)
	for _, text := range []string{texts[0], texts[1], texts[2]} {
		if !strings.Contains(plain, text) {
			t.Errorf("%q is not printed as it was written", text)
		}
	}
	for name, data := range out.Draft.Files {
		if strings.HasSuffix(name, ".svg") && strings.Contains(string(data), "<img") {
			t.Errorf("%s holds markup of the data", name)
		}
	}
}

// answerTimes are the times of an answer, from its first output on.
var answerTimes = strings.Fields("ttfo_ns ttft_ns ttft_nonblank_ns last_output_ns finish_ns usage_ns done_ns close_ns end_ns")

// TestCaseG03OddDataIsDrawnOrSaid gives the plots one value, equal values, a
// missing one, none at all, a zero on a log axis, and values far apart.
func TestCaseG03OddDataIsDrawnOrSaid(t *testing.T) {
	value := func(row map[string]any, ns any) {
		row["ttfo_ns"] = ns
		if ns == nil {
			row["last_output_ns"] = nil
		}
	}
	for _, odd := range []struct {
		name, legend string
		change       func(index int64, row map[string]any)
	}{
		{"one value", "n = 1; 7 without a value", func(i int64, row map[string]any) {
			if i > 0 {
				value(row, nil)
			}
		}},
		{"equal values", "n = 8<", func(_ int64, row map[string]any) { value(row, testSecond) }},
		{"one missing", "n = 7; 1 without a value", func(i int64, row map[string]any) {
			if i == 3 {
				value(row, nil)
			}
		}},
		{"all missing", "n = 0; 8 without a value", func(_ int64, row map[string]any) { value(row, nil) }},
		{"a zero", "n = 7; 1 not drawable on a log axis", func(i int64, row map[string]any) {
			if i == 0 {
				value(row, int64(0))
			}
		}},
		{"far apart", "n = 8<", func(i int64, row map[string]any) { // 1 ns and 500 s
			if i == 0 {
				row["ttfo_ns"] = int64(1)
			}
			for name, v := range row {
				if ns, ok := v.(int64); ok && i == 7 && slices.Contains(answerTimes, name) {
					row[name] = ns + 500*testSecond
				}
			}
		}},
	} {
		t.Run(odd.name, func(t *testing.T) {
			c := campaign{kind: "measured", exported: true, mutate: func(p map[string]any) {
				matrix, _ := p["matrix"].([]any)
				var kept []any
				for _, m := range matrix {
					cell, _ := m.(map[string]any)
					if cell["workload"] == "natural" && cell["planned_context_tokens"] == int64(4096) && cell["concurrency"] == int64(1) {
						kept = append(kept, m)
					}
				}
				p["matrix"] = kept
			}, change: func(table string, row map[string]any) {
				if index, ok := row["request_index"].(int64); ok && table == "request_facts" {
					odd.change(index, row)
				}
			}}
			data, err := Export(context.Background(), c.store(t), testName)
			if err != nil {
				t.Fatal(err)
			}
			out := render(t, data, 0)
			svg := string(out.Draft.Files["plots/ttfo-by-context.svg"])
			for _, arm := range testArms {
				if !strings.Contains(svg, arm+", n") || strings.Count(svg, odd.legend) == 0 {
					t.Errorf("the legend does not say %q of %s: %q", odd.legend, arm, regexp.MustCompile(`[^>]*, n = [^<]*<`).FindAllString(svg, -1))
				}
			}
			if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
				t.Error("a coordinate is no number")
			}
			if said := strings.Contains(svg, "cannot be drawn") || strings.Contains(svg, "can be drawn"); said != (odd.legend != "n = 8<") {
				t.Errorf("the picture says that something is not drawn: %v", said)
			}
		})
	}
}

// TestCaseG05PrivatePathsDoNotLeave puts paths, an address and a traceback where
// they have been found: an error text refuses the publication, the plan's are
// replaced with their tails kept.
func TestCaseG05PrivatePathsDoNotLeave(t *testing.T) {
	for _, text := range []string{
		"open /home/op/x: no such file", "in /opt/serve/x", `C:\Users\op\x`, "file:///srv/op/x", "at /workspace/bench.py, line 3",
		"dial 192.168.7.9:31841", "/unheard/of/place",
	} {
		if classes := (private.Known{}).Scan(text); len(classes) == 0 {
			t.Errorf("%q may be published", text)
		}
	}
	c := campaign{kind: "measured", exported: true, mutate: func(p map[string]any) {
		fewCells(p)
		controls, _ := p["controls"].(map[string]any)
		for i, path := range []string{"/home/op/weights/x", "/opt/serve/x", `C:\Users\op\x`, "/srv/op/tail.toml"} {
			controls[fmt.Sprintf("place_%d", i)] = path
		}
	}}
	data, err := Export(context.Background(), c.store(t), testName)
	if err != nil {
		t.Fatal(err)
	}
	published := string(data.Files[planFile])
	for _, private := range []string{"/home", "/opt", "Users", "/srv"} {
		if strings.Contains(published, private) {
			t.Errorf("the published plan holds %s", private)
		}
	}
	if !strings.Contains(published, "[PRIVATE_OPERATOR_ROOT]") || !strings.Contains(published, "tail.toml") {
		t.Error("the published plan has lost the tails of its paths")
	}
}

// TestCaseG06WhatIsHashedIsWhatIsPublished holds that redaction comes before the
// digests: the manifest's are of the published bytes, the private plan's stands
// only as such, and a second redaction changes nothing.
func TestCaseG06WhatIsHashedIsWhatIsPublished(t *testing.T) {
	c := campaign{kind: "measured", exported: true, mutate: func(p map[string]any) {
		fewCells(p)
		p["owner"] = "operator of /home/op/x"
	}}
	private := c.plan(t)
	data, err := Export(context.Background(), c.store(t), testName)
	if err != nil {
		t.Fatal(err)
	}
	published, problems := plan.Decode(data.Files[planFile])
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if published.Digest() == private.Digest() {
		t.Fatal("nothing was redacted")
	}
	again, _, err := plan.Redact(published)
	if err != nil || string(again.Bytes) != string(data.Files[planFile]) {
		t.Errorf("a second redaction changes the plan: %v", err)
	}
	dir := t.TempDir()
	sealed, err := bundle.Seal(dir, render(t, data, 0).Draft)
	if err != nil {
		t.Fatal(err)
	}
	l, err := bundle.Load(dir + "/" + sealed.Folder)
	if err != nil {
		t.Fatal(err)
	}
	if r := bundle.Verify(l, bundle.Options{}); !r.OK() {
		t.Errorf("problems: %v", r.Problems)
	}
	lock := l.Manifest.Predicate.PlanLock
	if lock.CanonicalSHA256 != private.Digest() || lock.RedactedSHA256 != published.Digest() {
		t.Error("the manifest does not tell the private plan from the published one")
	}
	for _, s := range l.Manifest.Subject {
		if s.Digest.SHA256 == private.Digest() || s.Digest.SHA256 == private.BytesSHA256() {
			t.Errorf("%s is listed with the digest of a private text", s.Name)
		}
	}
}

// TestCaseG10MissingIsNoNumber has an arm that does not expose a histogram the
// other has, and gives not a single visible text.
func TestCaseG10MissingIsNoNumber(t *testing.T) {
	c := campaign{kind: "measured", exported: true, mutate: fewCells, change: func(table string, row map[string]any) {
		if table == "request_facts" && row["arm"] == "candidate" {
			row["ttft_ns"], row["ttft_nonblank_ns"] = nil, nil
		}
		if series, _ := row["series"].(string); row["arm"] == "candidate" && strings.HasPrefix(series, "vllm:time_to_first_token") {
			row["series"] = "other" + series
		}
	}}
	data, err := Export(context.Background(), c.store(t), testName)
	if err != nil {
		t.Fatal(err)
	}
	out := render(t, data, 0)
	narrative := string(out.Draft.Narrative)
	engine := strings.ReplaceAll(section(t, out, "Engine metrics"), "\\", "")
	row := regexp.MustCompile(`(?m)^\| .candidate-natural-ctx4096-c1. \| — \(\w\) \| — `)
	if !strings.Contains(engine, "not_exposed: no series of this meaning is on the pages") || !row.MatchString(engine) {
		t.Error("the histogram is not said to be not exposed")
	}
	for _, zero := range []string{"| 0\u00a0s |", "| 0\u00a0ms |", "| 0\u00a0ns |", "| 0.00 |", "| 0 / 0 / 0 |", "NaN", "<nil>"} {
		if strings.Contains(narrative, zero) {
			t.Errorf("the narrative holds %q", zero)
		}
	}
	for _, claim := range out.Claims {
		ttft := strings.Contains(claim.ID, "/ttft_ns:")
		if ttft && strings.Contains(claim.ID, "candidate") && strings.HasPrefix(claim.ID, "distributions:") && claim.Value != "0" && !strings.HasSuffix(claim.ID, ":note") {
			t.Errorf("a claim of a missing value: %s = %s", claim.ID, claim.Value)
		}
		if ttft && strings.Contains(claim.ID, ":ratio_") {
			t.Errorf("a ratio with one side: %s = %s", claim.ID, claim.Value)
		}
	}
	if results := section(t, out, "Results"); !strings.Contains(results, "8 of 8 without a value") {
		t.Error("the results do not say how many have no value")
	}
}
