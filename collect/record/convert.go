package record

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// ErrSchema is returned for a spool of another schema version.
var ErrSchema = errors.New("spool was written by another schema version")

// Convert turns an attempt's spool into its Parquet files and removes the
// spool. Every table gets a file, also when it has no row. Bytes of the spool
// that formed no frame are returned and added to the problems table, so a
// recovered attempt says what it lost. Requests are sorted by index; the other
// tables keep the order in which their rows came.
func Convert(folder string, meta map[string]string) ([]Damage, error) {
	spool := filepath.Join(folder, SpoolName)
	sink := newSink(folder, meta)
	damage, err := ReadSpool(spool, sink.take)
	if err == nil {
		err = sink.finish(damage)
	}
	if err != nil {
		sink.abandon()
		return damage, err
	}
	if err := os.Remove(spool); err != nil {
		return damage, fmt.Errorf("remove spool: %w", err)
	}
	return damage, SyncFolder(folder)
}

// sink spreads the frames of a spool over one Parquet file per table.
type sink struct {
	versioned bool
	requests  []Request
	problems  []Problem
	writeReq  func([]Request) error
	writeProb func([]Problem) error
	decoders  map[byte]func([]byte) error
	files     []*tableFile
	err       error
}

type tableFile struct {
	path  string
	file  *os.File
	close func() error
}

func newSink(folder string, meta map[string]string) *sink {
	s := &sink{decoders: map[byte]func([]byte) error{}}
	s.writeReq = openTable(s, folder, Requests, meta)
	s.writeProb = openTable(s, folder, Problems, meta)
	// Requests and problems are few; they are held back to be sorted or added to.
	s.decoders[Requests.frame] = holdBack(Requests, &s.requests)
	s.decoders[Problems.frame] = holdBack(Problems, &s.problems)
	passOn(s, Events, openTable(s, folder, Events, meta))
	passOn(s, Pages, openTable(s, folder, Pages, meta))
	passOn(s, Answers, openTable(s, folder, Answers, meta))
	passOn(s, GPU, openTable(s, folder, GPU, meta))
	passOn(s, Cgroup, openTable(s, folder, Cgroup, meta))
	passOn(s, Host, openTable(s, folder, Host, meta))
	return s
}

func openTable[T any](s *sink, folder string, t *Table[T], meta map[string]string) func([]T) error {
	if s.err != nil {
		return nil
	}
	path := filepath.Join(folder, t.Name+".parquet")
	f, err := os.OpenFile(path+".tmp", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		s.err = fmt.Errorf("create %s: %w", t.Name, err)
		return nil
	}
	// pqarrow closes a writer that can be closed; the file must stay open for fsync.
	w, err := NewWriter(struct{ io.Writer }{f}, t, meta)
	if err != nil {
		s.err = errors.Join(err, f.Close())
		return nil
	}
	s.files = append(s.files, &tableFile{path: path, file: f, close: w.Close})
	return w.Write
}

func holdBack[T any](t *Table[T], into *[]T) func([]byte) error {
	return func(payload []byte) error {
		rows, err := decodeRows(t, payload)
		*into = append(*into, rows...)
		return err
	}
}

func passOn[T any](s *sink, t *Table[T], write func([]T) error) {
	s.decoders[t.frame] = func(payload []byte) error {
		rows, err := decodeRows(t, payload)
		if err != nil {
			return err
		}
		return write(rows)
	}
}

func (s *sink) take(f Frame) error {
	if s.err != nil {
		return s.err
	}
	if f.kind == frameSchema {
		if string(f.payload) != SchemaVersion {
			return fmt.Errorf("%w: %q, want %q", ErrSchema, f.payload, SchemaVersion)
		}
		s.versioned = true
		return nil
	}
	decode, known := s.decoders[f.kind]
	if !known {
		return fmt.Errorf("%w: frame kind %d", ErrSchema, f.kind)
	}
	return decode(f.payload)
}

func (s *sink) finish(damage []Damage) error {
	if s.err != nil {
		return s.err
	}
	for _, d := range damage {
		s.problems = append(s.problems, Problem{
			Code: "spool_" + d.Reason, Source: "spool", Position: fmt.Sprintf("byte %d", d.Offset),
			Detail: fmt.Sprintf("%d bytes belong to no whole frame and were left out", d.Bytes),
		})
	}
	slices.SortStableFunc(s.requests, func(a, b Request) int { return cmp.Compare(a.Index, b.Index) })
	if err := errors.Join(s.writeReq(s.requests), s.writeProb(s.problems)); err != nil {
		return err
	}
	for _, f := range s.files {
		if err := errors.Join(f.close(), f.file.Sync(), f.file.Close()); err != nil {
			return fmt.Errorf("finish %s: %w", filepath.Base(f.path), err)
		}
	}
	// The files appear together only after all of them are whole on disk.
	for _, f := range s.files {
		if err := os.Rename(f.path+".tmp", f.path); err != nil {
			return fmt.Errorf("put %s in place: %w", filepath.Base(f.path), err)
		}
	}
	return nil
}

// abandon removes what was begun; the spool is still there to be tried again.
func (s *sink) abandon() {
	for _, f := range s.files {
		_ = f.file.Close()
		_ = os.Remove(f.path + ".tmp")
	}
}
