package main

import (
	"regexp"
	"testing"
	"time"

	"assay/ingest/ingesttest"
)

// argvOf sets a flag in the argv of the cells of an arm whose id ends so, and drops
// the control of the same meaning, which would contradict it.
func argvOf(p map[string]any, arm, ending, flag, value string) {
	delete(p["controls"].(map[string]any), "max_tokens")
	for _, c := range p["matrix"].([]any) {
		cell := c.(map[string]any)
		if cell["id"] != arm+"-"+ending {
			continue
		}
		argv := cell["argv"].([]any)
		for i := range argv {
			if argv[i] == flag {
				argv[i+1] = value
			}
		}
	}
}

// comparisonCases are C22 and C23: what may be set side by side, and in which words.
func comparisonCases() []methodCase {
	const second = time.Second
	return []methodCase{
		{ // two caps read as one protocol
			id: "C22", cells: pairOf(ingesttest.CellSpec{ID: "a", Seed: 11}, ingesttest.CellSpec{ID: "b", Seed: 12}, ingesttest.CellSpec{ID: "c", Seed: 13}),
			change: func(p map[string]any) {
				argvOf(p, "candidate", "a", "--max-tokens", "8192")
				argvOf(p, "candidate", "b", "--temperature", "0.7")
			},
			build: func(run *ingesttest.Run) {
				for _, cell := range []string{"baseline-a", "baseline-b", "baseline-c", "candidate-a", "candidate-b"} {
					fillTimed(run.Cell(cell), second, 2*second, plainUsage)
				}
				fillTimed(run.Cell("candidate-c"), second, 2*second, plainUsage).Row(0).TemplateVersion = "test/v2"
			},
			want: map[string]string{
				comparable: `false|["control differs: max_tokens"]` + "\n" + `false|["control differs: temperature"]` + "\n" + `false|["template_version differs at index 0: test/v1 and test/v2"]`,
				"SELECT count(*) FROM comparisons WHERE campaign = $c":                                   "0",
				"SELECT count(*) FROM cell_eligibility WHERE campaign = $c AND eligibility = 'eligible'": "6",
			},
			look: says("control differs: max_tokens", "control differs: temperature", "0 of 3 pairs can be compared", "-Ratio min / p50 / max"),
		},
		{ // a difference of whole recipes told as a cause
			id: "C23", cells: pairOf(ingesttest.CellSpec{ID: "a", Requests: 8}),
			change: func(p map[string]any) {
				candidate := p["models"].(map[string]any)["candidate"].(map[string]any)
				candidate["engine"], candidate["quantization"], candidate["speculative"] = "vllm-candidate", "NVFP4", "MTP"
			},
			build: func(run *ingesttest.Run) {
				fillTimed(run.Cell("baseline-a"), second, 2400*ms, `{"prompt_tokens":100,"completion_tokens":141}`)
				fillTimed(run.Cell("candidate-a"), second, 2*second, `{"prompt_tokens":100,"completion_tokens":141}`)
			},
			want: map[string]string{
				"SELECT round(ratio_p50, 6), pairs FROM comparisons WHERE campaign = $c AND metric = 'decode_tok_s'": "1.4|8",
			},
			look: func(t *testing.T, narrative string) {
				says("Whole recipes are compared", "no difference is put down to any one of them", "No difference is put down to a cause")(t, narrative)
				cause := regexp.MustCompile(`(?i)\b(because of|due to|thanks to|caused by|speeds? up|makes? it faster|winner|faster|slower)\b`)
				if found := cause.FindString(narrative); found != "" {
					t.Errorf("the finding says %q", found)
				}
			},
		},
	}
}
