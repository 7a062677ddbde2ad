package recompute

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"assay/collect/plan"
	"assay/report/bundle"
)

// Files of a bundle that these checks read.
const (
	planFile     = "plan.json"
	lockFile     = "plan.lock.json"
	campaignFile = "tables/campaign.csv"
)

// checkPlan is V-10: the plan as published has the digest that the lock and the
// manifest name, the three agree on everything they share, the finding is the
// one the plan names, and redacting the plan once more changes nothing. A finding
// that sends no request has none of them.
func checkPlan(l *bundle.Loaded) []bundle.Problem {
	p := &problems{code: "V-10", folder: l.Folder}
	if why := requestless(l); why != "" {
		p.add(campaignPart(l), "%s, and this is of a campaign", why)
		return p.all()
	}
	published, lock, err := readPlan(l)
	if err != nil {
		p.add(planFile, "%v", err)
		return p.all()
	}
	pre := l.Manifest.Predicate
	if pre.PlanLock == nil {
		p.add(bundle.ManifestName, "names no plan lock")
		return p.all()
	}
	same := func(what, got, want string) {
		if got != want {
			p.add(planFile, "%s: %s in the one place, %s in the other", what, got, want)
		}
	}
	same("SHA-256 of the plan as published, and the lock's", published.Digest(), lock.RedactedCanonicalSHA256)
	same("SHA-256 of the published plan, in the lock and the manifest", lock.RedactedCanonicalSHA256, pre.PlanLock.RedactedSHA256)
	same("SHA-256 of the private plan, in the lock and the manifest", lock.CanonicalSHA256, pre.PlanLock.CanonicalSHA256)
	same("time of the lock, in the lock and the manifest", strconv.FormatInt(lock.LockedAtUnixNs, 10), strconv.FormatInt(pre.PlanLock.LockedAtUnixNs, 10))
	if again, _, err := plan.Redact(published); err != nil || again.Digest() != published.Digest() {
		p.add(planFile, "redacting it once more changes it, so it is not the redacted plan")
	}
	if !slices.ContainsFunc(pre.Inputs, func(in bundle.Input) bool { return in.Kind == "plan" && in.SHA256 == lock.BytesSHA256 }) {
		p.add(lockFile, "the plan's file is not among the inputs of the manifest")
	}
	if pre.Finding.Supersedes != "" {
		return p.list // the plan names the first finding; a correction has a name of its own
	}
	finding, _ := published.Publication.Get("finding")
	same("finding of the plan, and of the manifest", strings.TrimSuffix(path.Base(finding), ".md"), pre.Finding.ID)
	return p.all()
}

func readPlan(l *bundle.Loaded) (*plan.Plan, plan.Lock, error) {
	text, lockText := fileData(l, planFile), fileData(l, lockFile)
	if text == nil || lockText == nil {
		return nil, plan.Lock{}, errors.New("plan or lock is not in the bundle")
	}
	p, found := plan.Decode(text)
	if p == nil || len(found) > 0 {
		return nil, plan.Lock{}, fmt.Errorf("not a plan: %d problems", len(found))
	}
	lock, err := plan.DecodeLock(lockText)
	if err != nil {
		return nil, plan.Lock{}, errors.New("the lock beside it cannot be read")
	}
	return p, lock, nil
}

// checkLockTime is V-11, from the lock and the times the finding prints. That
// those follow from the data is for V-20 and V-21. The dispatch clock says
// nothing here: a frozen plan may state one from before the lock.
func checkLockTime(l *bundle.Loaded) []bundle.Problem {
	p := &problems{code: "V-11", folder: l.Folder}
	lock, err := plan.DecodeLock(fileData(l, lockFile))
	if err != nil {
		p.add(lockFile, "cannot be read")
		return p.all()
	}
	at, err := campaignTimes(fileData(l, campaignFile))
	if err != nil {
		p.add(campaignFile, "%v", err)
		return p.all()
	}
	locked := lock.LockedAtUnixNs
	first, requested := at["first_request_unix_ns"]
	last, ended := at["last_attempt_end_unix_ns"]
	if requested && first < locked {
		p.add(lockFile, "locked %d ns after the first request", locked-first)
	}
	if requested && ended && last < first {
		p.add(campaignFile, "the last attempt ended %d ns before the first request", first-last)
	}
	return p.all()
}

// campaignTimes reads the times of the one row of tables/campaign.csv; those it
// leaves empty are not in the map.
func campaignTimes(data []byte) (map[string]int64, error) {
	rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil || len(rows) != 2 {
		return nil, errors.New("is not a table of one row")
	}
	out := map[string]int64{}
	for _, name := range []string{"first_request_unix_ns", "last_attempt_end_unix_ns"} {
		i := slices.Index(rows[0], name)
		if i < 0 {
			return nil, fmt.Errorf("has no column %s", name)
		}
		if rows[1][i] == "" {
			continue
		}
		if out[name], err = strconv.ParseInt(rows[1][i], 10, 64); err != nil {
			return nil, fmt.Errorf("%s is no whole number", name)
		}
	}
	return out, nil
}
