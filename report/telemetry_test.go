package report

import (
	"regexp"
	"strings"
	"testing"
)

// A finding says how far its telemetry can be trusted: whether the engine's
// numbers fit together and with the client's, who answered, how its pages were
// really read, and what the client itself took. A row each for both arms.
func TestFindingSaysHowFarItsTelemetryCanBeTrusted(t *testing.T) {
	out := finding(t, "passing", passing)
	for heading, patterns := range map[string][]string{
		"Exact configuration": {`\| (baseline|candidate) \| engine \| vllm \| \d+ \| .*owned_by`, `\| (baseline|candidate) \| answer \| 404 \| \d+ \| .*/props`},
		"Engine metrics": {
			`\| (baseline|candidate) \| requests are ours \| (holds|explained) \| \d+ \|`,
			`\| (baseline|candidate) \| inference is prefill and decode \| not evaluable \| \d+ \| a side of it is not exposed`,
			`Client's mean (TTFO|E2E) \|`,
		},
		"Sampling": {
			`\| (baseline|candidate) \| \d+ \| 0 \| 0 \| [\d.]+.s \| [\d.]+.s \| 1.000.ms \| 1.000.ms \| 8.789.KiB \|`,   // scrapes
			`\| (baseline|candidate) \| \d+ \| \d+ \| 25.00.% \| [\d.]+.µs \| 80.00.MiB \| 22 \| [\d.]+.µs \| 0 \| 0 \|`, // the client
		},
	} {
		text := section(t, out, heading)
		for _, p := range patterns {
			if n := len(regexp.MustCompile(`(?m)^.*`+p).FindAllString(text, -1)); n < 2 {
				t.Errorf("%s: %d rows like %s", heading, n, p)
			}
		}
	}
	// The client's mean is a claim of its own, over the client's own n.
	found := 0
	for _, c := range out.Claims {
		if strings.HasPrefix(c.ID, "beside_client:") && strings.HasSuffix(c.ID, ":client_mean") && c.N != "" && c.Unit == "s" {
			found++
		}
	}
	if found == 0 {
		t.Error("no claim is the client's mean beside an engine's")
	}
}
