package cli

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"assay/collect/record"
	"assay/collect/selfcheck"
)

const selfcheckHelp = `Measure this host's client error bar and maximum event rate.

A second process on this host sends event streams and writes its clock into
each event before it sends it; this process reads them as a campaign does. The
error is the event's time less that clock: kernel is the event time that a
campaign publishes, read is the clock when the read returned. In a paced load
each stream sends 100 events per second, 50 with more than 256 streams; in a
flood each sends as fast as it can, and errors are mostly waiting in buffers.

cpu us/event is the CPU time of this process. events/s is what was received in
a paced load; in a flood it is events per second of this process's CPU time,
what one core sustains. merged is the share of events that were not the last
of their read, whose time is an upper bound. The first second of each load is
left out.`

func selfcheckCommand(env Env) *cobra.Command {
	var asJSON bool
	var raw string
	var duration time.Duration
	streams := selfcheck.DefaultStreams()
	cmd := &cobra.Command{
		Use: "selfcheck", Args: exactly(0),
		Short: "measure this host's client error bar and maximum event rate",
		Long:  selfcheckHelp,
		RunE: func(*cobra.Command, []string) error {
			if duration <= 0 {
				return Usage(errors.New("--duration must be above 0"))
			}
			if len(streams) == 0 || slices.ContainsFunc(streams, func(n int64) bool { return n < 1 || n > selfcheck.MaxStreams }) {
				return Usage(fmt.Errorf("--streams takes numbers from 1 to %d", selfcheck.MaxStreams))
			}
			rows, err := measure(env, selfcheck.Options{Loads: selfcheck.Loads(streams), Counted: duration}, raw)
			if err != nil {
				return err
			}
			if asJSON {
				return writeSelfcheckJSON(env.Stdout, rows)
			}
			return writeSelfcheck(env.Stdout, rows)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&asJSON, "json", false, "print a JSON array instead of a table")
	flags.StringVar(&raw, "raw", "", "write every event to this CSV file, compressed when it ends with .gz; must not exist")
	flags.DurationVar(&duration, "duration", selfcheck.DefaultCounted, "counted time of each load, after the first second")
	flags.Int64SliceVar(&streams, "streams", streams, "numbers of streams")
	return cmd
}

// selfcheckServerCommand is the other process of the self-check. It is not for
// people.
func selfcheckServerCommand(env Env) *cobra.Command {
	return &cobra.Command{
		Use: selfcheck.ServerCommand + " LONGEST", Args: exactly(1), Hidden: true,
		Short: "serve the streams of a self-check until the standard input ends",
		RunE: func(_ *cobra.Command, args []string) error {
			bound, err := time.ParseDuration(args[0])
			if err != nil {
				return Usage(err)
			}
			return selfcheck.Serve(os.Stdin, env.Stdout, bound)
		},
	}
}

// measure runs the loads and, when raw names a file, stores every event there.
func measure(env Env, o selfcheck.Options, raw string) (rows []record.SelfCheck, err error) {
	ctx, release := Signals(env.Stderr)
	defer release()
	if env.Terminal {
		o.Progress = func(l selfcheck.Load) { fmt.Fprintf(env.Stderr, "%s, %d streams\n", l.Mode, l.Streams) }
	}
	if raw == "" {
		return selfcheck.Run(ctx, o)
	}
	if _, err := os.Lstat(raw); err == nil {
		return nil, fmt.Errorf("%s exists; name another file with --raw", raw)
	}
	err = record.WriteFile(raw, func(w io.Writer) error {
		o.Raw = w
		if !strings.HasSuffix(raw, ".gz") {
			rows, err = selfcheck.Run(ctx, o)
			return err
		}
		packed, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
		if err != nil {
			return err
		}
		o.Raw = packed
		rows, err = selfcheck.Run(ctx, o)
		return errors.Join(err, packed.Close())
	})
	return rows, err
}

func writeSelfcheckJSON(w io.Writer, rows []record.SelfCheck) error {
	text, err := json.MarshalIndent(rows, "", "  ")
	if err != nil {
		return fmt.Errorf("encode self-check: %w", err)
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

func writeSelfcheck(w io.Writer, rows []record.SelfCheck) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "mode\tstreams\trate/stream\ttime\tp50 us\tp99 us\tmax us\tcpu us/event\tevents/s\tlost\tmerged\t")
	for _, r := range rows {
		rate := "-"
		if r.RatePerStream != nil {
			rate = fmt.Sprint(*r.RatePerStream)
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%.1f\t%.1f\t%.1f\t%.2f\t%.0f\t%d\t%.2f%%\t\n",
			r.Mode, r.Streams, rate, r.StampSource, r.ErrorP50Us, r.ErrorP99Us, r.ErrorMaxUs,
			r.CPUUsPerEvent, r.EventsPerS, r.Lost, 100*r.MergedShare)
	}
	return t.Flush()
}
