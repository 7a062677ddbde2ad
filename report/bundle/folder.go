package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Folders lists the bundle folders of a findings folder, sorted: every folder
// that has a control file or is called like a bundle. A bundle that lost its
// manifest is among them, so that it is not passed over. It is empty for a
// bundle folder itself.
func Folders(findingsDir string) ([]string, error) {
	entries, err := os.ReadDir(findingsDir)
	if err != nil {
		return nil, fmt.Errorf("list findings: %w", err)
	}
	if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == ManifestName || e.Name() == SumsName }) {
		return nil, nil
	}
	var out []string
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") || e.Type().IsRegular() {
			continue
		}
		called := strings.HasSuffix(name, FolderName(""))
		for _, control := range []string{ManifestName, SumsName} {
			_, err := os.Lstat(filepath.Join(findingsDir, name, control))
			called = called || err == nil
		}
		if called {
			out = append(out, name)
		}
	}
	return out, nil
}

// CheckFolder says what is wrong with a findings folder as a whole: an index that
// is not what its bundles come to, and narratives that have no bundle.
func CheckFolder(findingsDir string) ([]Problem, error) {
	var out []Problem
	rows, err := Index(findingsDir)
	if err != nil {
		out = append(out, Problem{"V-14", IndexName, withoutPath(err).Error()})
	} else {
		got, err := readFile(OS{}, filepath.Join(findingsDir, IndexName), maxManifestBytes)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			out = append(out, Problem{"V-14", IndexName, "missing; assay report writes it"})
		case err != nil:
			out = append(out, Problem{"V-14", IndexName, withoutPath(err).Error()})
		case !bytes.Equal(got, RenderIndex(rows)):
			out = append(out, Problem{"V-14", IndexName, "is not what the bundles of this folder come to; assay report writes it"})
		}
	}
	entries, err := os.ReadDir(findingsDir)
	if err != nil {
		return nil, fmt.Errorf("list findings: %w", err)
	}
	for _, e := range entries {
		id, isText := strings.CutSuffix(e.Name(), ".md")
		named := func(r Row) bool { return r.ID == id }
		if isText && CheckID(id) == nil && !slices.ContainsFunc(rows, named) {
			out = append(out, Problem{"V-14", e.Name(), "a narrative without a bundle"})
		}
	}
	return out, nil
}
