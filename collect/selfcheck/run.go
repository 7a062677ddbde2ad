package selfcheck

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"assay/collect/record"
	"assay/collect/stream"
)

// Times of a load when Options name none.
const (
	DefaultLeftOut = time.Second     // first part, not counted
	DefaultCounted = 5 * time.Second // counted part
)

// Options say what is measured. Zero times take the defaults.
type Options struct {
	Loads   []Load
	LeftOut time.Duration // first part of each load, not counted
	Counted time.Duration // counted part of each load

	Raw      io.Writer  // gets every event as CSV, see RawHeader; nil for nobody
	Progress func(Load) // called before each load; nil for nobody
}

// Short is the form that runs before a campaign: four loads, 64 and 256 streams
// paced and flooding, 3 s in all.
func Short() Options {
	return Options{Loads: Loads([]int64{64, 256}), LeftOut: 250 * time.Millisecond, Counted: 500 * time.Millisecond}
}

// Run measures the loads one after the other and returns their rows in that
// order. It returns an error, and no row, when a load could not be run as it
// should: the server did not start or a stream broke. A poor figure is no error.
func Run(ctx context.Context, o Options) (rows []record.SelfCheck, err error) {
	o = o.withDefaults()
	for _, load := range o.Loads {
		if err := load.check(); err != nil {
			return nil, err
		}
	}
	stream.KernelStampsAvailable() // its sockets are no part of a load
	each := startWait + o.LeftOut + o.Counted + endWait
	server, err := start(ctx, time.Duration(len(o.Loads)+1)*each)
	if err != nil {
		return nil, fmt.Errorf("self-check: %w", err)
	}
	raw := newRawWriter(o.Raw)
	for _, load := range o.Loads {
		o.Progress(load)
		figures, loadErr := o.measure(ctx, server, load, raw)
		if loadErr != nil {
			err = fmt.Errorf("self-check, %s, %d streams: %w", load.Mode, load.Streams, loadErr)
			break
		}
		rows = append(rows, figures...)
	}
	if err = errors.Join(err, server.stop(), raw.flush()); err != nil {
		return nil, err
	}
	return rows, nil
}

func (o Options) withDefaults() Options {
	if o.LeftOut == 0 {
		o.LeftOut = DefaultLeftOut
	}
	if o.Counted == 0 {
		o.Counted = DefaultCounted
	}
	if o.Progress == nil {
		o.Progress = func(Load) {}
	}
	return o
}

// measure runs one load and computes its rows.
func (o Options) measure(ctx context.Context, server *process, load Load, raw *rawWriter) ([]record.SelfCheck, error) {
	seen, err := observe(ctx, server, load, o.LeftOut, o.Counted)
	if err != nil {
		return nil, err
	}
	rows, err := seen.figures()
	if err != nil {
		return nil, err
	}
	return rows, raw.write(seen)
}
