package record

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/file"
)

// derivedNames are words of metrics that are computed from raw facts. A column
// of a run directory that carries one would be derived.
var derivedNames = []string{"ttfo", "ttft", "tpot", "e2e", "itl", "decode", "prefill", "throughput", "rate", "_per_", "mean", "p50", "p95", "lag", "outcome", "verdict", "eligible", "tokens", "delta", "ratio"}

func TestNoColumnOfARunDirectoryIsDerived(t *testing.T) {
	kinds := []Kind{KindKey, KindClock, KindBytes, KindCount, KindReading, KindSetting, KindCode, KindDigest}
	for _, table := range AllTables {
		for _, c := range table.TableColumns() {
			if !slices.Contains(kinds, c.Kind) {
				t.Errorf("%s.%s: kind %q is not a kind of raw fact", table.TableName(), c.Name, c.Kind)
			}
			for _, word := range derivedNames {
				if strings.Contains(c.Name, word) {
					t.Errorf("%s.%s is named like a derived value (%s)", table.TableName(), c.Name, word)
				}
			}
		}
	}
}

func TestEveryColumnIsDescribedAndUnitsAreInTheName(t *testing.T) {
	suffix := map[string]string{"ns": "_ns", "bytes": "bytes", "characters": "_chars", "MHz": "_mhz", "percent": "_percent", "mW": "_mw", "mJ": "_mj", "µs": "_us", "°C": "_c"}
	for _, table := range AllTables {
		if table.TableComment() == "" {
			t.Errorf("%s has no comment", table.TableName())
		}
		seen := map[string]bool{}
		for _, c := range table.TableColumns() {
			if seen[c.Name] {
				t.Errorf("%s.%s twice", table.TableName(), c.Name)
			}
			seen[c.Name] = true
			if want := suffix[c.Unit]; want != "" && !strings.HasSuffix(c.Name, want) && !strings.HasPrefix(c.Name, "bytes_") {
				t.Errorf("%s.%s: unit %s is not in the name", table.TableName(), c.Name, c.Unit)
			}
			if strings.HasSuffix(c.Name, "_ns") && c.Unit == "" {
				t.Errorf("%s.%s has no unit", table.TableName(), c.Name)
			}
		}
	}
}

func parquetBytes(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, Events, map[string]string{"assay.plan_sha256": "ab"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		if err := w.Write(sampleEvents(int64(i), 400)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestParquetBytesAreTheSameEveryTime(t *testing.T) {
	first := parquetBytes(t)
	for range 5 {
		if !bytes.Equal(first, parquetBytes(t)) {
			t.Fatal("same rows, other bytes")
		}
	}
}

func TestParquetCarriesSchemaUnitsAndPlanDigest(t *testing.T) {
	r, err := file.NewParquetReader(bytes.NewReader(parquetBytes(t)))
	if err != nil {
		t.Fatal(err)
	}
	meta := r.MetaData().KeyValueMetadata()
	for key, want := range map[string]string{"assay.schema": SchemaVersion, "assay.table": "events", "unit.read_ns": "ns", "assay.plan_sha256": "ab"} {
		if got := meta.FindValue(key); got == nil || *got != want {
			t.Errorf("metadata %s: want %q, got %v", key, want, got)
		}
	}
	if r.NumRows() != 20000 {
		t.Errorf("rows: %d", r.NumRows())
	}
}

func TestConvertWritesEveryTableAndSortsRequests(t *testing.T) {
	folder := t.TempDir()
	s, err := CreateSpool(filepath.Join(folder, SpoolName))
	if err != nil {
		t.Fatal(err)
	}
	for _, index := range []int64{2, 0, 1} {
		if err := Append(s, Requests, []Request{{Index: index, End: "done"}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := Append(s, Events, sampleEvents(0, 3)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if damage, err := Convert(folder, nil); err != nil || len(damage) != 0 {
		t.Fatal(damage, err)
	}
	rows := map[string]int64{"requests": 3, "events": 3}
	for _, table := range AllTables {
		r, err := file.OpenParquetFile(filepath.Join(folder, table.TableName()+".parquet"), false)
		if err != nil {
			t.Fatal(err)
		}
		if r.NumRows() != rows[table.TableName()] {
			t.Errorf("%s: %d rows", table.TableName(), r.NumRows())
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	left, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(left) != len(AllTables) {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestConvertOfADamagedSpoolSaysWhatWasLost(t *testing.T) {
	path, _ := writeSpool(t)
	folder := filepath.Dir(path)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data[:len(data)-5], 0o600); err != nil {
		t.Fatal(err)
	}
	damage, err := Convert(folder, nil)
	if err != nil || len(damage) != 1 {
		t.Fatal(damage, err)
	}
	r, err := file.OpenParquetFile(filepath.Join(folder, "problems.parquet"), false)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.NumRows() != 1 {
		t.Errorf("problem rows: %d", r.NumRows())
	}
}

func TestJournalKeepsWholeLinesAndReportsTheRest(t *testing.T) {
	dir := t.TempDir()
	j, err := OpenJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Write(Entry{Kind: EntryStart}); err != nil {
		t.Fatal(err)
	}
	j.Close()
	path := filepath.Join(dir, JournalName)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"kind":"stop"}{"kind":"end"}` + "\n" + `{"kind":"sto`); err != nil {
		t.Fatal(err)
	}
	f.Close()
	// The next writer must not join its first line to the half one.
	if j, err = OpenJournal(dir); err != nil {
		t.Fatal(err)
	}
	if err := j.Write(Entry{Kind: EntryEnd}); err != nil {
		t.Fatal(err)
	}
	j.Close()
	entries, bad, err := ReadJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 || entries[1].Kind != EntryEnd {
		t.Errorf("entries: %+v", entries)
	}
	if len(bad) != 2 || bad[0].Line != 2 || bad[1].Line != 3 {
		t.Errorf("bad lines: %+v", bad)
	}
}

func TestWriteFileLeavesNothingBehindOnError(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.json")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, func(io.Writer) error { return errFull }); err == nil {
		t.Fatal("no error")
	}
	names, _ := os.ReadDir(dir)
	old, _ := os.ReadFile(path)
	if len(names) != 1 || string(old) != "old" {
		t.Errorf("left %v, content %q", names, old)
	}
}
