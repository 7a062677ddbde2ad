package plan

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestExampleExpandsToFortyEightCells(t *testing.T) {
	p := mustDecode(t, exampleJSON(t))
	s := Summarise(p)
	got := []int64{s.Cells, s.WarmupCells, s.Requests, s.WarmupRequests, s.OuterTimeoutSeconds, s.LongestOuterTimeoutSeconds, s.RequestCutoffSeconds}
	if want := []int64{48, 6, 534, 6, 66000, 1800, 16200}; !slices.Equal(got, want) {
		t.Errorf("cells, warm-ups, requests, warm-up requests, outer sum, longest, cutoff = %v, want %v", got, want)
	}
	if diff := cmp.Diff([]string{"baseline", "candidate"}, p.Arms()); diff != "" {
		t.Error(diff)
	}
	problems, _ := Check(p, exampleNow)
	if len(problems) > 0 {
		t.Errorf("the example has problems: %v", problems)
	}
	if got := len(p.Rules()); got != len(Rules) {
		t.Errorf("the example demands %d rules, want all %d", got, len(Rules))
	}
}

func TestExampleExpandsToTheRealMatrix(t *testing.T) {
	want := seedPlan(t)
	got := mustDecode(t, exampleJSON(t))
	if len(got.Cells) != len(want.Cells) {
		t.Fatalf("%d cells, want %d", len(got.Cells), len(want.Cells))
	}
	for i := range want.Cells {
		a, b := want.Cells[i], got.Cells[i]
		for _, c := range []*Cell{&a, &b} { // host paths aside
			c.Argv = slices.Clone(c.Argv)
			c.Argv[0] = "python"
			c.Argv[slices.Index(c.Argv, "--output")+1] = "out"
			c.Request.Output = "out"
		}
		if diff := cmp.Diff(a, b); diff != "" {
			t.Errorf("cell %d: -real +expanded\n%s", i, diff)
		}
	}
	if diff := cmp.Diff(want.Eligibility, got.Eligibility); diff != "" {
		t.Error(diff)
	}
}

func TestExpandIgnoresNowWhenTimesAreGiven(t *testing.T) {
	later, problems := Expand([]byte(exampleSpec(t)), exampleNow.Add(1000*time.Hour))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if !bytes.Equal(exampleJSON(t), later) {
		t.Error("two expansions of the example differ")
	}
}

func TestExpandDatesThePlanNowWhenTheSpecHasNoTimes(t *testing.T) {
	var kept []string
	for _, l := range strings.Split(exampleSpec(t), "\n") {
		if !strings.HasPrefix(l, "created_at") && !strings.HasPrefix(l, "frozen_at") && !strings.HasPrefix(l, "dispatch_clock") {
			kept = append(kept, l)
		}
	}
	now := time.Date(2027, 1, 2, 3, 4, 5, 678, time.FixedZone("", 3600))
	data, problems := Expand([]byte(strings.Join(kept, "\n")), now)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	p := mustDecode(t, data)
	if !p.DispatchClockStartedAt.Equal(now) || !p.AbsoluteRequestCutoff.Equal(now.Add(16200*time.Second)) {
		t.Errorf("dispatch %v, cutoff %v, want %v and 16,200 s later", p.DispatchClockStartedAt, p.AbsoluteRequestCutoff, now)
	}
}

func TestExpandKeepsTheTextOfNumbers(t *testing.T) {
	text := strings.Replace(exampleSpec(t), "temperature: 0.6", "temperature: 0.60  # as the card says", 1)
	data, problems := Expand([]byte(text), exampleNow)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if got := mustDecode(t, data).Cells[0].Request.Temperature.String(); got != "0.60" {
		t.Errorf("argv has temperature %s, want 0.60", got)
	}
}

func TestExpandNamesWhatIsWrongWithASpec(t *testing.T) {
	for _, x := range []struct{ name, old, new, code, in string }{
		{"unknown key", "gpu:", "gpus:", "bad_spec", "line"},
		{"unknown nested key", "seed_base: 482000", "seed_bass: 482000", "bad_spec", "line"},
		{"repeated key", "load_bound_seconds: 3600", "load_bound_seconds: 3600\nload_bound_seconds: 3600", "bad_spec", "line"},
		{"wrong type", "requests: 20", "requests: many", "bad_spec", "line"},
		{"not a number", "temperature: 0.6", "temperature: warm", "bad_spec", "number"},
		{"not YAML", "cells:", "cells: [", "bad_spec", "line"},
		{"other schema", "assay/plan-spec/v1", "assay/plan-spec/v9", "unknown_schema", ""},
		{"bad time", "2026-10-17T10:30:00Z", "yesterday", "bad_time", ""},
		{"anchor", "hardware: two", "hardware: &x two", "bad_spec", "anchors"},
		{"exception without a cell", "{context: 163840, seconds: 1800}", "{context: 40960, seconds: 1800}", "bad_spec", "matches no cell"},
		{"two arms of one name", "name: candidate", "name: baseline", "bad_spec", "two arms"},
		{"group without contexts", "contexts: [310272]", "contexts: []", "bad_spec", "needs contexts"},
		{"seed out of range", "seed_base: 484030", "seed_base: -1", "bad_spec", "seed_base"},
		{"found in the plan", "seed_base: 484030", "seed_base: 481030", "seed_repeated", "in the expanded plan"},
		{"plan rule", "- exact usage counts", "- rough usage counts", "eligibility_unknown", "in the expanded plan"},
	} {
		t.Run(x.name, func(t *testing.T) {
			text := strings.Replace(exampleSpec(t), x.old, x.new, 1)
			if text == exampleSpec(t) {
				t.Fatal("the example no longer has what this test replaces")
			}
			data, problems := Expand([]byte(text), exampleNow)
			if data != nil {
				t.Error("a spec with problems gave a plan")
			}
			if len(problems) == 0 || problems[0].Code != x.code || !strings.Contains(problems[0].Detail, x.in) {
				t.Errorf("problems = %v, want %s with %q", problems, x.code, x.in)
			}
		})
	}
}

func TestExpandRefusesEmptyAndHugeSpecs(t *testing.T) {
	for _, data := range [][]byte{nil, []byte("\n"), []byte("---\n---\n"), []byte("[]"), []byte("text"), bytes.Repeat([]byte("# \n"), maxSpecBytes)} {
		if out, problems := Expand(data, exampleNow); out != nil || len(problems) == 0 {
			t.Errorf("a spec of %d bytes: plan %d bytes, problems %v", len(data), len(out), problems)
		}
	}
}

func FuzzExpand(f *testing.F) {
	f.Add([]byte(exampleSpec(f)))
	f.Add([]byte("schema: assay/plan-spec/v1\narms: [{name: a}]\ncells: [{contexts: [1], concurrency: [1]}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if out, problems := Expand(data, exampleNow); out != nil {
			if p, more := Decode(out); p == nil || len(more) > 0 || len(problems) > 0 {
				t.Fatalf("an expanded plan does not decode: %v %v", problems, more)
			}
		}
	})
}
