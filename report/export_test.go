package report

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/ingest/store"
)

// Small made-up campaigns for the tests of the published result, which stand
// outside this package because they use package recompute.

// SmallCampaigns lists the campaigns SmallEvidence can make.
var SmallCampaigns = map[string]campaign{
	// failed has an ineligible cell, one that never ran, and a counter reset.
	"failed": {
		kind: "measured", mutate: fewCells, change: resetEngine,
		failing: []string{"candidate-natural-ctx4096-c2"}, notRun: []string{"candidate-controlled-ctx4096-c2"},
	},
	"simulated": {kind: "simulated", mutate: fewCells},
	"repeated":  {kind: "measured", repeat: 7_000_000, mutate: fewCells},
	"no pages":  {kind: "measured", noPages: true, mutate: fewCells},
	"no gpu":    {kind: "measured", mutate: fewCells, change: withoutGPU},
	"one arm":   {kind: "measured", mutate: fewCells, notRun: armCells("candidate")},
	"nothing ran": {
		kind: "measured", mutate: fewCells, notRun: append(armCells("baseline"), armCells("candidate")...),
	},
}

// SmallID is the finding of every small campaign.
const SmallID = testID

// fewCells keeps the cells of the first context.
func fewCells(p map[string]any) {
	matrix, _ := p["matrix"].([]any)
	p["matrix"] = slices.DeleteFunc(matrix, func(cell any) bool {
		c, _ := cell.(map[string]any)
		return c["planned_context_tokens"] != int64(4096)
	})
}

func armCells(arm string) []string {
	var out []string
	for _, c := range testCells() {
		if c.arm == arm && c.context == 4096 {
			out = append(out, c.id)
		}
	}
	return out
}

// ResetCell is the cell of "failed" over which the engine's counters fall.
const ResetCell = "baseline-natural-ctx4096-c1"

func resetEngine(table string, row map[string]any) {
	series, _ := row["series"].(string)
	if table == "engine_samples" && row["cell"] == ResetCell && row["phase"] == "after" && strings.HasPrefix(series, "vllm:e2e") {
		row["value"] = 0.0
	}
}

func withoutGPU(table string, row map[string]any) {
	if table != "gpu_samples" {
		return
	}
	for name := range row {
		if strings.Contains(name, "_") && name != "sample_seq" && name != "at_ns" || name == "gpu" {
			row[name] = nil
		}
	}
	row["status"] = "unavailable"
}

// SmallEvidence exports one of SmallCampaigns.
func SmallEvidence(t testing.TB, name string) Data {
	t.Helper()
	c, ok := SmallCampaigns[name]
	if !ok {
		t.Fatalf("no small campaign %q", name)
	}
	c.exported = c.repeat == 0 // the medians of a repeat come from the views
	data, err := Export(context.Background(), c.store(t), testName)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// ShuffledEvidence is SmallEvidence of a database whose rows were stored in an
// order of their own.
func ShuffledEvidence(t testing.TB, name string, seed uint64) Data {
	t.Helper()
	c := SmallCampaigns[name]
	c.shuffle = seed
	c.exported = c.repeat == 0 // the medians of a repeat come from the views
	data, err := Export(context.Background(), c.store(t), testName)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// EditTable decodes a data file, lets edit change its rows, and puts it back with
// its description: as somebody would who can write Parquet.
func EditTable(t testing.TB, data Data, file string, edit func(column func(string) int, rows [][]any) [][]any) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "table.parquet")
	if err := os.WriteFile(path, data.Files[file], 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := store.Open("", store.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(context.Background(), "read", "FROM read_parquet(?)", path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := collect(rows)
	if err != nil {
		t.Fatal(err)
	}
	r.rows = edit(r.column, r.rows)
	var described struct {
		Schema string         `json:"schema"`
		Tables []tableColumns `json:"tables"`
	}
	if err := json.Unmarshal(data.Files[columnsFile], &described); err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(described.Tables, func(d tableColumns) bool { return d.File == file })
	described.Tables[at].Rows = int64(len(r.rows))
	var lock struct {
		SHA256 string `json:"canonical_sha256"`
	}
	if err := json.Unmarshal(data.Files[lockFile], &lock); err != nil {
		t.Fatal(err)
	}
	data.Files[file], err = writeParquet(r, map[string]string{
		"assay.schema": dataSchema, "assay.table": described.Tables[at].Table, "assay.plan_sha256": lock.SHA256,
		"assay.rows": fmt.Sprint(len(r.rows)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if data.Files[columnsFile], err = encodeJSON(described); err != nil {
		t.Fatal(err)
	}
}
