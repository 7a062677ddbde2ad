package store_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/ingest/store"
)

// Either makes the test binary hold the named database until its input ends.
const (
	holdToWrite = "ASSAY_TEST_HOLD_TO_WRITE"
	holdToRead  = "ASSAY_TEST_HOLD_TO_READ"
)

func TestMain(m *testing.M) {
	for _, mode := range []string{holdToWrite, holdToRead} {
		if path := os.Getenv(mode); path != "" {
			os.Exit(hold(path, store.Options{ReadOnly: mode == holdToRead}))
		}
	}
	os.Exit(m.Run())
}

func hold(path string, opt store.Options) int {
	db, err := store.Open(path, opt)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("held")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // ends with the parent too
	if err := db.Close(); err != nil {
		return 1
	}
	return 0
}

// holder starts a second process that has the database open. release ends it.
func holder(t *testing.T, path, mode string) (release func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), mode+"="+path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("the second process says %q", line)
	}
	done := false
	release = func() {
		if !done {
			done = true
			if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(release)
	return release
}

func open(t *testing.T, path string, opt store.Options) *store.DB {
	t.Helper()
	db, err := store.Open(path, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // closed twice where the test closes it
	return db
}

// F06: the message says that another process holds the file and what to do,
// and names no folder.
func TestF06LockedDatabaseSaysSoAndIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.duckdb")
	holder(t, path, holdToWrite)
	for _, opt := range []store.Options{{Wait: -1}, {Wait: -1, ReadOnly: true}, {Wait: 10 * time.Millisecond}} {
		_, err := store.Open(path, opt)
		if !errors.Is(err, store.ErrLocked) {
			t.Fatalf("%+v: %v", opt, err)
		}
		if text := err.Error(); strings.Contains(text, filepath.Dir(path)) || !strings.Contains(text, "a.duckdb") ||
			!strings.Contains(text, "another process") || !strings.Contains(text, "--wait") {
			t.Errorf("message: %s", text)
		}
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

func TestOpenWaitsForTheHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.duckdb")
	release := holder(t, path, holdToWrite)
	opened := make(chan error)
	go func() {
		db, err := store.Open(path, store.Options{Wait: time.Minute})
		if err == nil {
			err = db.Close()
		}
		opened <- err
	}()
	release()
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

func TestReadersShareAFileAndCannotWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.duckdb")
	writer := open(t, path, store.Options{})
	if err := errors.Join(writer.CreateTables(t.Context()), writer.Close()); err != nil {
		t.Fatal(err)
	}
	holder(t, path, holdToRead)
	db := open(t, path, store.Options{ReadOnly: true})
	if _, err := store.Strings(db.Query(t.Context(), "read", "SELECT campaign FROM campaigns")); err != nil {
		t.Error(err)
	}
	if err := db.Exec(t.Context(), "write", "CREATE TABLE x (a INT)"); err == nil {
		t.Error("a reader wrote")
	}
}

// setVersion writes a storage version into a DuckDB file's header and corrects
// the header's checksum, the exclusive or of its words times a constant.
func setVersion(file []byte, version byte) {
	const factor = 0xbf58476d1ce4e5b9
	sum, old := binary.LittleEndian.Uint64(file), binary.LittleEndian.Uint64(file[8:])
	file[12] = version // after the checksum and the magic
	binary.LittleEndian.PutUint64(file, sum^old*factor^binary.LittleEndian.Uint64(file[8:])*factor)
}

// F07: another version's file and a file of another kind give their own errors.
func TestF07FilesDuckDBCannotReadSayWhatToDo(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.duckdb")
	db := open(t, path, store.Options{})
	if err := errors.Join(db.CreateTables(t.Context()), db.Close()); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	newer := append([]byte{}, whole...)
	setVersion(newer, 250)
	for name, tt := range map[string]struct {
		content []byte
		want    error
	}{
		"newer": {newer, store.ErrNewer},
		"text":  {[]byte(strings.Repeat("not a database ", 1000)), store.ErrForeign},
		"short": {[]byte("x"), store.ErrForeign},
		"cut":   {whole[:5000], store.ErrForeign},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(dir, name+".duckdb")
			if err := os.WriteFile(file, tt.content, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := store.Open(file, store.Options{Wait: -1})
			if !errors.Is(err, tt.want) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			if !strings.Contains(err.Error(), "rebuild it from the run directories") || strings.Contains(err.Error(), dir) {
				t.Errorf("message: %s", err)
			}
		})
	}
	if _, err := store.Open(filepath.Join(dir, "nowhere", "a.duckdb"), store.Options{Wait: -1}); err == nil || strings.Contains(err.Error(), dir) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// F08: the limit and the folder to spill into are set, and a query that needs
// more than the limit spills, also in memory.
func TestF08LimitedMemorySpills(t *testing.T) {
	for name, path := range map[string]string{"file": filepath.Join(t.TempDir(), "a.duckdb"), "memory": ""} {
		t.Run(name, func(t *testing.T) {
			db := open(t, path, store.Options{MemoryLimit: "100MB", Threads: 2})
			settings, err := store.Strings(db.Query(t.Context(), "settings", "SELECT current_setting('memory_limit') UNION ALL SELECT current_setting('temp_directory') <> ''"))
			if err != nil || len(settings) != 2 || settings[0] != "95.3 MiB" || settings[1] != "true" {
				t.Fatalf("settings: %q, %v", settings, err)
			}
			// 3 million rows of 40 bytes and more, sorted whole.
			const sorted = `SELECT CAST(sum(n) AS VARCHAR) FROM (SELECT row_number() OVER (ORDER BY k, i) - 1 AS n, i
				FROM (SELECT i, md5(i::VARCHAR) AS k FROM range(3000000) r(i)))`
			sum, err := store.Strings(db.Query(t.Context(), "sort", sorted))
			if err != nil || len(sum) != 1 || sum[0] != "4499998500000" {
				t.Errorf("sum: %q, %v", sum, err)
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(path + ".tmp"); path != "" && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the folder to spill into is left: %v", err)
			}
		})
	}
}

func TestOutOfMemoryNamesTheQuery(t *testing.T) {
	db := open(t, "", store.Options{MemoryLimit: "20MB", Threads: 1})
	err := db.Exec(t.Context(), "gather lists", "CREATE TABLE x AS SELECT list(repeat(i::VARCHAR, 100)) FROM range(10000000) r(i)")
	var failure *store.Failure
	if !errors.As(err, &failure) || failure.Class != store.ClassMemory || failure.Step != "gather lists" {
		t.Errorf("error: %v", err)
	}
}

// Errors keep nothing of the data that a query was reading.
func TestErrorsQuoteNoData(t *testing.T) {
	db := open(t, "", store.Options{})
	for class, statement := range map[store.Class]string{
		store.ClassConversion: "SELECT CAST('secret prompt' AS BIGINT)",
		store.ClassInput:      `SELECT json_extract('secret prompt', '$.a')`,
		store.ClassStatement:  "SELECT secret_prompt",
		store.ClassConstraint: "CREATE TABLE k (a VARCHAR PRIMARY KEY); INSERT INTO k VALUES ('secret prompt'), ('secret prompt')",
		store.ClassIO:         "SELECT * FROM read_parquet('/secret/prompt')",
	} {
		err := db.Exec(t.Context(), "step", statement)
		if err == nil || strings.Contains(err.Error(), "secret") || err.Error() != "step: database error: "+string(class) {
			t.Errorf("%s: %v", class, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := db.Exec(ctx, "step", "SELECT 1"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// A transaction with a failed statement stores nothing, also when its function
// hides the failure.
func TestFailedTransactionStoresNothing(t *testing.T) {
	db := open(t, "", store.Options{})
	if err := db.Exec(t.Context(), "create", "CREATE TABLE x (a BIGINT)"); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	for name, fn := range map[string]func(*store.Tx) error{
		"statement": func(tx *store.Tx) error {
			return errors.Join(tx.Exec(t.Context(), "a", "INSERT INTO x VALUES (1)"), tx.Exec(t.Context(), "b", "INSERT INTO x VALUES ('no number')"))
		},
		"hidden failure": func(tx *store.Tx) error {
			_ = tx.Exec(t.Context(), "a", "INSERT INTO x VALUES (1)")
			_ = tx.Exec(t.Context(), "b", "INSERT INTO x VALUES ('no number')")
			return nil
		},
		"own error": func(tx *store.Tx) error {
			return errors.Join(tx.Exec(t.Context(), "a", "INSERT INTO x VALUES (1)"), boom)
		},
		"appender": func(tx *store.Tx) error {
			return tx.Append("x", func(add func(...any) error) error { return errors.Join(add(int64(1)), boom) })
		},
	} {
		if err := db.Tx(t.Context(), fn); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	count := func() string {
		rows, err := store.Strings(db.Query(t.Context(), "count", "SELECT count(*)::VARCHAR FROM x"))
		if err != nil {
			t.Fatal(err)
		}
		return rows[0]
	}
	if got := count(); got != "0" {
		t.Errorf("%s rows were stored", got)
	}
	err := db.Tx(t.Context(), func(tx *store.Tx) error {
		return tx.Append("x", func(add func(...any) error) error { return errors.Join(add(int64(1)), add(nil)) })
	})
	if got := count(); err != nil || got != "2" {
		t.Errorf("%s rows after a sound append, %v", got, err)
	}
}

func TestConnectionsAreSetUp(t *testing.T) {
	t.Setenv("TZ", "America/New_York")
	db := open(t, "", store.Options{Threads: 1})
	got, err := store.Strings(db.Query(t.Context(), "settings", `SELECT current_setting('TimeZone') UNION ALL SELECT current_setting('threads')::VARCHAR
		UNION ALL SELECT current_setting('autoinstall_known_extensions')::VARCHAR UNION ALL SELECT current_setting('autoload_known_extensions')::VARCHAR`))
	if err != nil || strings.Join(got, " ") != "UTC 1 false false" {
		t.Errorf("settings: %q, %v", got, err)
	}
}

func TestOwnTemporaryFolderIsRemoved(t *testing.T) {
	parent := t.TempDir()
	t.Setenv("TMPDIR", parent)
	db := open(t, "", store.Options{})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestPathsTheDriverWouldMisread(t *testing.T) {
	dir := t.TempDir()
	if _, err := store.Open(filepath.Join(dir, "a?b.duckdb"), store.Options{}); err == nil || !strings.Contains(err.Error(), "choose another path") {
		t.Errorf("question mark: %v", err)
	}
	t.Chdir(dir)
	db := open(t, "odd:name 1&x=2.duckdb", store.Options{})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "odd:name 1&x=2.duckdb")); err != nil {
		t.Error(err)
	}
}
