package artifact

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
	"strings"
	"unicode/utf8"
)

// MaxBytes bounds the size of a file that is read, in bytes. The largest
// result file known has 40 MB.
const MaxBytes = 256 << 20

// found is one file of a source, or what stands in its place.
type found struct {
	name    string // path below the source, with slashes, valid UTF-8
	disk    string
	bytes   int64
	problem *Problem // the file is not read
}

// scan lists the files at or below a path in order of name. It follows no link
// and goes into no run directory. An error means that the source itself is not
// there.
func scan(source string, isRun func(dir string) bool) ([]found, error) {
	info, err := os.Stat(source) // the source itself may be a link: the user named it
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("source %s does not exist\nname a run directory, a result file, or a folder of them", filepath.Base(source))
	}
	if err != nil || !info.IsDir() {
		return []found{single(source, info)}, nil
	}
	var files []found
	walk(&files, source, "", isRun)
	return files, nil
}

func single(source string, info fs.FileInfo) found {
	f := found{name: clean(filepath.Base(source)), disk: source}
	if info == nil {
		f.refuse(CodeUnreadable, "the file cannot be read")
		return f
	}
	f.look(info)
	return f
}

// walk reports a folder that cannot be listed as a problem and goes on.
func walk(files *[]found, dir, below string, isRun func(string) bool) {
	entries, err := os.ReadDir(dir) // in order of name
	if err != nil {
		f := found{name: clean(path.Join(below, "."))}
		f.refuse(CodeUnreadable, "the folder cannot be listed")
		*files = append(*files, f)
	}
	for _, e := range entries {
		f := found{name: clean(path.Join(below, e.Name())), disk: filepath.Join(dir, e.Name())}
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			f.refuse(CodeLink, "a symbolic link; it is not followed")
		case e.IsDir() && isRun(f.disk):
			if below == "" {
				continue // right below the source: the caller loads it
			}
			f.refuse(CodeRunInside, "a run directory; name it, or the folder it is in, as a source to load it")
		case e.IsDir():
			walk(files, f.disk, path.Join(below, e.Name()), isRun)
			continue
		default:
			info, err := e.Info()
			if err != nil {
				f.refuse(CodeUnreadable, "the file cannot be read")
			} else {
				f.look(info)
			}
		}
		*files = append(*files, f)
	}
}

// clean makes a name fit for the database.
func clean(name string) string {
	if !utf8.ValidString(name) {
		name = strings.ToValidUTF8(name, "\uFFFD")
	}
	return name
}

func (f *found) refuse(code Code, detail string) {
	f.problem = &Problem{Code: code, Source: f.name, Detail: detail}
}

func (f *found) look(info fs.FileInfo) {
	f.bytes = info.Size()
	switch {
	case !info.Mode().IsRegular():
		f.refuse(CodeNotRegular, "neither a file nor a folder; it is not read")
	case f.bytes > MaxBytes:
		f.refuse(CodeTooLarge, fmt.Sprintf("%d bytes; files above %d bytes are not read", f.bytes, MaxBytes))
	}
}

// open reads a file whole and gives its digest. A file that grew past MaxBytes
// meanwhile is not read to its end.
func (f *found) open() (data []byte, sum string, wrong *Problem) {
	in, err := os.Open(f.disk)
	if err != nil {
		f.refuse(CodeUnreadable, "the file cannot be read")
		return nil, "", f.problem
	}
	defer in.Close()
	data = make([]byte, 0, f.bytes+1) // the last byte finds the end without growing
	for {
		n, err := in.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			d := sha256.Sum256(data)
			return data, hex.EncodeToString(d[:]), nil
		}
		if err != nil || len(data) == cap(data) {
			f.refuse(CodeUnreadable, "the file cannot be read, or it grew while it was read")
			return nil, "", f.problem
		}
	}
}
