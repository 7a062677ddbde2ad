package main

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/ingest/ingesttest"
)

// exampleDatabase has a campaign of two arms with a repeat, in which one cell is
// not eligible.
func exampleDatabase(t *testing.T) string {
	t.Helper()
	var runs []*ingesttest.Run
	for i, campaign := range []string{"first", "second"} {
		same := func(p map[string]any) {
			for _, model := range p["models"].(map[string]any) {
				model.(map[string]any)["revision"] = "same"
			}
		}
		run := ingesttest.NewRun(t, planWith(t, campaign, same, pairOf(ingesttest.CellSpec{ID: "a", Requests: 8}, ingesttest.CellSpec{ID: "b", Requests: 4})...))
		for _, cell := range []string{"baseline-a", "candidate-a", "baseline-b", "candidate-b"} {
			a := run.Cell(cell)
			for k := range a.Plan.Requests {
				first := time.Duration(1+(k*5)%8)*100*ms + time.Duration(i)*ms
				a.Stream(k, timed(a.Plan, k, first, 2*time.Second, plainUsage)...)
			}
			if cell == "candidate-b" {
				a.Row(3).End, a.State = "idle_timeout", "partial"
				a.Events = a.Events[:len(a.Events)-3] // finish, usage and [DONE] of the last one
				a.Row(3).EventsSeen -= 3
			}
			identified(a)
		}
		runs = append(runs, run)
	}
	return methodDatabase(t, runs...)
}

// TestExampleQueriesAnswer runs every example query as an analyst does, and holds
// those that trace a number to that number.
func TestExampleQueriesAnswer(t *testing.T) {
	db := exampleDatabase(t)
	paths, err := filepath.Glob("examples/queries/[a-z]*.sql") // the numbered ones are about retained artifacts
	if err != nil || len(paths) < 7 {
		t.Fatalf("%d example queries, %v", len(paths), err)
	}
	checks := map[string]func(*testing.T, [][]string){
		"trace-a-claim": func(t *testing.T, lines [][]string) {
			medians := 0
			for i, line := range lines {
				if line[8] == "true" {
					medians++
					if value, _ := strconv.ParseFloat(line[7], 64); strconv.FormatFloat(value, 'f', -1, 64) != line[4] {
						t.Errorf("the median's row has %s, published is %s", line[4], line[7])
					}
				}
				if line[5] != strconv.Itoa(i+1) || line[6] != strconv.Itoa(len(lines)) {
					t.Errorf("row %d has rank %s of %s", i, line[5], line[6])
				}
			}
			if medians != 1 || len(lines) != 8 {
				t.Errorf("%d medians in %d rows", medians, len(lines))
			}
		},
		"requests-of-a-count": func(t *testing.T, lines [][]string) {
			passing, stated := map[string]int{}, map[string]string{}
			for _, line := range lines {
				stated[line[1]] = line[10]
				if line[6] == "true" {
					passing[line[1]]++
				}
			}
			for cell, n := range stated { // two campaigns have each cell
				if strconv.Itoa(passing[cell]/2) != n {
					t.Errorf("%s: %d passing rows in two campaigns, each states %s", cell, passing[cell], n)
				}
			}
		},
		"ratios-of-a-pair": func(t *testing.T, lines [][]string) {
			if len(lines) != 16 {
				t.Errorf("%d rows, want 8 requests of one comparable pair in two campaigns", len(lines))
			}
		},
		"spread-between-repeats": func(t *testing.T, lines [][]string) {
			for _, line := range lines {
				if line[6] != "1e+06" || line[8] != "" {
					t.Errorf("spread %s and note %q; the repeat is 1 ms later", line[6], line[8])
				}
			}
		},
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".sql")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(text), "-- ") {
				t.Error("the file does not say what it answers")
			}
			// The two dashes keep a leading comment from being read as a flag.
			code, stdout, stderr := command(t, "query", "--db", db, "--format", "csv", "--", string(text))
			if code != 0 {
				t.Fatalf("query exits %d: %s", code, stderr)
			}
			lines, err := csv.NewReader(strings.NewReader(stdout)).ReadAll()
			if err != nil || len(lines) == 0 {
				t.Fatalf("%d lines, %v", len(lines), err)
			}
			lines = lines[1:] // the header
			if len(lines) == 0 {
				t.Fatal("no rows")
			}
			if check := checks[name]; check != nil {
				check(t, lines)
			}
		})
	}
}
