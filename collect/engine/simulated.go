package engine

import (
	"encoding/json"
	"strings"
)

// simulatedMark is the local part of the version that a simulated engine of
// this project states (simengine profiles). A campaign on one is published as
// simulated, whatever its run.json says.
const simulatedMark = "+sim."

// Simulated reports whether an engine version is that of a simulated engine.
func Simulated(version string) bool { return strings.Contains(version, simulatedMark) }

// SimulatedAnswer reports the same of the body of /version. A body that states
// no version is not known to be simulated.
func SimulatedAnswer(body []byte) bool {
	var answer struct {
		Version string `json:"version"`
	}
	return json.Unmarshal(body, &answer) == nil && Simulated(answer.Version)
}
