package main

import (
	"context"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"assay/analyze"
	"assay/ingest/store"
)

var update = flag.Bool("update", false, "write generated pages instead of comparing them")

// TestSchemaPageIsCurrent holds docs/schema.md to the comments of a fresh
// database. `go test -run Schema . -update` writes it.
func TestSchemaPageIsCurrent(t *testing.T) {
	ctx := context.Background()
	db, err := store.Open("", store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.CreateTables(ctx); err != nil {
		t.Fatal(err)
	}
	if err := analyze.CreateViews(ctx, db); err != nil {
		t.Fatal(err)
	}
	want, err := analyze.SchemaMarkdown(ctx, db)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("docs/schema.md", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile("docs/schema.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != want {
		t.Error("docs/schema.md is not what the database's comments say; run go test -run Schema . -update")
	}
}

// TestReadmeCommandsExist holds the README's command lines to the commands and
// flags that there are.
func TestReadmeCommandsExist(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^(?:go run \.|\./assay) (\w+)(?: (check|show|expand|redact))?(.*)$`).FindAllStringSubmatch(string(readme), -1)
	if len(lines) < 10 {
		t.Fatalf("only %d command lines found", len(lines))
	}
	for _, line := range lines {
		args := []string{line[1]}
		if line[2] != "" {
			args = append(args, line[2])
		}
		code, help, stderr := command(t, append(args, "--help")...)
		if code != 0 {
			t.Errorf("assay %v: %s", args, stderr)
		}
		for _, flag := range regexp.MustCompile(`--[a-z-]+`).FindAllString(line[3], -1) {
			if !strings.Contains(help, flag+" ") {
				t.Errorf("README uses %s, which assay %v does not have", flag, args)
			}
		}
	}
}

// TestEveryDependencyIsExplained holds go.mod to the table in CONTRIBUTING.md.
func TestEveryDependencyIsExplained(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	direct := regexp.MustCompile(`(?m)^\t(\S+) v\S+$`).FindAllStringSubmatch(string(mod), -1)
	if len(direct) < 5 {
		t.Fatalf("only %d direct dependencies found", len(direct))
	}
	for _, d := range direct {
		name := strings.TrimSuffix(d[1], "/v2")
		if !strings.Contains(string(page), name) && !strings.Contains(string(page), name[strings.LastIndex(name, "/")+1:]) {
			t.Errorf("CONTRIBUTING.md does not say what %s is for", d[1])
		}
	}
}
