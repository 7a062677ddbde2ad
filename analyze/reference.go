package analyze

import (
	"context"
	"encoding/json"
	"strings"

	"assay/collect/engine"
	"assay/collect/plan"
	"assay/ingest/store"
)

// percentiles have a floor in the table percentile_floors. 99 is there so that
// a reader can see why it is never printed.
var percentiles = []int64{50, 75, 90, 95, 99}

// RuleUnreadable stands for what a plan demands and nothing evaluates: an
// eligibility sentence that matches no rule, or a plan that cannot be read. It
// is demanded, so it makes every cell of the campaign ineligible.
const RuleUnreadable plan.RuleID = "unreadable_demand"

func fillReference(ctx context.Context, tx *store.Tx) error {
	for _, fill := range []func(context.Context, *store.Tx) error{fillCanonical, fillPlans, fillStatistics} {
		if err := fill(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

func fillCanonical(_ context.Context, tx *store.Tx) error {
	return tx.Append("canonical_series", func(add func(...any) error) error {
		for i, m := range engine.Canonical() {
			err := add(m.Canonical, m.Kind, m.Unit, m.Definition, m.Aggregation,
				m.Engine, m.Rank, m.Source, m.Labels, copyPatch(m.CopyLabels), int64(i))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// copyPatch is the JSON merge patch that takes the named labels out of a set.
func copyPatch(labels string) string {
	patch := map[string]any{}
	for _, l := range strings.Fields(labels) {
		patch[l] = nil
	}
	text, err := json.Marshal(patch)
	if err != nil {
		panic(err) // strings and nulls only
	}
	return string(text)
}

type storedPlan struct{ campaign, text string }

func fillPlans(ctx context.Context, tx *store.Tx) error {
	rows, err := tx.Query(ctx, "read plans", "SELECT campaign, plan FROM campaigns ORDER BY campaign")
	stored, err := store.Collect(rows, err, func(p *storedPlan) []any { return []any{&p.campaign, &p.text} })
	if err != nil {
		return err
	}
	err = tx.Append("plan_rules", func(add func(...any) error) error {
		for _, s := range stored {
			p, _ := plan.Decode([]byte(s.text))
			for _, r := range campaignRules(p) {
				if err := add(s.campaign, string(r.ID), string(r.Scope), r.Meaning, jsonList(r.Inputs), r.demanded); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return tx.Append("plan_settings", func(add func(...any) error) error {
		for _, s := range stored {
			p, _ := plan.Decode([]byte(s.text))
			allowed, tolerance := settings(p)
			measured := ""
			if p != nil {
				measured = p.MeasuredDigest()
			}
			if err := add(s.campaign, allowed, tolerance, measured); err != nil {
				return err
			}
		}
		return nil
	})
}

type campaignRule struct {
	plan.Rule
	demanded bool
}

// campaignRules lists every rule and whether the plan demands it. Problems of a
// plan are those of plan check and not repeated here; but what a plan demands
// and cannot be evaluated must not pass unseen.
func campaignRules(p *plan.Plan) []campaignRule {
	demanded := map[plan.RuleID]bool{}
	unreadable := p == nil
	if p != nil {
		for _, id := range p.Rules() {
			demanded[id] = true
		}
		for _, sentence := range p.Eligibility {
			if _, ok := plan.Sentences[sentence]; !ok {
				unreadable = true
			}
		}
	}
	rules := make([]campaignRule, 0, len(plan.Rules)+1)
	for _, r := range plan.Rules {
		rules = append(rules, campaignRule{r, demanded[r.ID]})
	}
	if unreadable {
		rule := plan.Rule{ID: RuleUnreadable, Scope: plan.ScopeCell, Meaning: "never: the plan demands something that no rule evaluates"}
		rules = append(rules, campaignRule{rule, true})
	}
	return rules
}

func settings(p *plan.Plan) (allowed string, tolerance int64) {
	if p == nil {
		p = &plan.Plan{}
	}
	if t := p.Controls.PromptTokenTolerance; t != nil {
		tolerance = *t
	}
	return jsonList(plan.AllowedFinishReasons(p)), tolerance
}

// jsonList is a JSON list of texts; nil is the empty list.
func jsonList(texts []string) string {
	encoded, err := json.Marshal(append([]string{}, texts...))
	if err != nil {
		panic(err) // strings always encode
	}
	return string(encoded)
}

// fillStatistics covers every n up to the largest cell.
func fillStatistics(ctx context.Context, tx *store.Tx) error {
	rows, err := tx.Query(ctx, "read cell sizes", "SELECT coalesce(max(requests), 0) FROM cells")
	largest, err := store.Collect(rows, err, func(n *int64) []any { return []any{n} })
	if err != nil {
		return err
	}
	err = tx.Append("median_ranks", func(add func(...any) error) error {
		for _, r := range medianRanks(largest[0]) {
			if err := add(r.n, r.low, r.high); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return tx.Append("percentile_floors", func(add func(...any) error) error {
		for _, q := range percentiles {
			if err := add(q, plan.PercentileFloor(q)); err != nil {
				return err
			}
		}
		return nil
	})
}
