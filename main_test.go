package main

import (
	"encoding/csv"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	collect "assay/collect/cli"
	publish "assay/report/cli"
)

// command runs one command line as the program would and returns its exit code
// and what it printed.
func command(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	env := collect.OSEnv()
	env.Stdout, env.Stderr, env.Terminal = &out, &errs, false
	code = run(env, args)
	return code, out.String(), errs.String()
}

// rows asks the database through assay query and returns the CSV's lines
// without its header.
func rows(t *testing.T, db, query string) [][]string {
	t.Helper()
	code, stdout, stderr := command(t, "query", "--db", db, "--format", "csv", query)
	if code != 0 {
		t.Fatalf("query exits %d: %s\n%s", code, stderr, query)
	}
	lines, err := csv.NewReader(strings.NewReader(stdout)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return lines[1:]
}

// value asks for a single value.
func value(t *testing.T, db, query string) string {
	t.Helper()
	got := rows(t, db, query)
	if len(got) != 1 || len(got[0]) != 1 {
		t.Fatalf("want one value, got %v\n%s", got, query)
	}
	return got[0][0]
}

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"assay": main})
}

// TestScripts runs the command lines under testdata/script as a user types
// them, exit codes included.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			spec, err := os.ReadFile("examples/glm53-serving.yaml")
			if err != nil {
				return err
			}
			return os.WriteFile(env.WorkDir+"/example.yaml", spec, 0o600)
		},
	})
}

func TestEveryCommandOfTheContractExists(t *testing.T) {
	env := collect.OSEnv()
	have := map[string]bool{}
	for _, c := range append(collect.Commands(env), publish.Commands(env)...) {
		have[c.Name()] = true
	}
	for _, want := range strings.Fields("plan preflight collect status show sim selfcheck ingest analyze report derive verify query demo version") {
		if !have[want] {
			t.Errorf("there is no command %s", want)
		}
	}
}
