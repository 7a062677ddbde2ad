package campaign

import (
	"sync"

	"assay/collect/record"
)

// eventsPerFrame bounds one spool frame of events.
const eventsPerFrame = 4096

// writer is the one goroutine that owns an attempt's spool, so that no reader
// and no sampler ever waits for the disk. After the first error it writes
// nothing more and calls failed once.
type writer struct {
	spool  *record.Spool
	jobs   chan func(*record.Spool) error
	done   sync.WaitGroup
	failed func(error)
	// judge, when set, is called with each stored request and its events.
	judge func(record.Request, []record.Event)
	err   error // owned by the goroutine until done
}

func startWriter(spool *record.Spool, failed func(error), judge func(record.Request, []record.Event)) *writer {
	w := &writer{spool: spool, jobs: make(chan func(*record.Spool) error, 256), failed: failed, judge: judge}
	w.done.Go(w.run)
	return w
}

func (w *writer) run() {
	for job := range w.jobs {
		if w.err != nil {
			continue
		}
		if err := job(w.spool); err != nil {
			w.err = err
			w.failed(err)
		}
	}
}

// request stores one finished request with its events and waits for the disk
// before the next job: a kill after this loses nothing of it.
func (w *writer) request(row record.Request, events []record.Event) {
	w.jobs <- func(s *record.Spool) error {
		for start := 0; start < len(events); start += eventsPerFrame {
			end := min(start+eventsPerFrame, len(events))
			if err := record.Append(s, record.Events, events[start:end]); err != nil {
				return err
			}
		}
		if err := record.Append(s, record.Requests, []record.Request{row}); err != nil {
			return err
		}
		if err := s.Sync(); err != nil {
			return err
		}
		if w.judge != nil {
			w.judge(row, events)
		}
		return nil
	}
}

// add stores rows of any other table; they are synced with the next request
// or at the end.
func add[T any](w *writer, t *record.Table[T], rows ...T) {
	w.jobs <- func(s *record.Spool) error { return record.Append(s, t, rows) }
}

// close waits for all jobs, syncs and closes the spool, and returns the first
// error.
func (w *writer) close() error {
	close(w.jobs)
	w.done.Wait()
	if w.err != nil {
		_ = w.spool.Close() // the first error is the one to report
		return w.err
	}
	if err := w.spool.Sync(); err != nil {
		_ = w.spool.Close()
		return err
	}
	return w.spool.Close()
}
