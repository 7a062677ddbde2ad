// Package plan holds the frozen plan of a campaign: it decodes the file, checks
// it, says which eligibility rules it demands, expands a short spec into it,
// redacts it for publication, and writes its lock.
//
// In come bytes: a plan (JSON), a spec (YAML) or a lock (JSON). Out go values,
// and [Problem] and [Warning] lists that name a place by JSON pointer. A problem
// means the plan must not be run as it is; a warning means it may, and the
// operator should know.
//
// The package never sends a request, never reads a clock, and never writes a
// file. [Load] is the only function that opens one. It never fills in a value
// the plan leaves out: a missing request control is nil, and is not sent.
//
//	p, problems, err := plan.Load("plan.json")
//	if err != nil || p == nil {
//		return err
//	}
//	more, warnings := plan.Check(p, time.Now())
package plan
