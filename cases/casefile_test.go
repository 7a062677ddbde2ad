package cases

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"assay/collect/plan"
	"assay/ingest/ingesttest"
)

// caseFile is one file of testdata/cases. Its form is told in the README there.
type caseFile struct {
	name  string // such as A01
	cells []*caseCell
}

// caseCell is a cell of the test plan. Each of its streams is one request, or
// as many as its copies.
type caseCell struct {
	id      string
	spec    ingesttest.CellSpec
	streams []*caseStream
	want    []expectation
}

// caseStream is one answer as it comes over the connection.
type caseStream struct {
	name   string
	cell   *caseCell
	index  int64 // of its first request
	copies int64
	script string
	want   []expectation
}

// expectation is one line "key = value".
type expectation struct{ key, value string }

// id names the stream in messages.
func (s *caseStream) id() string { return s.cell.id + "/" + s.name }

// loadCases reads testdata/cases in the order of the names.
func loadCases(t *testing.T) []*caseFile {
	t.Helper()
	paths, err := filepath.Glob("testdata/cases/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no case files: %v", err)
	}
	var files []*caseFile
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f := &caseFile{name: strings.TrimSuffix(filepath.Base(path), ".txtar")}
		for _, section := range archive.Files {
			if err := f.add(section.Name, string(section.Data)); err != nil {
				t.Fatalf("%s: section %s: %v", path, section.Name, err)
			}
		}
		if strings.TrimSpace(string(archive.Comment)) == "" {
			t.Errorf("%s does not say what the case is", path)
		}
		files = append(files, f)
	}
	return files
}

// add takes one section: cell, stream or want, and a name.
func (f *caseFile) add(title, body string) error {
	kind, name, _ := strings.Cut(title, " ")
	switch kind {
	case "cell":
		c := f.newCell(f.name + "-" + name)
		return c.settings(body)
	case "stream":
		if len(f.cells) == 0 {
			f.newCell(f.name)
		}
		c := f.cells[len(f.cells)-1]
		s := &caseStream{name: name, cell: c, index: c.spec.Requests, copies: 1}
		s.takeCopies(body)
		c.spec.Requests += s.copies
		c.streams = append(c.streams, s)
		return nil
	case "want":
		s := f.stream(name)
		if s == nil || s.want != nil {
			return fmt.Errorf("no stream %s waits for it", name)
		}
		var err error
		s.want, err = expectations(body)
		return err
	}
	return fmt.Errorf("unknown kind")
}

func (f *caseFile) newCell(id string) *caseCell {
	c := &caseCell{id: id, spec: ingesttest.CellSpec{ID: id, Arm: "arm"}}
	f.cells = append(f.cells, c)
	return c
}

func (f *caseFile) stream(name string) *caseStream {
	for _, c := range f.cells {
		for _, s := range c.streams {
			if s.name == name {
				return s
			}
		}
	}
	return nil
}

// settings reads the lines of a cell: "name value" sets, "key = value" expects.
func (c *caseCell) settings(body string) error {
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		if line == "" || strings.Contains(line, " = ") {
			continue
		}
		name, value, _ := strings.Cut(line, " ")
		n, err := strconv.ParseInt(value, 10, 64)
		switch {
		case name == "canaries" && value == "off":
			c.spec.NoCanaries = true
		case name == "words" && err == nil:
			c.spec.ResponseWords = n
		case name == "concurrency" && err == nil:
			c.spec.Concurrency = n
		default:
			return fmt.Errorf("unknown setting %q", line)
		}
	}
	var err error
	c.want, err = expectations(body)
	return err
}

// takeCopies takes the line "copies N" out of a script.
func (s *caseStream) takeCopies(body string) {
	for line := range strings.Lines(body) {
		if n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimPrefix(line, "copies ")), 10, 64); err == nil && strings.HasPrefix(line, "copies ") {
			s.copies = n
			continue
		}
		s.script += line
	}
}

// expectations reads the lines with " = ".
func expectations(body string) ([]expectation, error) {
	var all []expectation
	for line := range strings.Lines(body) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), " = ")
		if !ok {
			continue
		}
		if slices.ContainsFunc(all, func(e expectation) bool { return e.key == key }) {
			return nil, fmt.Errorf("%s is expected twice", key)
		}
		all = append(all, expectation{key: key, value: value})
	}
	return all, nil
}

// wireRead is what one read of the connection brings.
type wireRead struct {
	at   time.Duration // after t0
	data []byte
}

// wire is a script made into bytes.
type wire struct {
	reads []wireRead
	end   string        // close, cut, reset or hold
	endAt time.Duration // when
}

// bytes is the whole answer.
func (w *wire) bytes() []byte {
	var all []byte
	for _, r := range w.reads {
		all = append(all, r.data...)
	}
	return all
}

// wireOf makes the bytes of a request's answer, with the markers of its cell.
func wireOf(s *caseStream, c plan.Cell, index int64) (*wire, error) {
	text, err := template.New("stream").Funcs(template.FuncMap{
		"own":    func() string { return ingesttest.Marker(c, index) },
		"marker": func(i int64) string { return ingesttest.Marker(c, i) },
		"repeat": func(n int, text string) string { return strings.Repeat(text, n) },
	}).Parse(s.script)
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", s.id(), err)
	}
	var script strings.Builder
	if err := text.Execute(&script, nil); err != nil {
		return nil, fmt.Errorf("stream %s: %w", s.id(), err)
	}
	b := &wireBuilder{eol: "\n"}
	for line := range strings.Lines(script.String()) {
		if err := b.line(strings.TrimSuffix(line, "\n")); err != nil {
			return nil, fmt.Errorf("stream %s: %.80q: %w", s.id(), line, err)
		}
	}
	return b.finish(), nil
}

// caseOf is the path of a case file that is there.
func caseOf(id string) (string, bool) {
	path := filepath.Join("testdata/cases", id+".txtar")
	_, err := os.Stat(path)
	return path, err == nil
}
