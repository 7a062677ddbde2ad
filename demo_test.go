package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestDemo runs the demo as a user does and then looks at all it made: the
// database, the finding and its bundle.
func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("the demo takes about a minute; run without -short")
	}
	dir := filepath.Join(t.TempDir(), "out")
	code, stdout, stderr := command(t, "demo", "-o", dir)
	if code != 0 {
		t.Fatalf("demo exits %d\n%s\n%s", code, stdout, stderr)
	}
	db := filepath.Join(dir, "assay.duckdb")
	t.Run("database", func(t *testing.T) { checkDemoDatabase(t, db) })
	t.Run("finding", func(t *testing.T) { checkDemoFinding(t, dir) })
	t.Run("one request", func(t *testing.T) { checkDemoRequest(t, filepath.Join(dir, "run")) })
	t.Run("same bytes again", func(t *testing.T) { checkSameFinding(t, dir, db) })
	t.Run("tampering is noticed", func(t *testing.T) { checkTampering(t, filepath.Join(dir, "findings")) })
	t.Run("ingest again changes nothing", func(t *testing.T) { checkIngestAgain(t, dir, db) })
}

func checkDemoDatabase(t *testing.T, db string) {
	for query, want := range map[string]string{
		"SELECT count(*) FROM cells":    "48",
		"SELECT count(*) FROM requests": "534",
		"SELECT count(*) FROM requests JOIN cells USING (campaign, cell) WHERE excluded_warmup":                "6",
		"SELECT count(*) FROM request_verdicts WHERE verdict NOT IN ('pass', 'not_applicable')":                "0",
		"SELECT count(*) FROM cell_verdicts WHERE verdict NOT IN ('pass', 'not_applicable')":                   "0",
		"SELECT count(*) FROM request_verdicts WHERE rule = 'controlled_exact' AND verdict = 'pass'":           "360",
		"SELECT count(*) FROM request_verdicts WHERE rule = 'controlled_exact' AND verdict = 'not_applicable'": "174",
		"SELECT count(*) FROM cell_eligibility WHERE eligibility = 'eligible'":                                 "42",
		"SELECT count(*) FROM cell_eligibility WHERE eligibility = 'excluded_warmup'":                          "6",
		"SELECT count(*) FROM cell_distributions WHERE n IS NULL OR n < 1":                                     "0",
		"SELECT count(*) FROM pair_comparability WHERE NOT comparable":                                         "0",
		"SELECT count(*) FROM pair_comparability":                                                              "21",
		"SELECT count(*) FROM problems WHERE code <> 'sample_skipped'":                                         "0",
		// Each measured cell has at least three whole pages inside it.
		`SELECT count(*) FROM cells c WHERE NOT excluded_warmup AND (SELECT count(*) FROM pages p
		 WHERE p.campaign = c.campaign AND p.cell = c.cell AND phase = 'during' AND error = '') < 3`: "0",
		// The engine's own count of finished requests is the client's.
		`SELECT count(*) FROM cells c WHERE requests <> coalesce((SELECT max(total) FROM histogram_deltas d
		 WHERE d.campaign = c.campaign AND d.cell = c.cell AND canonical = 'e2e_seconds' AND reason IS NULL), -1)`: "0",
	} {
		if got := value(t, db, query); got != want {
			t.Errorf("%s: got %s, want %s", query, got, want)
		}
	}
	if n, _ := strconv.Atoi(value(t, db, "SELECT count(*) FROM cell_distributions")); n == 0 {
		t.Error("no distributions")
	}
}

// findingOf returns the narrative and the bundle folder of the only finding.
func findingOf(t *testing.T, findings string) (narrative, bundle string) {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join(findings, "*-evidence"))
	if err != nil || len(folders) != 1 {
		t.Fatalf("bundles: %v %v", folders, err)
	}
	return strings.TrimSuffix(folders[0], "-evidence") + ".md", folders[0]
}

func checkDemoFinding(t *testing.T, dir string) {
	narrative, bundle := findingOf(t, filepath.Join(dir, "findings"))
	text, err := os.ReadFile(narrative)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range rows(t, filepath.Join(dir, "assay.duckdb"), "SELECT cell FROM cells") {
		if !bytes.Contains(text, []byte(c[0])) {
			t.Errorf("the finding does not list cell %s", c[0])
		}
	}
	for _, want := range []string{"534", "528", "imulated", "Evidence boundary"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("the finding does not say %q", want)
		}
	}
	plots, err := filepath.Glob(filepath.Join(bundle, "plots", "*.svg"))
	if err != nil || len(plots) < 4 {
		t.Errorf("plots: %v %v", plots, err)
	}
	for _, plot := range plots {
		if svg, err := os.ReadFile(plot); err != nil || !bytes.Contains(bytes.ToLower(svg), []byte("simulated")) {
			t.Errorf("%s does not say that it is simulated: %v", filepath.Base(plot), err)
		}
	}
	if code, stdout, _ := command(t, "verify", bundle); code != 0 {
		t.Errorf("verify exits %d: %s", code, stdout)
	}
	if code, stdout, stderr := command(t, "report", "--check", filepath.Join(dir, "findings")); code != 0 {
		t.Errorf("report --check exits %d: %s%s", code, stdout, stderr)
	}
}

func checkDemoRequest(t *testing.T, run string) {
	shown := mustRun(t, "show", run, "baseline-controlled-ctx10240-c2", "3")
	for _, want := range []string{"ASSAY_REQ_483002_00003", "own_first", "first_visible", "controlled_exact", "more; --all prints them"} {
		if !strings.Contains(shown, want) {
			t.Errorf("show does not say %q:\n%s", want, shown)
		}
	}
	if code, _, stderr := command(t, "show", run, "baseline-controlled-ctx10240-c2", "20"); code != 3 || !strings.Contains(stderr, "no request 20") {
		t.Errorf("a request that is not planned: exit %d, %s", code, stderr)
	}
}

func checkSameFinding(t *testing.T, dir, db string) {
	again := filepath.Join(dir, "again")
	code, _, stderr := command(t, "report", "--db", db, "-o", again)
	if code != 0 {
		t.Fatalf("report exits %d: %s", code, stderr)
	}
	first, second := tree(t, filepath.Join(dir, "findings")), tree(t, again)
	if len(first) != len(second) {
		t.Errorf("%d files, then %d", len(first), len(second))
	}
	for name, content := range first {
		if second[name] != content {
			t.Errorf("%s differs between two reports", name)
		}
	}
	// A published finding is never overwritten.
	if code, _, stderr := command(t, "report", "--db", db, "-o", again); code != 3 || !strings.Contains(stderr, "never overwritten") {
		t.Errorf("report over a published finding exits %d: %s", code, stderr)
	}
}

// tree reads every file below a folder.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path)
		files[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// checkTampering changes the first, a middle and the last byte of every file
// of the bundle and of the narrative, one at a time.
func checkTampering(t *testing.T, findings string) {
	narrative, bundle := findingOf(t, findings)
	var files []string
	for name := range tree(t, bundle) {
		files = append(files, filepath.Join(bundle, name))
	}
	for _, path := range append(files, narrative) {
		content, err := os.ReadFile(path)
		if err != nil || len(content) == 0 {
			t.Fatalf("%s: %d bytes, %v", path, len(content), err)
		}
		for _, at := range []int{0, len(content) / 2, len(content) - 1} {
			changed := bytes.Clone(content)
			changed[at] ^= 1
			if err := os.WriteFile(path, changed, 0o600); err != nil {
				t.Fatal(err)
			}
			if code, stdout, _ := command(t, "verify", bundle); code != 1 {
				t.Errorf("byte %d of %s changed: verify exits %d\n%s", at, filepath.Base(path), code, stdout)
			}
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if code, stdout, _ := command(t, "verify", bundle); code != 0 {
		t.Errorf("verify exits %d after everything was put back: %s", code, stdout)
	}
}

func checkIngestAgain(t *testing.T, dir, db string) {
	other := filepath.Join(dir, "other.duckdb")
	for range 2 { // the second time into the same database
		if code, _, stderr := command(t, "ingest", filepath.Join(dir, "run"), "--db", other); code != 0 {
			t.Fatalf("ingest exits %d: %s", code, stderr)
		}
	}
	for _, name := range rows(t, other, "SELECT table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE' ORDER BY 1") {
		attach := "ATTACH '" + other + "' AS other (READ_ONLY); "
		for _, pair := range [][2]string{{"main", "other.main"}, {"other.main", "main"}} {
			query := attach + "SELECT count(*) FROM (SELECT * FROM " + pair[0] + "." + name[0] + " EXCEPT ALL SELECT * FROM " + pair[1] + "." + name[0] + ")"
			if got := value(t, db, query); got != "0" {
				t.Errorf("%s: %s rows are not in the other ingest", name[0], got)
			}
		}
	}
}
