package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"assay/analyze"
	"assay/collect/campaign"
	collect "assay/collect/cli"
	"assay/collect/plan"
	"assay/collect/record"
	"assay/collect/simengine"
	"assay/examples"
	"assay/ingest"
	"assay/ingest/store"
	"assay/report"
	"assay/report/bundle"
	"assay/report/recompute"
	"assay/report/signature"
)

// The demo's pace: fifty times as fast, with short outputs and quick prefills,
// so that all 48 cells take about a minute and each still lasts several samples.
// Decoding is slowed, since chunks less than 1 ms apart would look like bursts
// and their decode rates would rightly be withheld.
const (
	demoTimeScale    = 50
	demoOutputScale  = 0.1
	demoPrefillScale = 8
	demoDecodeScale  = 0.22
	demoSampleEvery  = 50 * time.Millisecond
)

func demoCommand(env collect.Env) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: "demo [-o DIR]", Args: arguments(0, 0),
		Short: "run the whole path on two simulated arms and print where the finding is",
		RunE: func(*cobra.Command, []string) error {
			dir, err := demoFolder(out)
			if err != nil {
				return err
			}
			ctx, release := collect.Signals(env.Stderr)
			defer release()
			return demo(ctx, env, dir)
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "folder for everything; must not exist or be empty (default: a temporary one)")
	return cmd
}

func demoFolder(out string) (string, error) {
	if out == "" {
		return os.MkdirTemp("", "assay-demo-")
	}
	entries, err := os.ReadDir(out)
	switch {
	case err == nil && len(entries) > 0:
		return "", fmt.Errorf("%s is not empty; name a folder that does not exist yet with -o", out)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%s is not a folder; name another with -o", out)
	}
	return out, os.MkdirAll(out, 0o755)
}

// demo goes the whole way: plan, collect, ingest, analyze, report, verify.
func demo(ctx context.Context, env collect.Env, dir string) error {
	p, err := demoPlan(dir, env.Now())
	if err != nil {
		return err
	}
	run := filepath.Join(dir, "run")
	if err := demoCollect(ctx, env, p, run); err != nil {
		return err
	}
	sealed, err := demoPublish(ctx, env, filepath.Join(dir, "assay.duckdb"), run, filepath.Join(dir, findingsFolder))
	if err != nil {
		return err
	}
	folder := filepath.Join(dir, findingsFolder, sealed.Folder)
	checked, err := verify(ctx, folder, recompute.Options{Level: 2}, signature.Options{At: time.Now()})
	if err != nil {
		return err
	}
	if err := checked.write(env.Stdout, false); err != nil {
		return err
	}
	if !checked.OK() {
		return collect.Invalid(collect.ErrSilent)
	}
	return printf(env.Stdout, "finding  %s\nevidence %s\ndatabase %s\n",
		filepath.Join(dir, findingsFolder, sealed.NarrativeName), folder, filepath.Join(dir, "assay.duckdb"))
}

// demoPlan expands the example spec and keeps the plan beside the run.
func demoPlan(dir string, now time.Time) (*plan.Plan, error) {
	text, problems := plan.Expand(examples.GLM53Serving, now)
	if len(problems) > 0 {
		return nil, fmt.Errorf("the example spec has %d problems, the first is %s at %s", len(problems), problems[0].Code, problems[0].Pointer)
	}
	p, problems := plan.Decode(text)
	if len(problems) > 0 {
		return nil, fmt.Errorf("the expanded example has %d problems, the first is %s at %s", len(problems), problems[0].Code, problems[0].Pointer)
	}
	return p, record.WriteFile(filepath.Join(dir, "plan.json"), func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

func demoCollect(ctx context.Context, env collect.Env, p *plan.Plan, run string) error {
	urls := map[string]string{}
	var engines []*simengine.Engine
	for _, arm := range p.Arms() {
		profile, ok := simengine.LookupProfile("glm53-" + arm)
		if !ok {
			return fmt.Errorf("there is no simulated engine for arm %s", arm)
		}
		engine, url, stop, err := simengine.Start(ctx, simengine.Config{
			Profile: profile, Model: p.Models[arm].Model, Seed: 1, DiscardLogs: true,
			TimeScale: demoTimeScale, OutputScale: demoOutputScale, PrefillScale: demoPrefillScale, DecodeScale: demoDecodeScale,
		})
		if err != nil {
			return err
		}
		defer stop()
		urls[arm], engines = url, append(engines, engine)
	}
	opts := campaign.Options{
		Plan: p, Dir: run, BaseURLs: urls, Version: env.Version,
		RestartClock: true, SampleEvery: demoSampleEvery, Log: env.Log(), Now: env.Now,
		GPU: simengine.NewGPU(2, engines...),
	}
	progress, end := collect.NewProgress(env, opts)
	opts.Progress = progress
	summary, err := campaign.Run(ctx, opts)
	end()
	if err == nil && !summary.Complete() {
		err = collect.Invalid(errors.New("the demo's campaign is not complete"))
	}
	return err
}

func demoPublish(ctx context.Context, env collect.Env, path, run, findings string) (sealed bundle.Sealed, err error) {
	d := database{path: path, wait: store.DefaultWait}
	err = d.use(false, func(db *store.DB) error {
		if _, err := ingest.Run(ctx, db, []string{run}, env.Log()); err != nil {
			return err
		}
		if err := analyze.CreateViews(ctx, db); err != nil {
			return err
		}
		id, err := chooseCampaign(ctx, db, "")
		if err != nil {
			return err
		}
		if err := os.MkdirAll(findings, 0o755); err != nil {
			return fmt.Errorf("make findings folder: %w", err)
		}
		sealed, err = report.Publish(ctx, db, id, findings, report.Options{})
		return err
	})
	return sealed, err
}
