package bundle

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// FS is every file operation sealing, indexing and loading use. OS is the real
// one; a test wraps it to make any single operation fail.
type FS interface {
	// Lstat does not follow a symbolic link.
	Lstat(name string) (fs.FileInfo, error)
	// Open opens a file or folder for reading.
	Open(name string) (File, error)
	// Create opens a file for writing, emptied if it exists.
	Create(name string) (File, error)
	Mkdir(name string) error
	// MkdirTemp is os.MkdirTemp.
	MkdirTemp(dir, pattern string) (string, error)
	// Rename replaces an existing file.
	Rename(from, to string) error
	Remove(name string) error
	RemoveAll(name string) error
}

// File is the part of *os.File that is used.
type File interface {
	io.ReadWriteCloser
	Stat() (fs.FileInfo, error)
	ReadDir(n int) ([]fs.DirEntry, error)
	Sync() error
}

// OS is the operating system's file system.
type OS struct{}

// Names below the findings folder that are unfinished work. No published name
// starts with a dot, so nothing with these prefixes is a finding.
const (
	tempPrefix  = ".assay-tmp-"
	stagePrefix = ".assay-seal-"
)

var _ FS = OS{}

// Lstat implements FS.
func (OS) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(name) }

// Open implements FS.
func (OS) Open(name string) (File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err // not f: a nil *os.File in a File is not nil
	}
	return f, nil
}

// Create implements FS; files are created with mode 0644.
func (OS) Create(name string) (File, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Mkdir implements FS; folders are created with mode 0755.
func (OS) Mkdir(name string) error { return os.Mkdir(name, 0o755) }

// MkdirTemp implements FS.
func (OS) MkdirTemp(dir, pattern string) (string, error) { return os.MkdirTemp(dir, pattern) }

// Rename implements FS.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements FS.
func (OS) Remove(name string) error { return os.Remove(name) }

// RemoveAll implements FS.
func (OS) RemoveAll(name string) error { return os.RemoveAll(name) }

// exists reports whether anything is at name.
func exists(fsys FS, name string) (bool, error) {
	_, err := fsys.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// syncDir makes the names in a folder durable.
func syncDir(fsys FS, name string) (err error) {
	d, err := fsys.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return d.Sync()
}

// writeFile puts data at name: temporary name in the same folder, write, fsync,
// length check, rename. After an error name is as it was before; the temporary
// file may be left, and the next try overwrites it.
func writeFile(fsys FS, name string, data []byte) error {
	temp := filepath.Join(filepath.Dir(name), tempPrefix+filepath.Base(name))
	if err := writeTemp(fsys, temp, data); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(name), err)
	}
	return fsys.Rename(temp, name)
}

func writeTemp(fsys FS, temp string, data []byte) (err error) {
	f, err := fsys.Create(temp)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	n, err := f.Write(data)
	if err != nil {
		return err
	}
	if n != len(data) {
		return io.ErrShortWrite
	}
	if err := f.Sync(); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() != int64(len(data)) {
		return fmt.Errorf("%d bytes on disk instead of %d", info.Size(), len(data))
	}
	return nil
}

// readFile reads the regular file at name, at most limit bytes of it. It opens
// no link, pipe or device, and notices a file put in the place of the one seen.
func readFile(fsys FS, name string, limit int64) ([]byte, error) {
	f, size, err := openRegular(fsys, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > limit {
		return nil, fmt.Errorf("%d bytes, more than the %d that are read", size, limit)
	}
	data := make([]byte, 0, size+1)
	for {
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if int64(len(data)) > size {
			return nil, errors.New("grew while it was read")
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if int64(len(data)) != size {
		return nil, io.ErrUnexpectedEOF
	}
	return data, nil
}

func openRegular(fsys FS, name string) (File, int64, error) {
	before, err := fsys.Lstat(name)
	if err != nil {
		return nil, 0, err
	}
	if !before.Mode().IsRegular() {
		return nil, 0, errors.New("not a regular file")
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, 0, err
	}
	after, err := f.Stat()
	if err == nil && !os.SameFile(before, after) {
		err = errors.New("replaced while it was opened")
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, after.Size(), nil
}
