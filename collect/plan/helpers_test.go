package plan

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// exampleNow lies before the example's cutoff.
var exampleNow = time.Date(2026, 10, 17, 11, 0, 0, 0, time.UTC)

func exampleSpec(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile("../../examples/glm53-serving.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// expandExample runs once; most tests start from its result.
var expandExample = sync.OnceValues(func() ([]byte, error) {
	spec, err := os.ReadFile("../../examples/glm53-serving.yaml")
	if err != nil {
		return nil, err
	}
	data, problems := Expand(spec, exampleNow)
	if len(problems) > 0 {
		return nil, problemsError("example", problems)
	}
	return data, nil
})

// exampleJSON is a copy of the expanded example.
func exampleJSON(t testing.TB) []byte {
	t.Helper()
	data, err := expandExample()
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(data)
}

// seedPlan is the real plan, kept beside the repository and not inside it.
func seedPlan(t testing.TB) *Plan {
	t.Helper()
	const path = "../../../shared/seeds/000_444b2f82a3a4a8f3.json"
	if _, err := os.Stat(path); err != nil {
		t.Skip("the real plan is not on this machine")
	}
	p, problems, err := Load(path)
	if err != nil || len(problems) > 0 {
		t.Fatalf("load the real plan: %v %v", err, problems)
	}
	return p
}

func mustDecode(t testing.TB, data []byte) *Plan {
	t.Helper()
	p, problems := Decode(data)
	if len(problems) > 0 {
		t.Fatalf("decode: %v", problems)
	}
	return p
}

type anyMap = map[string]any

// mutate decodes the example into maps, changes it, and encodes it again.
// Numbers keep their text.
func mutate(t testing.TB, change func(plan anyMap)) []byte {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(string(exampleJSON(t))))
	decoder.UseNumber()
	var m anyMap
	if err := decoder.Decode(&m); err != nil {
		t.Fatal(err)
	}
	change(m)
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// examine decodes and checks, as a command does.
func examine(data []byte, now time.Time) ([]Problem, []Warning) {
	p, problems := Decode(data)
	if p == nil {
		return problems, nil
	}
	more, warnings := Check(p, now)
	return append(problems, more...), warnings
}

func cellAt(m anyMap, i int) anyMap { return m["matrix"].([]any)[i].(anyMap) }

// setFlag replaces the value of a flag in the argv of cell i.
func setFlag(m anyMap, i int, name, value string) {
	argv := cellAt(m, i)["argv"].([]any)
	for k, word := range argv {
		if word == name {
			argv[k+1] = value
			return
		}
	}
	cellAt(m, i)["argv"] = append(argv, name, value)
}

// dropFlag removes a flag and, when it has one, its value.
func dropFlag(m anyMap, i int, name string) {
	var kept []any
	argv := cellAt(m, i)["argv"].([]any)
	for k := 0; k < len(argv); k++ {
		if argv[k] != name {
			kept = append(kept, argv[k])
			continue
		}
		if k+1 < len(argv) && !strings.HasPrefix(argv[k+1].(string), "--") {
			k++
		}
	}
	cellAt(m, i)["argv"] = kept
}

func hasProblem(list []Problem, code, pointer string) bool {
	for _, p := range list {
		if p.Code == code && p.Pointer == pointer {
			return true
		}
	}
	return false
}
