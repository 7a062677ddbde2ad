package campaign

import (
	"context"
	"fmt"
	"time"

	"assay/collect/plan"
	"assay/collect/record"
)

// Lifecycle loads engines and brings the original service back. note journals
// one entry; its error ends the work.
type Lifecycle interface {
	// Load makes an arm's engine ready. changes is called before the first thing
	// that changes the host, with what the original service then is.
	Load(ctx context.Context, arm string, changes func(start map[string]string) error, note func(record.Entry) error) error
	// Restore brings the original service back and checks it against start. ok
	// says that no check failed.
	Restore(ctx context.Context, start map[string]string, note func(record.Entry) error) (ok bool, err error)
}

// outcomeRestored is how a restoration ends that no check failed.
const outcomeRestored = "restored"

// load makes the arm of a cell ready where a lifecycle is configured.
func (r *run) load(ctx context.Context, c plan.Cell) error {
	if r.Lifecycle == nil {
		return nil
	}
	changes := func(start map[string]string) error {
		return r.write(record.Entry{Kind: record.EntryRestoreBegin, Facts: start})
	}
	if err := r.Lifecycle.Load(ctx, c.Arm, changes, r.write); err != nil && ctx.Err() == nil {
		return fmt.Errorf("load arm %s: %w", c.Arm, err)
	}
	return nil
}

// restore runs the restoration when the host has to be restored: after the
// cells, whatever ended them, and after a kill. It ends by the campaign's
// deadline, and an interrupt does not end it.
func (r *run) restore(ctx context.Context) error {
	if r.Lifecycle == nil {
		return nil
	}
	entries, _, err := record.ReadJournal(r.Dir)
	if err != nil {
		return err
	}
	h := ReadHistory(entries)
	if !h.Owed() {
		return nil
	}
	left := time.Duration(r.clock.DeadlineUnixNs - r.Clock().UnixNs)
	if least := time.Duration(r.Plan.LoadBoundSeconds) * time.Second; left < least {
		left = least // a late restoration is better than none
	}
	r.Progress.Waiting("the restoration of the original service")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), left)
	defer cancel()
	ok, err := r.Lifecycle.Restore(ctx, h.seen.start, r.write)
	outcome := outcomeRestored
	if !ok || err != nil {
		r.summary.NotRestored, outcome = true, "not_restored"
	}
	if noteErr := r.note(record.EntryRestoreEnd, outcome); noteErr != nil {
		return noteErr
	}
	return err
}
