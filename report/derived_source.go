package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"assay/report/bundle"
)

// sourceContent is what facts are read from.
type sourceContent struct {
	document any                    // of an artifact, decoded
	claims   map[string]claimRecord // of a bundle
}

// source records one source, and reads its file where there is one.
func (d *deriver) source(i int, s specSource, name string) error {
	pointer := fmt.Sprintf("/sources/%d", i)
	out := derivedSource{Source: s.ID, Kind: s.Kind, Name: s.Name, Reason: s.Reason}
	if name != "" {
		sum, size, content, err := readSource(s.Kind, name)
		if err != nil {
			return fmt.Errorf("read source %s: %w", s.ID, err)
		}
		if s.SHA256 != "" && s.SHA256 != sum || s.Bytes != 0 && s.Bytes != size {
			d.bad("digest_differs", pointer, fmt.Sprintf("the file of source %s has another digest or size than the spec says", s.ID))
		}
		s.SHA256, s.Bytes = sum, size
		if d.contents == nil {
			d.contents = map[string]sourceContent{}
		}
		d.contents[s.ID] = content
	}
	if s.SHA256 != "" {
		out.Retrieved, out.SHA256, out.Bytes = true, &s.SHA256, &s.Bytes
	}
	switch {
	case out.Retrieved && s.Reason != "":
		d.bad("bad_source", pointer, "a source that was retrieved needs no reason why not")
	case !out.Retrieved && strings.TrimSpace(s.Reason) == "":
		d.bad("bad_source", pointer, "give its file, or its sha256 and bytes, or the reason why it was not retrieved")
	}
	d.sources = append(d.sources, out)
	return nil
}

// readSource reads a file or a bundle's folder. The digest and size of a bundle
// are those of its manifest, and a bundle that fails its structural checks is an
// error.
func readSource(kind, name string) (sum string, size int64, content sourceContent, err error) {
	if kind == "bundle" {
		return readBundleSource(name)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return "", 0, content, withoutName(err)
	}
	digest := sha256.Sum256(data)
	if kind == "artifact" {
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		if err := dec.Decode(&content.document); err != nil {
			return "", 0, content, errors.New("the artifact is no JSON document")
		}
	}
	return hex.EncodeToString(digest[:]), int64(len(data)), content, nil
}

// withoutName drops the path from a file error: it is the operator's own.
func withoutName(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func readBundleSource(folder string) (sum string, size int64, content sourceContent, err error) {
	l, err := bundle.Load(filepath.Clean(folder))
	if err != nil {
		return "", 0, content, err
	}
	if l.Manifest != nil && l.Manifest.Predicate.Finding.Kind == bundle.KindSimulated {
		return "", 0, content, errors.New("the bundle is of a simulated finding, whose numbers cannot be published as anything else")
	}
	if result := bundle.Verify(l, bundle.Options{}); !result.OK() {
		return "", 0, content, fmt.Errorf("the bundle fails %d of its structural checks; see assay verify", len(result.Problems))
	}
	var file struct {
		Claims []claimRecord `json:"claims"`
	}
	if e := l.Files[bundle.SubjectName(l.Folder, "claims.json")]; e == nil || json.Unmarshal(e.Data, &file) != nil {
		return "", 0, content, errors.New("the bundle has no readable claims.json")
	}
	content.claims = map[string]claimRecord{}
	for _, c := range file.Claims {
		content.claims[c.ID] = c
	}
	digest := sha256.Sum256(l.ManifestBytes)
	return hex.EncodeToString(digest[:]), int64(len(l.ManifestBytes)), content, nil
}

// follow returns the text or number at a JSON pointer (RFC 6901).
func follow(document any, pointer string) (string, bool) {
	at := document
	for _, token := range strings.Split(pointer, "/")[1:] {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch node := at.(type) {
		case map[string]any:
			at = node[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(node) {
				return "", false
			}
			at = node[i]
		default:
			return "", false
		}
	}
	switch at := at.(type) {
	case string:
		return at, true
	case json.Number:
		return at.String(), true
	}
	return "", false
}
