package campaign

import "context"

// checkSelf measures the client's own error bar while nothing else runs. A
// campaign does not fail for it: run.json then holds the reason.
func (r *run) checkSelf(ctx context.Context) {
	if r.SelfCheck == nil {
		r.noErrorBar = "switched off"
		return
	}
	r.Progress.Waiting("the self-check of this host's client")
	var err error
	if r.errorBar, err = r.SelfCheck(ctx); err != nil {
		r.errorBar, r.noErrorBar = nil, err.Error()
		r.Log.Warn("the self-check did not run; run.json says so", "reason", err)
	}
}
