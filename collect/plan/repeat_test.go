package plan

import "testing"

func TestMeasuredDigestToldApartOnlyByWhatIsMeasured(t *testing.T) {
	digest := func(change func(anyMap)) string { return mustDecode(t, mutate(t, change)).MeasuredDigest() }
	same := digest(func(anyMap) {})
	if len(same) != 64 {
		t.Fatalf("digest %q", same)
	}
	for name, change := range map[string]func(anyMap){
		"campaign id":   func(m anyMap) { m["campaign_id"] = "again" },
		"clock":         func(m anyMap) { m["frozen_at"] = "2026-10-17T10:31:00Z" },
		"bounds":        func(m anyMap) { m["load_bound_seconds"] = 1 },
		"finding":       func(m anyMap) { m["publication"] = anyMap{"finding": "findings/2026-10-18-again.md"} },
		"endpoint":      func(m anyMap) { setFlag(m, 2, "--base-url", "http://127.0.0.1:9/v1") },
		"port":          func(m anyMap) { m["models"].(anyMap)["baseline"].(anyMap)["port"] = 9 },
		"unknown prose": func(m anyMap) { m["note"] = "x" },
	} {
		if digest(change) != same {
			t.Errorf("%s changes the digest, although the same is measured", name)
		}
	}
	for name, change := range map[string]func(anyMap){
		"a seed":      func(m anyMap) { cellAt(m, 2)["seed"] = 7 },
		"an argument": func(m anyMap) { setFlag(m, 2, "--max-tokens", "8192") },
		"a control":   func(m anyMap) { m["controls"].(anyMap)["prompt_token_tolerance"] = 1 },
		"a model":     func(m anyMap) { m["models"].(anyMap)["baseline"].(anyMap)["revision"] = "other" },
		"a rule":      func(m anyMap) { m["eligibility"] = m["eligibility"].([]any)[1:] },
		"an order": func(m anyMap) {
			list := m["matrix"].([]any)
			list[2], list[3] = list[3], list[2]
		},
		"a cell less": func(m anyMap) { m["matrix"] = m["matrix"].([]any)[:47] },
	} {
		if digest(change) == same {
			t.Errorf("%s does not change the digest", name)
		}
	}
}
