package cli

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	collect "assay/collect/cli"
	"assay/ingest/store"
)

// Commands are the commands of the stages after collect, in the order of help.
func Commands(env collect.Env) []*cobra.Command {
	return []*cobra.Command{
		ingestCommand(env),
		analyzeCommand(env),
		reportCommand(env),
		deriveCommand(env),
		verifyCommand(env),
		queryCommand(env),
		showCommand(env),
		demoCommand(env),
	}
}

// database are the flags of every command that opens one.
type database struct {
	path string
	wait time.Duration
}

func (d *database) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&d.path, "db", "", "DuckDB file")
	cmd.Flags().DurationVar(&d.wait, "wait", store.DefaultWait, "how long to wait for a database that another process holds")
	if err := cmd.MarkFlagRequired("db"); err != nil {
		panic(err) // the flag was defined two lines above
	}
}

// open opens the database for writing, or read-only for questions.
func (d *database) open(readOnly bool) (*store.DB, error) {
	return store.Open(d.path, store.Options{ReadOnly: readOnly, Wait: d.wait})
}

// use opens the database, runs work and closes it, keeping both errors.
func (d *database) use(readOnly bool, work func(*store.DB) error) (err error) {
	db, err := d.open(readOnly)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return work(db)
}

// arguments refuses fewer than least and more than most arguments; most below
// 0 is no limit.
func arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || most >= 0 && len(args) > most {
			return collect.Usage(fmt.Errorf("wrong number of arguments: assay %s", cmd.Use))
		}
		return nil
	}
}

func printf(w io.Writer, format string, args ...any) error {
	_, err := fmt.Fprintf(w, format, args...)
	return err
}
