package bundle

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

var errFault = errors.New("injected fault")

// how an operation goes wrong.
type how int

const (
	failBefore how = iota // it does nothing and reports an error
	failAfter             // it does its work and reports an error all the same
	cutShort              // it does part of its work and reports success where it can
	killed                // it does its work, and nothing after it does any
)

var hows = map[how]string{failBefore: "fails", failAfter: "fails late", cutShort: "is cut short", killed: "is the last before a kill"}

// faultFS is an FS in which chosen operations go wrong. Syncs are not passed on,
// so that a sweep is quick.
type faultFS struct {
	FS
	fails func(op string) bool
	how   how
	dead  bool
	ops   []string
}

// step counts an operation and says what becomes of it: whether to do it, and
// the error to report.
func (f *faultFS) step(kind, name string) (do bool, err error) {
	op := kind + " " + filepath.Base(name)
	f.ops = append(f.ops, op)
	if f.dead {
		return false, errFault
	}
	if f.fails == nil || !f.fails(op) {
		return true, nil
	}
	switch f.how {
	case failAfter:
		return true, errFault
	case killed:
		f.dead = true
		return true, nil
	}
	return false, errFault
}

// short reports whether the operation just counted is to be cut short.
func (f *faultFS) short(err error) bool { return err != nil && !f.dead && f.how == cutShort }

func (f *faultFS) do(kind, name string, work func() error) error {
	do, err := f.step(kind, name)
	if do {
		if workErr := work(); workErr != nil {
			return workErr
		}
	}
	return err
}

func (f *faultFS) Lstat(name string) (info fs.FileInfo, err error) {
	if _, err := f.step("lstat", name); err != nil {
		return nil, err
	}
	return f.FS.Lstat(name)
}

func (f *faultFS) Open(name string) (File, error) {
	if _, err := f.step("open", name); err != nil {
		return nil, err
	}
	file, err := f.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return &faultFile{File: file, fsys: f, name: name}, nil
}

func (f *faultFS) Create(name string) (File, error) {
	do, stepErr := f.step("create", name)
	if !do {
		return nil, stepErr
	}
	file, err := f.FS.Create(name)
	if err != nil {
		return nil, err
	}
	if stepErr != nil {
		return nil, errors.Join(stepErr, file.Close())
	}
	return &faultFile{File: file, fsys: f, name: name}, nil
}

func (f *faultFS) Mkdir(name string) error {
	return f.do("mkdir", name, func() error { return f.FS.Mkdir(name) })
}

func (f *faultFS) MkdirTemp(dir, pattern string) (name string, err error) {
	err = f.do("mkdirtemp", pattern, func() (err error) { name, err = f.FS.MkdirTemp(dir, pattern); return err })
	return name, err
}

func (f *faultFS) Rename(from, to string) error {
	return f.do("rename", to, func() error { return f.FS.Rename(from, to) })
}

func (f *faultFS) Remove(name string) error {
	return f.do("remove", name, func() error { return f.FS.Remove(name) })
}

func (f *faultFS) RemoveAll(name string) error {
	do, err := f.step("removeall", name)
	if f.short(err) {
		// The folders' files go and the folders stay.
		_ = filepath.WalkDir(name, func(p string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				_ = os.Remove(p)
			}
			return nil
		})
	}
	if do {
		return errors.Join(f.FS.RemoveAll(name), err)
	}
	return err
}

type faultFile struct {
	File
	fsys *faultFS
	name string
}

func (f *faultFile) Read(p []byte) (int, error) {
	_, err := f.fsys.step("read", f.name)
	if f.fsys.short(err) {
		n, _ := f.File.Read(p[:len(p)/2])
		return n, io.EOF
	}
	if err != nil {
		return 0, err
	}
	return f.File.Read(p)
}

func (f *faultFile) Write(p []byte) (int, error) {
	do, err := f.fsys.step("write", f.name)
	if f.fsys.short(err) {
		if _, err := f.File.Write(p[:len(p)/2]); err != nil {
			return 0, err
		}
		return len(p), nil // a lie that only the length check finds
	}
	if !do {
		return 0, err
	}
	n, workErr := f.File.Write(p)
	return n, errors.Join(workErr, err)
}

func (f *faultFile) ReadDir(n int) ([]fs.DirEntry, error) {
	if _, err := f.fsys.step("readdir", f.name); err != nil {
		return nil, err
	}
	return f.File.ReadDir(n)
}

func (f *faultFile) Stat() (fs.FileInfo, error) {
	if _, err := f.fsys.step("stat", f.name); err != nil {
		return nil, err
	}
	return f.File.Stat()
}

func (f *faultFile) Sync() error {
	_, err := f.fsys.step("sync", f.name)
	return err
}

func (f *faultFile) Close() error {
	_, err := f.fsys.step("close", f.name)
	return errors.Join(f.File.Close(), err)
}
