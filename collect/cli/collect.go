package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assay/collect/campaign"
	"assay/collect/plan"
)

// collectFlags are the flags of assay collect as typed.
type collectFlags struct {
	out, arm, cells, keyEnv string
	baseURLs                []string
	confirm, restartClock   bool
	sampleEvery             time.Duration
	resume                  bool
	engineLogs              []string
	lifecycle               string
	confirmLifecycle        bool
}

func collectCommand(env Env) *cobra.Command {
	var f collectFlags
	cmd := &cobra.Command{
		Use: "collect PLAN -o RUN --confirm", Args: exactly(1),
		Short: "run the plan's cells and keep the raw record; without --confirm only say what would be done",
		RunE: func(_ *cobra.Command, args []string) error {
			return runCollect(env, f, args[0])
		},
	}
	flags := cmd.Flags()
	outFlag(cmd, &f.out, "run directory; must not exist or be empty")
	flags.BoolVar(&f.confirm, "confirm", false, "send the requests")
	flags.StringVar(&f.arm, "arm", "", "run this arm only")
	flags.StringVar(&f.cells, "cells", "", "run the cells whose id matches this glob only")
	flags.StringArrayVar(&f.baseURLs, "base-url", nil, "ARM=URL: send the arm's requests there instead (repeatable)")
	flags.StringVar(&f.keyEnv, "api-key-env", "", "name of the environment variable that holds the bearer token")
	flags.BoolVar(&f.restartClock, "restart-clock", false, "start a new dispatch clock now, beside the frozen one")
	flags.DurationVar(&f.sampleEvery, "sample-every", 0, "sample pages, GPU, cgroup and host at this interval (recorded as a deviation)")
	flags.BoolVar(&f.resume, "resume", false, "go on with an interrupted run (not built yet)")
	flags.StringArrayVar(&f.engineLogs, "engine-log", nil, "ARM=FILE: engine log to read capacity facts from (not built yet)")
	flags.StringVar(&f.lifecycle, "lifecycle", "", "file of load and restore commands (not built yet)")
	flags.BoolVar(&f.confirmLifecycle, "confirm-lifecycle", false, "run the lifecycle commands (not built yet)")
	return cmd
}

func runCollect(env Env, f collectFlags, path string) error {
	if f.resume || len(f.engineLogs) > 0 || f.lifecycle != "" || f.confirmLifecycle {
		return errors.New("--resume, --engine-log and --lifecycle are not built yet; run without them")
	}
	p, err := loadPlan(env, path)
	if err != nil {
		return err
	}
	urls, err := parseBaseURLs(f.baseURLs)
	if err != nil {
		return err
	}
	token := ""
	if f.keyEnv != "" {
		if token = env.Getenv(f.keyEnv); token == "" {
			return Usage(fmt.Errorf("--api-key-env %s: that environment variable is empty; export it first", f.keyEnv))
		}
	}
	opts := campaign.Options{
		Plan: p, Dir: f.out, BaseURLs: urls, Token: token, Version: env.Version,
		OnlyArm: f.arm, CellGlob: f.cells, RestartClock: f.restartClock, SampleEvery: f.sampleEvery,
		Log: env.Log(), Now: env.Now,
	}
	if !f.confirm {
		return preview(env.Stdout, opts)
	}
	ctx, release := Signals(env.Stderr)
	defer release()
	progress, end := NewProgress(env, opts)
	opts.Progress = progress
	summary, err := campaign.Run(ctx, opts)
	end()
	if err != nil {
		return collectError(err)
	}
	return report(env.Stdout, f.out, summary)
}

// collectError gives the errors of a campaign their exit codes.
func collectError(err error) error {
	switch {
	case errors.Is(err, campaign.ErrCutoffPassed):
		return Invalid(err)
	case errors.Is(err, campaign.ErrUsage):
		return Usage(err)
	}
	return err
}

func parseBaseURLs(list []string) (map[string]string, error) {
	urls := map[string]string{}
	for _, item := range list {
		arm, url, ok := strings.Cut(item, "=")
		if !ok || arm == "" {
			return nil, Usage(errors.New("--base-url takes ARM=URL, such as baseline=http://127.0.0.1:8000/v1"))
		}
		if _, twice := urls[arm]; twice {
			return nil, Usage(fmt.Errorf("--base-url names arm %s twice", arm))
		}
		if _, err := plan.ParseEndpoint(url); err != nil {
			return nil, Usage(fmt.Errorf("--base-url %s: %w", arm, err))
		}
		urls[arm] = url
	}
	return urls, nil
}

// preview prints what collect would do and sends nothing.
func preview(w io.Writer, o campaign.Options) error {
	view, err := campaign.Preview(o)
	if err != nil {
		return collectError(err)
	}
	fmt.Fprintf(w, "campaign  %s\nplan      %s\n", o.Plan.CampaignID, o.Plan.Digest())
	fmt.Fprintf(w, "cells     %d of %d, %d requests\n", view.Cells, len(o.Plan.Cells), view.Requests)
	for _, arm := range view.Arms {
		fmt.Fprintf(w, "arm       %s: %s serving %s\n", arm.Name, arm.BaseURL, arm.Model)
	}
	fmt.Fprintf(w, "cutoff    %s\ndeadline  %s\n", view.Cutoff.UTC().Format(time.RFC3339), view.Deadline.UTC().Format(time.RFC3339))
	for _, d := range view.Deviations {
		fmt.Fprintf(w, "deviation %s\n", d)
	}
	fmt.Fprintf(w, "run       %s\nnothing was sent; add --confirm to run it\n", o.Dir)
	return nil
}

// report prints how the campaign ended. An incomplete one is exit code 1.
func report(w io.Writer, dir string, s campaign.Summary) error {
	fmt.Fprintf(w, "run       %s\nrequests  %d of %d dispatched\n", dir, s.Dispatched, s.Requests)
	for _, state := range []campaign.RunState{
		campaign.StateComplete, campaign.StatePartial, campaign.StateOuter,
		campaign.StateBlocked, campaign.StateNotDeadline, campaign.StateNotRun,
	} {
		if n := s.States[state]; n > 0 {
			fmt.Fprintf(w, "cells     %d %s\n", n, state)
		}
	}
	if left := s.Planned - s.Selected; left > 0 {
		fmt.Fprintf(w, "cells     %d not selected\n", left)
	}
	for _, stop := range s.Stops {
		fmt.Fprintf(w, "stop      %s in %s: %s\n", stop.Rule, stop.Cell, stop.Detail)
	}
	fmt.Fprintf(w, "next      assay ingest %s --db assay.duckdb\n", dir)
	if !s.Complete() {
		return Invalid(errors.New("the campaign is not complete"))
	}
	return nil
}
