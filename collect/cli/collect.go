package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assay/collect/campaign"
	"assay/collect/lifecycle"
	"assay/collect/plan"
	"assay/collect/record"
	"assay/collect/selfcheck"
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
	selfcheck, smoke        string
	containers              []string
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
	outFlag(cmd, &f.out, "run directory; must not exist or be empty, except with --resume")
	flags.BoolVar(&f.confirm, "confirm", false, "send the requests")
	endpointFlags(cmd, &f)
	flags.DurationVar(&f.sampleEvery, "sample-every", 0, "sample pages, GPU, cgroup and host at this interval (recorded as a deviation)")
	flags.StringVar(&f.selfcheck, "selfcheck", "on", "on or off: measure the client's error bar for 3 s before the lock and keep it in run.json")
	flags.StringVar(&f.smoke, "smoke", "on", "on or off: one plain answer, one JSON answer and one tool call before each arm; only a failed plain answer ends the arm")
	flags.BoolVar(&f.resume, "resume", false, "go on with the run in -o after an interrupt or a kill: finished cells stay, an unfinished one is run again whole")
	flags.StringArrayVar(&f.engineLogs, "engine-log", nil, "ARM=FILE: log of the arm's engine; the lines that state its capacity are kept, no others (repeatable)")
	flags.StringVar(&f.lifecycle, "lifecycle", "", "file of load, unload and restore commands; without it the collector waits until each arm is loaded")
	flags.BoolVar(&f.confirmLifecycle, "confirm-lifecycle", false, "run the lifecycle commands")
	return cmd
}

// endpointFlags say which cells are meant and where their engines are.
func endpointFlags(cmd *cobra.Command, f *collectFlags) {
	flags := cmd.Flags()
	flags.StringVar(&f.arm, "arm", "", "this arm only")
	flags.StringVar(&f.cells, "cells", "", "the cells whose id matches this glob only")
	flags.StringArrayVar(&f.baseURLs, "base-url", nil, "ARM=URL: the arm's endpoint instead of the plan's (repeatable)")
	flags.StringVar(&f.keyEnv, "api-key-env", "", "name of the environment variable that holds the bearer token")
	flags.BoolVar(&f.restartClock, "restart-clock", false, "start a new dispatch clock now, beside the frozen one")
	flags.StringArrayVar(&f.containers, "docker", nil, "ARM=CONTAINER: read the container's identity over the Docker Engine socket (repeatable)")
}

func runCollect(env Env, f collectFlags, path string) error {
	env = env.keeps(f.keyEnv)
	opts, err := collectOptions(env, f, path)
	if err != nil {
		return err
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
	return report(env.Guard(env.Stdout), f.out, summary)
}

// collectOptions turns flags into what Run takes.
func collectOptions(env Env, f collectFlags, path string) (campaign.Options, error) {
	var o campaign.Options
	for name, value := range map[string]string{"selfcheck": f.selfcheck, "smoke": f.smoke} {
		if value != "on" && value != "off" {
			return o, Usage(fmt.Errorf("--%s is on or off, not %q", name, value))
		}
	}
	if (f.lifecycle != "") != f.confirmLifecycle && f.confirm {
		return o, Usage(errors.New("the lifecycle commands are run only with both --lifecycle FILE and --confirm-lifecycle"))
	}
	p, err := loadPlan(env, path)
	if err != nil {
		return o, err
	}
	urls, err := parseBaseURLs(f.baseURLs)
	if err != nil {
		return o, err
	}
	containers, err := byArm("--docker", "ARM=CONTAINER", f.containers)
	if err != nil {
		return o, err
	}
	logs, err := byArm("--engine-log", "ARM=FILE", f.engineLogs)
	if err != nil {
		return o, err
	}
	token, err := tokenFrom(env, f.keyEnv)
	if err != nil {
		return o, err
	}
	o = campaign.Options{
		Plan: p, Dir: f.out, BaseURLs: urls, Token: token, Version: env.Version,
		OnlyArm: f.arm, CellGlob: f.cells, RestartClock: f.restartClock, SampleEvery: f.sampleEvery,
		Resume: f.resume, Smoke: f.smoke == "on", Containers: containers, EngineLogs: logs,
		Log: env.Log(), Now: env.Now,
	}
	if f.lifecycle != "" {
		file, err := lifecycle.Load(f.lifecycle, p)
		if err != nil {
			return o, lifecycleError(err)
		}
		o.Lifecycle = lifecycle.New(file, lifecycle.Config{Plan: p, BaseURLs: urls, Token: token, Getenv: env.Getenv, Containers: containers})
	}
	if f.selfcheck == "on" {
		o.SelfCheck = func(ctx context.Context) ([]record.SelfCheck, error) {
			return selfcheck.Run(ctx, selfcheck.Short())
		}
	}
	return o, nil
}

func lifecycleError(err error) error {
	if errors.Is(err, lifecycle.ErrFile) {
		return Invalid(err)
	}
	return err
}

// tokenFrom reads the bearer token from the environment variable of that name.
func tokenFrom(env Env, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	token := env.Getenv(name)
	if token == "" {
		return "", Usage(fmt.Errorf("--api-key-env %s: that environment variable is empty; export it first", name))
	}
	return token, nil
}

// collectError gives the errors of a campaign their exit codes.
func collectError(err error) error {
	switch {
	case errors.Is(err, campaign.ErrCutoffPassed), errors.Is(err, campaign.ErrPlanChanged), errors.Is(err, campaign.ErrArmChanged):
		return Invalid(err)
	case errors.Is(err, campaign.ErrUsage):
		return Usage(err)
	}
	return err
}

func parseBaseURLs(list []string) (map[string]string, error) {
	urls, err := byArm("--base-url", "ARM=URL, such as baseline=http://127.0.0.1:8000/v1", list)
	for _, url := range urls {
		if _, bad := plan.ParseEndpoint(url); bad != nil && err == nil {
			err = Usage(fmt.Errorf("--base-url %s: %w", url, bad))
		}
	}
	return urls, err
}

// byArm reads values of the form ARM=VALUE.
func byArm(flag, form string, list []string) (map[string]string, error) {
	values := map[string]string{}
	for _, item := range list {
		arm, value, ok := strings.Cut(item, "=")
		if !ok || arm == "" || value == "" {
			return nil, Usage(fmt.Errorf("%s takes %s", flag, form))
		}
		if _, twice := values[arm]; twice {
			return nil, Usage(fmt.Errorf("%s names arm %s twice", flag, arm))
		}
		values[arm] = value
	}
	return values, nil
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
	switch {
	case o.Lifecycle != nil:
		fmt.Fprintln(w, "lifecycle its commands are run only with --confirm --confirm-lifecycle")
	case len(view.Arms) > 1:
		fmt.Fprintln(w, "lifecycle none: between two arms the collector waits until the next one is loaded")
	}
	fmt.Fprintf(w, "run       %s\nnothing was sent; add --confirm to run it\n", o.Dir)
	return nil
}

// report prints how the campaign ended. An incomplete one is exit code 1.
func report(w io.Writer, dir string, s campaign.Summary) error {
	fmt.Fprintf(w, "run       %s\nrequests  %d of %d dispatched\n", dir, s.Dispatched, s.Requests)
	if s.NothingToDo {
		fmt.Fprintln(w, "resume    the run is over: nothing was sent")
	}
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
	if s.NotRestored {
		return Invalid(errors.New("the original service is not restored; `assay status` names what is missing"))
	}
	if !s.Complete() {
		return Invalid(errors.New("the campaign is not complete"))
	}
	return nil
}
