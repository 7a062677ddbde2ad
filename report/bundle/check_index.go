package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// indexRow is what a row of an index says about its finding. Texts of a finding
// stand in it escaped, so that none of them is taken for a link.
type indexRow struct {
	id           string
	manifests    []string // "FOLDER sha256" of each manifest it links
	supersedes   []string
	supersededBy []string
}

var (
	rowForm          = regexp.MustCompile(`^\| [0-9-]{10} \| .*\]\(([^()]+)\.md\) \| (.*) \|$`)
	manifestLinkForm = regexp.MustCompile(` · \[manifest\]\(([^()" ]+)/` + regexp.QuoteMeta(ManifestName) + ` "sha256:([0-9a-f]{64})"\)$`)
	supersedesForm   = regexp.MustCompile(` · supersedes \[([^\[\]\\]+)\]\(`)
	supersededForm   = regexp.MustCompile(` · superseded by \[([^\[\]\\]+)\]\(`)
)

// readIndex reads the rows of an index.
func readIndex(data []byte) []indexRow {
	var out []indexRow
	for line := range bytes.Lines(data) {
		match := rowForm.FindSubmatch(bytes.TrimSuffix(line, []byte("\n")))
		if match == nil {
			continue
		}
		// The cell is cut after its heading, which a finding's texts could not end.
		row := indexRow{id: string(match[1])}
		for _, m := range manifestLinkForm.FindAllSubmatch(match[2], -1) {
			row.manifests = append(row.manifests, string(m[1])+" "+string(m[2]))
		}
		for _, m := range supersedesForm.FindAllSubmatch(match[2], -1) {
			row.supersedes = append(row.supersedes, string(m[1]))
		}
		for _, m := range supersededForm.FindAllSubmatch(match[2], -1) {
			row.supersededBy = append(row.supersededBy, string(m[1]))
		}
		out = append(out, row)
	}
	return out
}

func findRow(rows []indexRow, id string) (indexRow, int) {
	var found indexRow
	n := 0
	for _, r := range rows {
		if r.id == id {
			found = r
			n++
		}
	}
	return found, n
}

// noIndex lets a bundle be checked that was taken out of its findings folder.
// CheckFolder, which checks the folder as a whole, asks for the index.
func noIndex(l *Loaded) string {
	if errors.Is(l.IndexErr, fs.ErrNotExist) {
		return "there is no index (" + IndexName + ") beside the bundle"
	}
	return ""
}

// checkIndex is V-14: the index has one row for the finding, which links this
// manifest by its digest; and what supersedes or is superseded says so in both
// rows.
func checkIndex(l *Loaded) []Problem {
	var out []Problem
	bad := func(format string, args ...any) {
		out = append(out, Problem{"V-14", IndexName, fmt.Sprintf(format, args...)})
	}
	if l.IndexErr != nil {
		bad("%v", withoutPath(l.IndexErr))
		return out
	}
	f := l.Manifest.Predicate.Finding
	rows := readIndex(l.Index)
	row, n := findRow(rows, f.ID)
	if n != 1 {
		bad("%d rows for %s, not one", n, f.ID)
		return out
	}
	if want := l.Folder + " " + digestOf(l.ManifestBytes); !slices.Equal(row.manifests, []string{want}) {
		bad("the row of %s does not link this manifest with this digest", f.ID)
	}
	var want []string
	if f.Supersedes != "" {
		want = []string{f.Supersedes}
	}
	if !slices.Equal(row.supersedes, want) {
		bad("the row of %s says it supersedes %q, the manifest %q", f.ID, strings.Join(row.supersedes, ", "), f.Supersedes)
	}
	for _, old := range want {
		if earlier, n := findRow(rows, old); n != 1 || !slices.Contains(earlier.supersededBy, f.ID) {
			bad("%s supersedes %s, and no row of that finding says so", f.ID, old)
		}
	}
	for _, newer := range row.supersededBy {
		if later, n := findRow(rows, newer); n != 1 || !slices.Contains(later.supersedes, f.ID) {
			bad("the row of %s says it is superseded by %s, whose row does not say so", f.ID, newer)
		}
	}
	return out
}
