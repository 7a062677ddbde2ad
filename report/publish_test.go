package report

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/analyze"
	"assay/report/bundle"
	"assay/report/sanitize"
)

var (
	// passing is a simulated campaign in which everything passed.
	passing = campaign{kind: "simulated"}
	// failing is a measured one in which half the cells of an arm failed or never ran.
	failing = campaign{
		kind: "measured", detail: "an event is no JSON",
		notRun:  []string{"candidate-capacity-edge-ctx31744-c1", "candidate-controlled-ctx16384-c2", "candidate-natural-ctx16384-c2", "candidate-controlled-ctx16384-c1"},
		failing: []string{"candidate-natural-ctx16384-c1", "baseline-natural-ctx16384-c2", "candidate-controlled-ctx4096-c2"},
	}
)

// exported keeps what Export returned, because filling a database takes a while.
var exported sync.Map

func export(t *testing.T, name string, c campaign) Data {
	t.Helper()
	if data, ok := exported.Load(name); ok {
		return data.(Data)
	}
	data, err := Export(context.Background(), c.store(t), testName)
	if err != nil {
		t.Fatal(err)
	}
	exported.Store(name, data)
	return data
}

func render(t *testing.T, data Data, threads int) Output {
	t.Helper()
	out, err := Render(context.Background(), Input{Data: data, Threads: threads})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// rendered keeps what Render returned for a campaign.
var rendered sync.Map

func finding(t *testing.T, name string, c campaign) Output {
	t.Helper()
	if out, ok := rendered.Load(name); ok {
		return out.(Output)
	}
	out := render(t, export(t, name, c), 0)
	rendered.Store(name, out)
	return out
}

// files are all bytes of a rendered finding.
func files(out Output) map[string]string {
	all := map[string]string{"narrative": string(out.Draft.Narrative)}
	for name, data := range out.Draft.Files {
		all[name] = string(data)
	}
	return all
}

func TestPublishedFindingPassesItsChecksAndItsRecheck(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	db := failing.store(t)
	if _, err := Publish(ctx, db, testName, dir, Options{}); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, testID+"-evidence")
	l, err := bundle.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	if r := bundle.Verify(l, bundle.Options{}); !r.OK() {
		t.Errorf("problems: %v", r.Problems)
	}
	before := snapshot(t, dir)
	if differences, err := Recheck(ctx, dir, Options{Threads: 1}); err != nil || len(differences) > 0 {
		t.Errorf("recheck of a fresh finding: %v, %v", differences, err)
	}
	if diff := cmp.Diff(before, snapshot(t, dir)); diff != "" {
		t.Errorf("the recheck changed files: %s", diff)
	}
	if _, err := Publish(ctx, db, testName, dir, Options{}); !errors.Is(err, bundle.ErrExists) {
		t.Errorf("publishing a second time: %v, want ErrExists", err)
	}
}

func TestRecheckFindsAChangedNumberAndRerenderRepairsIt(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	out := finding(t, "failing", failing)
	if _, err := bundle.Seal(dir, out.Draft); err != nil {
		t.Fatal(err)
	}
	if err := bundle.WriteIndex(dir); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, dir)
	narrative := filepath.Join(dir, testID+".md")
	correction := "\n2026-11-01: see the other finding.\n"
	text := strings.Replace(before[testID+".md"], "7 of 18 measured", "6 of 18 measured", 1) + correction
	if text == before[testID+".md"]+correction {
		t.Fatal("the narrative does not hold the number this test changes")
	}
	plot := filepath.Join(dir, testID+"-evidence", "plots", "timeline-natural-4096.svg")
	for name, data := range map[string]string{narrative: text, plot: "<svg/>"} {
		if err := os.WriteFile(name, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	differences, err := Recheck(ctx, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, d := range differences {
		found = append(found, d.File)
	}
	want := []string{testID + "-evidence/plots/timeline-natural-4096.svg", testID + ".md"}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("differences (-want +got): %s", diff)
	}
	written, err := Rerender(ctx, dir, Options{})
	if err != nil || !cmp.Equal(written, want) {
		t.Errorf("rerender wrote %v, %v; want %v", written, err, want)
	}
	before[testID+".md"] += correction
	if diff := cmp.Diff(before, snapshot(t, dir)); diff != "" {
		t.Errorf("after the rerender (-before +now): %s", diff)
	}
	if written, err := Rerender(ctx, dir, Options{}); err != nil || len(written) > 0 {
		t.Errorf("a second rerender wrote %v, %v; want nothing", written, err)
	}
}

// snapshot reads every file below dir.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		out[strings.TrimPrefix(path, dir+"/")] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRenderingDoesNotDependOnThreadsZoneLocaleOrFolder(t *testing.T) {
	data := export(t, "failing", failing)
	want := files(finding(t, "failing", failing))
	zone := time.Local
	t.Cleanup(func() { time.Local = zone })
	time.Local = time.FixedZone("odd", 5*3600+2700)
	t.Setenv("TZ", "Asia/Kathmandu")
	t.Setenv("LANG", "tr_TR.UTF-8")
	t.Setenv("TMPDIR", t.TempDir())
	t.Chdir(t.TempDir())
	if diff := cmp.Diff(want, files(render(t, data, 1))); diff != "" {
		t.Errorf("other surroundings gave other bytes: %s", diff)
	}
}

func TestExportIsTheSameForTheSameEvidence(t *testing.T) {
	again, err := Export(context.Background(), failing.store(t), testName)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range export(t, "failing", failing).Files {
		if !bytes.Equal(data, again.Files[name]) {
			t.Errorf("%s differs between two exports", name)
		}
	}
}

// TestBundleAnswersEveryQueryAsTheDatabaseDoes holds that publication loses
// nothing the queries need.
func TestBundleAnswersEveryQueryAsTheDatabaseDoes(t *testing.T) {
	ctx := context.Background()
	db := failing.store(t)
	data, err := Export(ctx, db, testName)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := load(ctx, data.Files, 2, analyze.CreateViews)
	if err != nil {
		t.Fatal(err)
	}
	defer loaded.Close()
	queries, err := loadQueries()
	if err != nil || len(queries) < 25 {
		t.Fatalf("%d queries, %v", len(queries), err)
	}
	for _, q := range queries {
		want, err := run(ctx, db.SQL(), q)
		if err != nil {
			t.Fatal(err)
		}
		got, err := run(ctx, loaded.SQL(), q)
		if err != nil {
			t.Fatal(err)
		}
		if q.title == "" || len(q.key) == 0 {
			t.Errorf("query %s lacks a title or a key", q.name)
		}
		if diff := cmp.Diff(want.rows, got.rows); diff != "" {
			t.Errorf("query %s (-database +bundle): %s", q.name, diff)
		}
	}
}

func TestExportReplacesWhatMayNotBePublished(t *testing.T) {
	c := failing
	c.detail = "open /home/jane/run on gpu-box.local: no such file"
	data, err := Export(context.Background(), c.store(t), testName)
	if err != nil {
		t.Fatal(err)
	}
	problems, err := sanitize.ReadTable(data.Files["data/problems.parquet"])
	if err != nil {
		t.Fatal(err)
	}
	var details []string
	for _, column := range problems.Columns {
		if column.Name == "detail" {
			details = column.Texts
		}
	}
	if want := "open [PRIVATE_OPERATOR_ROOT]/run on [host-a]: no such file"; !slices.Contains(details, want) {
		t.Errorf("details %q, want one %q", details, want)
	}
	record, err := bundle.DecodeSanitizeRecord(data.Files[sanitizeFile])
	if err != nil || record.Replaced["problems.detail:machine_path"] == 0 || record.Replaced["problems.detail:private_host"] == 0 {
		t.Errorf("record %+v, %v; want both replacements counted", record, err)
	}
}

func TestExportRefusesWhatADenyFileNames(t *testing.T) {
	// The plan is redacted before the lock and cannot be changed any more, so a
	// name in it stops the publication.
	_, err := ExportWith(context.Background(), failing.store(t), testName, Options{Deny: []string{"baseline"}})
	if err == nil || !strings.Contains(err.Error(), "plan.json holds a private text (private_host)") || strings.Contains(err.Error(), "baseline") {
		t.Errorf("error %v; want one that names plan.json and not the value", err)
	}
}

func TestExportAllowsWhatAnEntryNamesAndNothingElse(t *testing.T) {
	c := failing
	c.detail = "the route /chat/templates answered, /home/jane did not"
	allow := []sanitize.AllowEntry{{Value: "/chat/templates", Path: "data/problems.parquet:detail", Reason: "a route of the engine", Date: "2026-10-17"}}
	db := c.store(t)
	data, err := ExportWith(context.Background(), db, testName, Options{Allow: allow})
	if err != nil {
		t.Fatal(err)
	}
	problems, err := sanitize.ReadTable(data.Files["data/problems.parquet"])
	if err != nil {
		t.Fatal(err)
	}
	if want := "the route /chat/templates answered, [PRIVATE_OPERATOR_ROOT] did not"; !slices.ContainsFunc(problems.Columns, func(c sanitize.Column) bool { return slices.Contains(c.Texts, want) }) {
		t.Errorf("no text %q", want)
	}
	allow[0].Value = "/chat/gone"
	if _, err := ExportWith(context.Background(), db, testName, Options{Allow: allow}); err == nil || !strings.Contains(err.Error(), "matches nothing any more") {
		t.Errorf("error %v; want that the entry matches nothing", err)
	}
}

func TestExportOfAnUnknownCampaignSaysSo(t *testing.T) {
	if _, err := Export(context.Background(), failing.store(t), "other"); !errors.Is(err, ErrNoCampaign) {
		t.Errorf("error %v, want ErrNoCampaign", err)
	}
}

func TestThinningKeepsSamplesAroundCellsAndSaysItsRule(t *testing.T) {
	ctx := context.Background()
	e := exporter{db: passing.store(t).SQL(), campaign: testName, limit: 6000}
	for _, p := range publishedTables {
		if p.file != "gpu" {
			continue
		}
		all, err := e.selectRows(ctx, p, 1)
		if err != nil {
			t.Fatal(err)
		}
		rows, thin, err := e.rows(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		if thin == nil || thin.KeepEvery < 2 || thin.RowsAll != int64(len(all.rows)) || len(rows.rows) >= len(all.rows) {
			t.Fatalf("thinning %+v from %d to %d rows", thin, len(all.rows), len(rows.rows))
		}
		around := func(r *result) int { return len(r.find("phase", "before")) + len(r.find("phase", "after")) }
		if around(rows) != around(all) || around(all) == 0 {
			t.Errorf("%d of %d samples around cells are left", around(rows), around(all))
		}
	}
}

func TestRenderRefusesDamagedEvidence(t *testing.T) {
	whole := export(t, "failing", failing)
	for _, row := range []struct{ name, text string }{
		{"data/requests.parquet", "PAR1 no parquet PAR1"}, {"plan.json", "{"}, {"plan.lock.json", "{}"}, {"data/columns.json", "["}, {"data/stops.parquet", ""},
	} {
		data := Data{Files: map[string][]byte{}}
		for name, content := range whole.Files {
			data.Files[name] = content
		}
		data.Files[row.name] = []byte(row.text)
		if _, err := Render(context.Background(), Input{Data: data}); err == nil || !strings.Contains(err.Error(), row.name) {
			t.Errorf("damaged %s: error %v, want one that names it", row.name, err)
		}
	}
}
