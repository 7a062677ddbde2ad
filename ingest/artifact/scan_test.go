package artifact

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf16"
)

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "files", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func utf16Text(s string) string {
	var b strings.Builder
	b.WriteString("\xff\xfe")
	for _, u := range utf16.Encode([]rune(s)) {
		b.WriteByte(byte(u))
		b.WriteByte(byte(u >> 8))
	}
	return b.String()
}

// A folder of everything a scan can meet: one problem each, and the good files
// load.
func TestScanMeetsAnything(t *testing.T) {
	dir := t.TempDir()
	good := string(fixture(t, "anvil-v3.json"))
	for name, text := range map[string]string{
		"good.json":             good,
		"deep/er/good.json":     string(fixture(t, "aiperf-summary.json")),
		"bom.json":              "\xef\xbb\xbf" + good,
		"utf16.json":            utf16Text(good),
		"utf16-bare.json":       strings.Join(strings.Split(`{"a":1}`, ""), "\x00") + "\x00",
		"latin1.json":           `{"schema":"anvil-serving.benchmark/v1","model":"caf` + "\xe9" + `"}`,
		"not.json":              "# a comment\n{}",
		"cut.json":              good[:len(good)/2],
		"cut-text.json":         `{"a":"\u00`,
		"deep.json":             strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000),
		"twice.json":            `{"schema":"anvil-serving.benchmark/v1","model":"a","model":"b"}`,
		"twice-escaped.json":    `{"schema":"anvil-serving.benchmark/v1","model":"a","\u006dodel":"b"}`,
		"trailing.json":         good + "]",
		"two.json":              good + good,
		"empty.json":            "",
		"blank.json":            " \n",
		"unknown.json":          `{"some":"thing"}`,
		"list.json":             `[1,2]`,
		"nan.json":              strings.Replace(good, `"e2e_p95_ms": 360.75`, `"e2e_p95_ms": NaN`, 1),
		"notes.md":              "# Notes\n",
		"blob.bin":              "\x00\x01\x02\xff",
		"named-by-content.txt":  good,
		"named-by-content2.log": `{"broken`,
		"odd\xffname.json":      good + " ",
	} {
		writeFile(t, dir, name, text)
	}
	if err := errors.Join(os.Symlink(filepath.Join(dir, "good.json"), filepath.Join(dir, "link.json")), os.Symlink(dir, filepath.Join(dir, "loop"))); err != nil {
		t.Fatal(err)
	}
	big, err := os.Create(filepath.Join(dir, "huge.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(big.Truncate(2<<30), big.Close()); err != nil { // sparse
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(dir, "s.json"))
	if err == nil {
		defer listener.Close()
	}
	db := openDB(t)
	load(t, db, dir)
	wanted := []string{
		"byte_order_mark bom.json", "duplicate_key twice-escaped.json", "duplicate_key twice.json", "empty_file blank.json", "empty_file empty.json",
		"link_not_followed link.json", "link_not_followed loop", "not_a_file s.json", "not_finite nan.json",
		"not_json not.json", "not_json trailing.json", "not_json two.json", "statistic_differs nan.json",
		"too_deep deep.json", "too_large huge.json", "truncated cut-text.json", "truncated cut.json", "truncated named-by-content2.log",
		"unknown_schema list.json", "unknown_schema unknown.json", "wrong_encoding latin1.json", "wrong_encoding utf16-bare.json", "wrong_encoding utf16.json",
	}
	want(t, db, "SELECT code || ' ' || source FROM problems ORDER BY ALL", wanted...)
	want(t, db, "SELECT path FROM artifacts WHERE state = 'loaded' ORDER BY 1", "bom.json", "deep/er/good.json", "good.json", "named-by-content.txt", "nan.json", "odd\uFFFDname.json")
	want(t, db, "SELECT path FROM artifacts WHERE kind = 'other' ORDER BY 1", "blob.bin", "notes.md")
	before := query(t, db, "SELECT * FROM problems ORDER BY ALL")
	if s := load(t, db, dir); s.Unchanged != 24 || s.Loaded+s.Named != 0 {
		t.Errorf("second load: %+v", s)
	}
	want(t, db, "SELECT * FROM problems ORDER BY ALL", before...)
}

func TestUnreadableIsAProblem(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	dir := t.TempDir()
	locked := writeFile(t, dir, "locked.json", "{}")
	closed := filepath.Join(dir, "closed")
	if err := errors.Join(os.Chmod(locked, 0), os.Mkdir(closed, 0)); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(closed, 0o700)
	db := openDB(t)
	load(t, db, dir)
	want(t, db, problems, "unreadable_file closed", "unreadable_file locked.json")
}

// A file that goes away between the listing and the reading.
func TestLostFileIsAProblem(t *testing.T) {
	f := found{name: "x.json", disk: filepath.Join(t.TempDir(), "x.json"), bytes: 10}
	if _, _, wrong := f.open(); wrong == nil || wrong.Code != CodeUnreadable {
		t.Errorf("problem: %+v", wrong)
	}
	path := writeFile(t, t.TempDir(), "x.json", "0123456789")
	f = found{name: "x.json", disk: path, bytes: 4}
	if _, _, wrong := f.open(); wrong == nil || wrong.Code != CodeUnreadable {
		t.Errorf("a file that grew: %+v", wrong)
	}
}

func TestRunDirectoriesInsideAreLeftToTheirLoader(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"run/plan.json", "below/run/plan.json", "a.json"} {
		writeFile(t, dir, name, `{"schema":"x"}`)
	}
	db := openDB(t)
	isRun := func(dir string) bool { return filepath.Base(dir) == "run" }
	if _, err := Load(t.Context(), db, dir, Options{IsRun: isRun}); err != nil {
		t.Fatal(err)
	}
	want(t, db, problems, "run_directory below/run", "unknown_schema a.json /schema")
}

// One run id with other bytes is another artifact; the same bytes under another
// name are too, and say so by their digest.
func TestFilesAreKnownByContentAndPath(t *testing.T) {
	dir := t.TempDir()
	good := string(fixture(t, "anvil-v3.json"))
	writeFile(t, dir, "a.json", good)
	writeFile(t, dir, "b.json", good)
	db := openDB(t)
	load(t, db, dir)
	writeFile(t, dir, "a.json", strings.Replace(good, `"max_tokens": 64`, `"max_tokens": 65`, 1))
	load(t, db, dir)
	want(t, db, "SELECT path, max_tokens, count(DISTINCT run_id) FROM artifacts GROUP BY ALL ORDER BY ALL", "a.json|64|1", "a.json|65|1", "b.json|64|1")
	want(t, db, "SELECT count(DISTINCT artifact), count(DISTINCT sha256) FROM artifacts", "3|2")
}

func TestMissingSourceIsAnErrorWithoutItsFolder(t *testing.T) {
	db := openDB(t)
	_, err := Load(t.Context(), db, filepath.Join(t.TempDir(), "nowhere"), Options{})
	if err == nil || !strings.Contains(err.Error(), "nowhere does not exist") || strings.Contains(err.Error(), os.TempDir()) {
		t.Errorf("error: %v", err)
	}
}

func TestCancelledLoadStoresNoHalfFile(t *testing.T) {
	dir := t.TempDir()
	for i := range 100 {
		writeFile(t, dir, fmt.Sprintf("%03d.json", i), string(fixture(t, "anvil-v3.json"))+strings.Repeat(" ", i))
	}
	db := openDB(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Load(ctx, db, dir, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error: %v", err)
	}
	load(t, db, dir)
	want(t, db, "SELECT count(*), (SELECT count(*) FROM artifact_requests), (SELECT count(*) FROM problems) FROM artifacts", "100|300|0")
}

// Many files of many batches, all of them large: the writer takes them in order
// while each waits for its turn.
func TestLargeFilesTakeTurnsInOrder(t *testing.T) {
	dir := t.TempDir()
	line := strings.SplitN(string(fixture(t, "aiperf-records.jsonl")), "\n", 3)[1] + "\n"
	for i := range 40 {
		writeFile(t, dir, fmt.Sprintf("%02d.jsonl", i), strings.Repeat(line, 4*batchRows+i))
	}
	db := openDB(t)
	s, err := Load(t.Context(), db, dir, Options{largeFrom: 1})
	if err != nil || s.Loaded != 40 || s.Requests != 40*4*batchRows+39*20 {
		t.Errorf("summary: %+v, %v", s, err)
	}
	want(t, db, "SELECT count(*), bool_and(path = lpad((requests - 2000)::VARCHAR, 2, '0') || '.jsonl') FROM artifacts", "40|true")
}

// The columns of the rows are those of the tables, in their order.
func TestRowsMatchTheirTables(t *testing.T) {
	db := openDB(t)
	for table, row := range map[string]any{"artifacts": Artifact{}, "artifact_requests": Request{}, "artifact_stats": Stat{}} {
		want(t, db, "SELECT column_name FROM duckdb_columns() WHERE table_name = '"+table+"' ORDER BY column_index", columnsOf(reflect.TypeOf(row))...)
	}
}

func columnsOf(t reflect.Type) (names []string) {
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous {
			names = append(names, columnsOf(f.Type)...)
		} else {
			names = append(names, f.Tag.Get("col"))
		}
	}
	return names
}

// Rows are handed on in batches: a file of many requests is never held whole.
func TestRowsComeInBatches(t *testing.T) {
	var b strings.Builder
	line := strings.SplitN(string(fixture(t, "aiperf-records.jsonl")), "\n", 3)[1] + "\n"
	for range 3*batchRows + 1 {
		b.WriteString(line)
	}
	var sizes []int
	err := Read("0", "x.jsonl", []byte(b.String()), func(b Batch) error { sizes = append(sizes, b.rows()); return nil })
	if err != nil || len(sizes) != 4 {
		t.Errorf("batches of %v rows, %v", sizes, err)
	}
	boom := errors.New("boom")
	if err := Read("0", "x.jsonl", []byte(b.String()), func(Batch) error { return boom }); !errors.Is(err, boom) {
		t.Errorf("error of the receiver: %v", err)
	}
}
