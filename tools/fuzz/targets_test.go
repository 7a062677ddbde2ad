package main

import (
	"os"
	"slices"
	"testing"
	"testing/fstest"
)

func TestFindTargetsReadsTheTestFilesOfTheMainModule(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	got, err := findTargets(fstest.MapFS{
		"b/x_test.go":          file("package b\n\nfunc FuzzTwo(f *testing.F) {}\nfunc FuzzOne(f *testing.F) {\n}\n"),
		"a/x_test.go":          file("package a\n\n// func FuzzComment(f *testing.F)\nfunc helper(f *testing.F) {}\nfunc TestFuzz(t *testing.T) {}\n"),
		"a/x.go":               file("package a\n\nfunc FuzzNoTest(f *testing.F) {}\n"),
		"tools/go.mod":         file("module tools\n"),
		"tools/fuzz/x_test.go": file("package main\n\nfunc FuzzTool(f *testing.F) {}\n"),
		"a/testdata/x_test.go": file("package a\n\nfunc FuzzData(f *testing.F) {}\n"),
		".git/x_test.go":       file("package a\n\nfunc FuzzHidden(f *testing.F) {}\n"),
		"x_test.go":            file("package main\n\nfunc FuzzRoot(f *testing.F) {}\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []target{{".", "FuzzRoot"}, {"b", "FuzzOne"}, {"b", "FuzzTwo"}}
	if !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

func TestFindTargetsFindsThoseOfThisRepository(t *testing.T) {
	got, err := findTargets(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []target{{"collect/stream", "FuzzParser"}, {"collect/stream", "FuzzDechunker"}, {"collect/engine", "FuzzClassify"}} {
		if !slices.Contains(got, want) {
			t.Errorf("%s was not found", want)
		}
	}
}

func TestLastExecutionsReadsTheProgressOfGoTest(t *testing.T) {
	output := "fuzz: elapsed: 0s, gathering baseline coverage: 0/121 completed\nfuzz: elapsed: 3s, execs: 10 (3/sec), new interesting: 1 (total: 2)\n" +
		"fuzz: elapsed: 6s, execs: 4711 (900/sec), new interesting: 1 (total: 2)\nPASS\n"
	if n, ok := lastExecutions(output); !ok || n != 4711 {
		t.Errorf("got %d, %v", n, ok)
	}
	if _, ok := lastExecutions("FAIL\n"); ok {
		t.Error("a number was read where there is none")
	}
}
