package sanitize

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"assay/collect/private"
)

// file scans the decoded texts of one file. The kind is said by its name; a kind
// that is not known, or a file that is not of its kind, is not published.
func (s *scanner) file(name string, data []byte) {
	var err error
	switch kind := path.Ext(name); {
	case kind == ".parquet":
		err = s.table(name, data)
	case !utf8.Valid(data):
		err = errUnreadable
	case kind == ".json":
		err = s.json(name, data)
	case kind == ".csv":
		err = s.csv(name, data)
	case kind == ".svg":
		err = s.svg(name, data)
	case kind == ".md":
		s.text(name, "", markdownEscape.ReplaceAllString(string(data), "$1"))
	case kind == ".sql", kind == ".txt", path.Base(name) == "SHA256SUMS":
		s.text(name, "", string(data))
	default:
		s.add(name, Unknown)
	}
	switch {
	case errors.Is(err, errHidden):
		s.add(name, Hidden)
	case err != nil && s.rules.Published && utf8.Valid(data):
		s.text(name, "", string(data))
	case err != nil:
		s.add(name, Unreadable)
	}
}

// markdownEscape is a backslash that a reader of the page does not see
// (CommonMark 0.31, 2.4). One before another stays: it may begin a network path.
var markdownEscape = regexp.MustCompile(`\\([!-/:-@\[\]-\x60{-~])`)

var (
	errUnreadable = errors.New("not readable as what its name says")
	errHidden     = errors.New("holds bytes that belong to no page and no footer")
)

// json scans every key and every string, under the nearest key above it.
func (s *scanner) json(name string, data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	v, err := tree(dec)
	if err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errUnreadable
	}
	private.Walk(v, "", func(key, text string) { s.text(name, key, text) })
	return nil
}

// tree reads one JSON value. A key that stands twice is an error: a reader sees
// one of the two values, and a scan might see the other.
func tree(dec *json.Decoder) (any, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			item, err := tree(dec)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		_, err = dec.Token()
		return list, err
	case json.Delim('{'):
		object := map[string]any{}
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return nil, err
			}
			name, _ := key.(string)
			if _, twice := object[name]; twice {
				return nil, errUnreadable
			}
			if object[name], err = tree(dec); err != nil {
				return nil, err
			}
		}
		_, err = dec.Token()
		return object, err
	}
	return token, nil
}

// csv scans every cell under the name of its column.
func (s *scanner) csv(name string, data []byte) error {
	rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil || len(rows) == 0 {
		return errors.Join(err, errUnreadable)
	}
	columns := make([]Column, len(rows[0]))
	for i, head := range rows[0] {
		columns[i].Name = head
		for _, row := range rows[1:] {
			columns[i].Texts = append(columns[i].Texts, row[i])
		}
	}
	s.columns(name, columns)
	return nil
}

// columns scans each text of a table once under the name of its column. The
// value of a fact stands under the fact's name.
func (s *scanner) columns(name string, columns []Column) {
	var facts []string
	for _, c := range columns {
		if c.Name == "fact" {
			facts = c.Texts
		}
	}
	for _, c := range columns {
		s.text(name, "", c.Name)
		for _, text := range c.Extremes {
			if !slices.Contains(c.Texts, text) {
				s.text(name+":"+c.Name, c.Name, text)
			}
		}
		seen := map[[2]string]bool{}
		for i, text := range c.Texts {
			at := [2]string{c.Name, text}
			if c.Name == "value" && i < len(facts) {
				at[0] = facts[i]
			}
			if text != "" && !seen[at] {
				seen[at] = true
				s.text(name+":"+c.Name, at[0], text)
			}
		}
	}
}

// svg scans the text between tags, every attribute, and what a viewer does not
// show: comments, directives, instructions.
func (s *scanner) svg(name string, data []byte) error {
	dec := xml.NewDecoder(bytes.NewReader(data))
	var shown strings.Builder // one sentence may stand in several elements
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			s.text(name, "", shown.String())
			return nil
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.CharData:
			shown.Write(t)
			s.text(name, "", string(t))
		case xml.Comment:
			s.text(name, "", string(t))
		case xml.Directive:
			s.text(name, "", string(t))
		case xml.ProcInst:
			s.text(name, "", string(t.Inst))
		case xml.StartElement:
			s.text(name, "", t.Name.Local)
			for _, a := range t.Attr {
				s.text(name, "", a.Value)
				s.text(name, "", a.Name.Local)
			}
		}
	}
}

// table scans a data file: what it says about itself and every text column.
func (s *scanner) table(name string, data []byte) error {
	read := s.rules.Tables
	if read == nil {
		read = ReadTable
	}
	t, err := read(data)
	if err != nil {
		return err
	}
	for _, note := range t.Notes {
		s.text(name, note.Name, strings.Join(note.Texts, "\n"))
		s.text(name, "", note.Name)
	}
	s.columns(name, t.Columns)
	return nil
}
