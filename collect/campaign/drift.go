package campaign

import (
	"fmt"
	"slices"

	"assay/collect/engine"
	"assay/collect/record"
)

// Identity facts beside those of package engine. But for the restart count
// their values are private; a drift names the fact only.
const (
	FactContainerID  = "container_id"  // id of the engine's container
	FactImage        = "image_digest"  // digest of its image
	FactRestartCount = "restart_count" // how often the Docker Engine restarted it

	factPlanDigest  = "plan_digest"
	factCgroupInode = "cgroup_inode"
)

// identityFacts are the facts a drift is told by (measurement.md section 12),
// in the order they are reported.
var identityFacts = []string{
	engine.FactServedID, engine.FactMaxModelLen, engine.FactMaxNumSeqs, engine.FactEngineVersion, engine.FactProcessStart,
	FactContainerID, FactImage, FactRestartCount, factCgroupInode, factPlanDigest,
}

// shownFacts are those whose values may be printed.
var shownFacts = []string{engine.FactServedID, engine.FactMaxModelLen, engine.FactMaxNumSeqs, engine.FactEngineVersion, engine.FactProcessStart, FactRestartCount}

// identity holds what is known of an arm's engine, by fact. What an engine does
// not say is not in it.
type identity map[string]string

// drift lists what changed, one sentence each; empty for none.
type drift struct{ changes []string }

// compare tells what changed from was to is. A fact that either side does not
// know is no change: unknown is not another value.
func compare(was, is identity, when string) drift {
	var d drift
	for _, fact := range identityFacts {
		before, known := was[fact]
		after, still := is[fact]
		switch {
		case !known || !still || before == after:
		case slices.Contains(shownFacts, fact):
			d.changes = append(d.changes, fmt.Sprintf("%s was %s and is %s %s the cell", fact, before, after, when))
		default:
			d.changes = append(d.changes, fmt.Sprintf("%s changed; seen %s the cell", fact, when))
		}
	}
	return d
}

// merge adds to an identity what it did not know yet.
func (i identity) merge(more identity) {
	for fact, value := range more {
		if _, known := i[fact]; !known {
			i[fact] = value
		}
	}
}

// readIdentity decodes the answers and the last page of one phase.
func readIdentity(answers []record.Answer, page record.Page) identity {
	found := identity{}
	var facts []engine.Fact
	for _, a := range answers {
		facts = append(facts, engine.AnswerFacts(a)...)
	}
	if page.Error == "" {
		parsed, _ := engine.ParsePage(page.Body)
		facts = append(facts, engine.PageFacts(parsed)...)
	}
	for _, f := range facts {
		if f.Value != nil {
			found[f.Fact] = *f.Value
		}
	}
	return found
}

// protocol is how an arm's engine answers on the wire, "" while unknown.
type protocol struct{ reasoning, http, usage string }

// learn takes in one answer and returns what differs from the ones before it.
// An answer without reasoning, head or terminal stream says nothing of that.
func (p *protocol) learn(a answer) []string {
	var changes []string
	for _, part := range []struct {
		name  string
		known *string
		seen  string
	}{{"the reasoning field", &p.reasoning, a.reasoning}, {"the HTTP version", &p.http, a.http}, {"usage", &p.usage, a.usage}} {
		switch {
		case part.seen == "" || part.seen == *part.known:
		case *part.known == "":
			*part.known = part.seen
		default:
			changes = append(changes, fmt.Sprintf("%s was %s and is %s in request %d", part.name, *part.known, part.seen, a.index))
		}
	}
	return changes
}
