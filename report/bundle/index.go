package bundle

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The files of a findings folder that belong to no finding.
const (
	IndexName      = "README.md"
	AttributesName = ".gitattributes"
	SignersName    = "allowed_signers"
)

// attributesLine keeps git from changing line ends, which would change digests.
const attributesLine = "** -text"

// Row is one finding in the index. Texts are plain, not Markdown.
type Row struct {
	ID             string
	Folder         string
	Kind           Kind
	Title          string // the narrative's first heading
	Scope          string // the narrative's Scope line, or empty
	ManifestSHA256 string
	Supersedes     string // ID, or empty
	SupersededBy   []string
}

// Index reads manifest and narrative of every finding in findingsDir and returns
// them newest first (by ID, downwards). A bundle that cannot be read or has no
// narrative is an error: an index that leaves it out would hide it.
func Index(findingsDir string) ([]Row, error) { return index(OS{}, findingsDir) }

// WriteIndex writes the generated files of a findings folder: README.md with one
// row a finding, .gitattributes, and an empty allowed_signers where there is
// none. The same findings give the same bytes. Files that are already right are
// left alone.
func WriteIndex(findingsDir string) error { return WriteIndexFS(OS{}, findingsDir) }

// WriteIndexFS is WriteIndex on a given file system.
func WriteIndexFS(fsys FS, findingsDir string) error {
	rows, err := index(fsys, findingsDir)
	if err != nil {
		return err
	}
	attributes, err := attributesFile(fsys, filepath.Join(findingsDir, AttributesName))
	if err != nil {
		return fmt.Errorf("write index: %w", err)
	}
	files := []struct {
		name string
		data []byte
	}{{AttributesName, attributes}, {SignersName, nil}, {IndexName, RenderIndex(rows)}}
	for _, f := range files {
		if err := writeChanged(fsys, filepath.Join(findingsDir, f.name), f.data); err != nil {
			return fmt.Errorf("write index: %w", err)
		}
	}
	if err := syncDir(fsys, findingsDir); err != nil {
		return fmt.Errorf("write index: %w", err)
	}
	return nil
}

// attributesFile returns what .gitattributes should hold: what is there, with
// our line last where it is missing.
func attributesFile(fsys FS, name string) ([]byte, error) {
	old, err := readFile(fsys, name, MaxFileBytes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if slices.Contains(strings.Split(string(old), "\n"), attributesLine) {
		return old, nil
	}
	if len(old) > 0 && !bytes.HasSuffix(old, []byte("\n")) {
		old = append(old, '\n')
	}
	return append(old, attributesLine+"\n"...), nil
}

// writeChanged writes data unless the file holds it already. Nil data means
// that any existing file is right.
func writeChanged(fsys FS, name string, data []byte) error {
	old, err := readFile(fsys, name, maxManifestBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("%s: %w", filepath.Base(name), err)
	case data == nil || bytes.Equal(old, data):
		return nil
	}
	return writeFile(fsys, name, data)
}

func index(fsys FS, findingsDir string) ([]Row, error) {
	d, err := fsys.Open(findingsDir)
	if err != nil {
		return nil, fmt.Errorf("index findings: %w", err)
	}
	entries, err := d.ReadDir(-1)
	if err = errors.Join(err, d.Close()); err != nil {
		return nil, fmt.Errorf("index findings: %w", err)
	}
	var rows []Row
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		row, err := readRow(fsys, findingsDir, e.Name())
		if errors.Is(err, errNoBundle) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("index findings: %s: %w; see assay verify on that folder", e.Name(), err)
		}
		rows = append(rows, row)
	}
	linkRows(rows)
	return rows, nil
}

// errNoBundle says that a folder has no manifest and is none of ours.
var errNoBundle = errors.New("no manifest")

func readRow(fsys FS, findingsDir, folder string) (Row, error) {
	data, err := readFile(fsys, filepath.Join(findingsDir, folder, ManifestName), maxManifestBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return Row{}, errNoBundle
	}
	if err != nil {
		return Row{}, err
	}
	m, err := Decode(data)
	if err != nil {
		return Row{}, err
	}
	if why := segmentProblem(folder); why != "" {
		return Row{}, errors.New(why)
	}
	for _, s := range m.Subject {
		if _, ok := inFolder(folder, s.Name); !ok && s.Region == "" {
			return Row{}, errors.New("its manifest is that of another folder")
		}
	}
	f := m.Predicate.Finding
	narrative, err := readFile(fsys, filepath.Join(findingsDir, NarrativeName(f.ID)), MaxFileBytes)
	if err != nil {
		return Row{}, fmt.Errorf("narrative: %w", err)
	}
	return Row{
		ID: f.ID, Folder: folder, Kind: f.Kind, Supersedes: f.Supersedes,
		Title:          cmp.Or(firstMatch(titleForm, narrative), f.ID),
		Scope:          firstMatch(scopeForm, narrative),
		ManifestSHA256: digestOf(data),
	}, nil
}

var (
	titleForm  = regexp.MustCompile(`(?m)^# +(.+?) *$`)
	scopeForm  = regexp.MustCompile(`(?m)^(?:[-*] +)?\**Scope:?\**:? +(.+?) *$`)
	escapeForm = regexp.MustCompile("\\\\([!-/:-@\\[-`{-~])")
	activeForm = regexp.MustCompile("[\\\\`*_\\[\\]<>|!&#~]")
)

// firstMatch returns the first group as plain text: Markdown escapes undone.
func firstMatch(form *regexp.Regexp, narrative []byte) string {
	match := form.FindSubmatch(narrative)
	if match == nil {
		return ""
	}
	return escapeForm.ReplaceAllString(string(match[1]), "$1")
}

// linkRows sorts rows newest first and fills SupersededBy.
func linkRows(rows []Row) {
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(strings.Compare(b.ID, a.ID), strings.Compare(a.Folder, b.Folder))
	})
	for i := range rows {
		for _, later := range rows {
			if later.Supersedes == rows[i].ID {
				rows[i].SupersededBy = append(rows[i].SupersededBy, later.ID)
			}
		}
	}
}

// RenderIndex renders README.md of a findings folder. Each row's manifest link
// carries the manifest's digest as its title.
func RenderIndex(rows []Row) []byte {
	var b bytes.Buffer
	b.WriteString("# Findings\n\nGenerated, newest first. `assay verify FOLDER` checks a bundle.\n\n")
	if len(rows) == 0 {
		b.WriteString("None yet.\n")
		return b.Bytes()
	}
	b.WriteString("| Date | Finding | Subject |\n| --- | --- | --- |\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | [%s](%s) | %s |\n", r.ID[:10], literal(r.Title), NarrativeName(r.ID), r.subject())
	}
	return b.Bytes()
}

func (r Row) subject() string {
	parts := []string{string(r.Kind)}
	if r.Scope != "" {
		parts = append(parts, literal(strings.ReplaceAll(r.Scope, "`", ""))) // a cell of code in a list of findings only distracts
	}
	if r.Supersedes != "" {
		parts = append(parts, fmt.Sprintf("supersedes [%s](%s)", r.Supersedes, NarrativeName(r.Supersedes)))
	}
	for _, id := range r.SupersededBy {
		parts = append(parts, fmt.Sprintf("superseded by [%s](%s)", id, NarrativeName(id)))
	}
	parts = append(parts, fmt.Sprintf("[manifest](%s \"sha256:%s\")", SubjectName(r.Folder, ManifestName), r.ManifestSHA256))
	return strings.Join(parts, " · ")
}

// literal makes plain text inert in a Markdown table cell.
func literal(s string) string { return activeForm.ReplaceAllString(s, `\$0`) }
