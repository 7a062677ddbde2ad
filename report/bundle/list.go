package bundle

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// errTooMany says that a bundle folder holds more than maxEntries names.
var errTooMany = fmt.Errorf("more than %d entries in the bundle folder", maxEntries)

// list walks the bundle folder without following links, maxEntries names at most.
func (ld *loader) list() ([]Listing, error) {
	var out []Listing
	queue := []string{"."}
	for len(queue) > 0 {
		dir := queue[0]
		queue = queue[1:]
		names, err := ld.listDir(dir, maxEntries-len(out))
		if err != nil {
			return nil, err
		}
		for _, entry := range names {
			name := path.Join(dir, entry.Name())
			out = append(out, Listing{Name: name, Mode: entry.Type()})
			if entry.IsDir() {
				queue = append(queue, name)
			}
		}
	}
	slices.SortFunc(out, func(a, b Listing) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// listDir returns the entries of a folder, errTooMany if there are more than room.
func (ld *loader) listDir(rel string, room int) ([]fs.DirEntry, error) {
	d, err := ld.fsys.Open(filepath.Join(ld.dir, filepath.FromSlash(rel)))
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", rel, withoutPath(err))
	}
	defer d.Close()
	var out []fs.DirEntry
	for len(out) <= room {
		batch, err := d.ReadDir(256)
		out = append(out, batch...)
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", rel, withoutPath(err))
		}
	}
	return nil, errTooMany
}
