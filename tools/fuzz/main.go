// Command fuzz runs every fuzz target of the repository, one after another, and
// prints a table of target, seconds and executions.
//
//	go -C tools run ./fuzz [-time 10m] [-only NAME] [-root DIR]
//
// The environment variable FUZZTIME sets the time as well. It exits with 1 when
// a target failed, after all others have run; go test leaves the failing input
// in the package's testdata/fuzz.
//
// It stands in the module of the tools and needs nothing but the standard
// library, so that running it fetches no other tool. It finds the targets by
// reading the test files: asking `go test -list` would link every package first.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"time"
)

func main() {
	budget := flag.String("time", cmp.Or(os.Getenv("FUZZTIME"), "10m"), "time of one target, as go test -fuzztime takes it")
	only := flag.String("only", "", "run the targets whose package and name contain this text")
	root := flag.String("root", "..", "folder of the repository")
	flag.Parse()
	targets, err := findTargets(os.DirFS(*root))
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(3)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	failed, ran := 0, 0
	fmt.Printf("%-44s %8s %12s\n", "target", "seconds", "executions")
	for _, t := range targets {
		if !strings.Contains(t.String(), *only) || ctx.Err() != nil {
			continue
		}
		ran++
		if !fuzz(ctx, *root, t, *budget) {
			failed++
		}
	}
	switch {
	case ran == 0:
		fmt.Fprintln(os.Stderr, "fuzz: no target was found or chosen")
		os.Exit(3)
	case failed > 0 || ctx.Err() != nil:
		fmt.Fprintf(os.Stderr, "fuzz: %d of %d targets failed\n", failed, ran)
		os.Exit(1)
	}
}

// fuzz runs one target and prints its line; a failing one's output follows it.
func fuzz(ctx context.Context, root string, t target, budget string) bool {
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-fuzz", "^"+t.name+"$", "-fuzztime", budget, "-fuzzminimizetime", "1s", "./"+t.folder)
	cmd.Dir = root
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	start := time.Now()
	out, err := cmd.CombinedOutput()
	executions := "unknown"
	if n, ok := lastExecutions(string(out)); ok {
		executions = fmt.Sprint(n)
	}
	fmt.Printf("%-44s %8.0f %12s\n", t, time.Since(start).Seconds(), executions)
	if err != nil {
		fmt.Printf("%s\n%s: %v\n", out, t, err)
	}
	return err == nil
}
