package main

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// target is one fuzz target.
type target struct{ folder, name string }

// String names the target as in ./collect/stream FuzzParser.
func (t target) String() string { return "./" + t.folder + " " + t.name }

var declaration = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(\w+ \*testing\.F\)`)

// findTargets lists the targets below a repository, by folder and name. Hidden
// folders, testdata and folders with a go.mod of their own are left out.
func findTargets(repository fs.FS) ([]target, error) {
	var found []target
	err := fs.WalkDir(repository, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && leftOut(repository, name):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(repository, name)
		if err != nil {
			return err
		}
		for _, m := range declaration.FindAllStringSubmatch(string(text), -1) {
			found = append(found, target{path.Dir(name), m[1]})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for fuzz targets: %w", err)
	}
	slices.SortFunc(found, func(a, b target) int { return strings.Compare(a.String(), b.String()) })
	return found, nil
}

// leftOut says whether a folder is no part of the main module's tests.
func leftOut(repository fs.FS, folder string) bool {
	base := path.Base(folder)
	if base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return true
	}
	_, err := fs.Stat(repository, path.Join(folder, "go.mod"))
	return err == nil
}

var progress = regexp.MustCompile(`(?m)^fuzz: elapsed: .*, execs: ([0-9]+) `)

// lastExecutions is the last count that go test printed.
func lastExecutions(output string) (int64, bool) {
	all := progress.FindAllStringSubmatch(output, -1)
	if len(all) == 0 {
		return 0, false
	}
	n, err := strconv.ParseInt(all[len(all)-1][1], 10, 64)
	return n, err == nil
}
