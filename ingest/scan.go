package ingest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"assay/collect/record"
)

// file is one file of a run directory.
type file struct {
	path   string // inside the run directory, with slashes
	kind   string // plan, lock, run, journal, the name of a table, or unknown
	bytes  int64
	sha256 string
}

// folder is one attempt's folder.
type folder struct {
	arm, cell string
	attempt   int64
	path      string // inside the run directory, with slashes
	files     []file
	spool     bool
	broken    bool // a file that the rest hangs on cannot be read; nothing is loaded
	problems  []Problem
}

// tree is what a run directory holds on disk, before anything is decoded.
type tree struct {
	dir      string
	files    []file // of the whole run
	folders  []folder
	problems []Problem
}

var runFiles = map[string]string{
	record.PlanName: "plan", record.LockName: "lock", record.RunName: "run", record.JournalName: "journal",
}

// findRuns lists the run directories at or right below a path.
func findRuns(source string) ([]string, error) {
	if isRun(source) {
		return []string{source}, nil
	}
	entries, err := os.ReadDir(source)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("source %s does not exist\nname a run directory, a result file, or a folder of them", filepath.Base(source))
	}
	if err != nil {
		return nil, nil // a file, or a folder that may not be read: nothing is recognised
	}
	var runs []string
	for _, e := range entries {
		if inside := filepath.Join(source, e.Name()); e.IsDir() && isRun(inside) {
			runs = append(runs, inside)
		}
	}
	return runs, nil
}

func isRun(dir string) bool {
	for _, name := range []string{record.PlanName, record.RunName, record.JournalName, record.CellsName} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// scanRun lists and hashes the files of a run directory.
func scanRun(dir string) (tree, error) {
	t := tree{dir: dir}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return t, fmt.Errorf("list run directory: %w", err)
	}
	for _, e := range entries {
		kind, known := runFiles[e.Name()]
		switch {
		case known:
			f, err := hashFile(dir, e.Name(), kind)
			if err != nil {
				return t, err
			}
			t.files = append(t.files, f)
		case e.Name() != record.CellsName:
			t.unknown(e.Name())
		}
	}
	for _, name := range []string{record.PlanName, record.LockName, record.RunName, record.JournalName} {
		if !slices.ContainsFunc(t.files, func(f file) bool { return f.path == name }) {
			t.problems = append(t.problems, Problem{Code: CodeMissingFile, Source: name, Detail: "the run directory has no such file"})
		}
	}
	return t, t.scanCells()
}

// scanCells walks cells/arm=A/cell=ID/attempt=N.
func (t *tree) scanCells() error {
	return t.each(record.CellsName, "arm=", func(armPath, arm string) error {
		return t.each(armPath, "cell=", func(cellPath, cell string) error {
			return t.each(cellPath, "attempt=", func(attemptPath, attempt string) error {
				n, err := strconv.ParseInt(attempt, 10, 64)
				if err != nil || n < 1 || strconv.FormatInt(n, 10) != attempt {
					t.problems = append(t.problems, unknownFile(attemptPath))
					return nil
				}
				f, err := scanFolder(t.dir, folder{arm: arm, cell: cell, attempt: n, path: attemptPath})
				t.folders = append(t.folders, f)
				return err
			})
		})
	})
}

// each calls use for every folder below parent whose name starts with prefix,
// in order of name.
func (t *tree) each(parent, prefix string, use func(path, value string) error) error {
	entries, err := os.ReadDir(filepath.Join(t.dir, filepath.FromSlash(parent)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list %s: %w", parent, err)
	}
	for _, e := range entries {
		value, ok := strings.CutPrefix(e.Name(), prefix)
		if inside := path.Join(parent, e.Name()); ok && e.IsDir() && value != "" {
			if err := use(inside, value); err != nil {
				return err
			}
		} else {
			t.unknown(inside)
		}
	}
	return nil
}

// scanFolder lists and hashes the files of one attempt folder.
func scanFolder(dir string, f folder) (folder, error) {
	entries, err := os.ReadDir(filepath.Join(dir, filepath.FromSlash(f.path)))
	if err != nil {
		return f, fmt.Errorf("list %s: %w", f.path, err)
	}
	for _, e := range entries {
		name := path.Join(f.path, e.Name())
		table := strings.TrimSuffix(e.Name(), ".parquet")
		switch {
		case e.Name() == record.SpoolName:
			f.spool = true
		case table != e.Name() && describedBy(table) != nil && e.Type().IsRegular():
			hashed, err := hashFile(dir, name, table)
			if err != nil {
				f.broken = true
				f.add(Problem{Code: CodeUnreadableFile, Source: name, Detail: "the file cannot be read"})
				continue
			}
			f.files = append(f.files, hashed)
		default:
			f.files = appendUnknown(f.files, dir, name)
			f.add(unknownFile(name))
		}
	}
	return f, nil
}

// unknown notes what belongs to no run directory.
func (t *tree) unknown(name string) {
	t.files = appendUnknown(t.files, t.dir, name)
	t.problems = append(t.problems, unknownFile(name))
}

// appendUnknown adds a file that is not read to those a directory is known by,
// so that its coming or going is a change. A folder, a link or a file that
// cannot be read has no content to be known by.
func appendUnknown(files []file, dir, name string) []file {
	info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil || !info.Mode().IsRegular() {
		return files
	}
	if f, err := hashFile(dir, name, "unknown"); err == nil {
		files = append(files, f)
	}
	return files
}

// add notes a problem of this attempt.
func (f *folder) add(p Problem) {
	p.Arm, p.Cell, p.Attempt = f.arm, f.cell, &f.attempt
	f.problems = append(f.problems, p)
}

func unknownFile(name string) Problem {
	return Problem{Code: CodeUnknownFile, Source: name, Detail: "no file of a run directory has this name; it is not read"}
}

func describedBy(table string) record.Described {
	for _, d := range record.AllTables {
		if d.TableName() == table {
			return d
		}
	}
	return nil
}

func hashFile(dir, name, kind string) (file, error) {
	in, err := os.Open(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		return file{}, fmt.Errorf("open %s: %w", name, err)
	}
	defer in.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, in)
	if err != nil {
		return file{}, fmt.Errorf("read %s: %w", name, err)
	}
	return file{path: name, kind: kind, bytes: n, sha256: hex.EncodeToString(sum.Sum(nil))}, nil
}
