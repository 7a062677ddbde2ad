package cases

import (
	"context"
	"fmt"
	"strings"

	"assay/ingest/plantedtest"
	"assay/ingest/store"
)

// found reads a query of texts: the campaign, a key and a value.
func found(ctx context.Context, db *store.DB, query string) (map[string]map[string]string, error) {
	type row struct{ campaign, key, value string }
	rows, err := db.Query(ctx, "read what was found", query)
	all, err := store.Collect(rows, err, func(r *row) []any { return []any{&r.campaign, &r.key, &r.value} })
	if err != nil {
		return nil, err
	}
	by := map[string]map[string]string{}
	for _, r := range all {
		if by[r.campaign] == nil {
			by[r.campaign] = map[string]string{}
		}
		if _, twice := by[r.campaign][r.key]; twice {
			r.value = "two rows"
		}
		by[r.campaign][r.key] = r.value
	}
	return by, nil
}

// compare holds what a query found against what each truth says, both ways.
func (g *generated) compare(ctx context.Context, db *store.DB, query string, want func(plantedtest.Truth) map[string]string) error {
	got, err := found(ctx, db, query)
	if err != nil {
		return err
	}
	for id, truth := range g.truths {
		wanted := want(truth)
		for key, value := range wanted {
			if have, ok := got[id][key]; !ok {
				g.note(id, "%s: no row, want %s%s", key, value, planted(truth, key))
			} else if have != value {
				g.note(id, "%s: %s, want %s%s", key, have, value, planted(truth, key))
			}
		}
		for key, value := range got[id] {
			if _, ok := wanted[key]; !ok {
				g.note(id, "%s: %s, want no row", key, value)
			}
		}
	}
	return nil
}

// planted says what was planted in the request that a key is about.
func planted(truth plantedtest.Truth, key string) string {
	for _, r := range truth.Requests {
		if strings.HasPrefix(key+" ", fmt.Sprintf("%s attempt %d request %d ", r.Cell, r.Attempt, r.Index)) && len(r.Planted) > 0 {
			return fmt.Sprintf(" (planted: %s)", strings.Join(r.Planted, ", "))
		}
	}
	return ""
}

// number prints a count that may be unknown as SQL prints it below.
func number(n *int64) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}

// compareRequests holds the facts of every attempt against the stream planted:
// outcome, fault class, times to the nanosecond and tokens.
func (g *generated) compareRequests(ctx context.Context, db *store.DB) error {
	const query = `SELECT campaign, concat_ws(' ', cell, 'attempt', attempt, 'request', request_index),
		concat_ws(' ', outcome, coalesce(fault_class, '-'), dispatched, end_kind <> 'not_recorded',
			'times', coalesce(ttfo_ns::VARCHAR, '-'), coalesce(ttft_ns::VARCHAR, '-'), coalesce(last_output_ns::VARCHAR, '-'), coalesce(done_ns::VARCHAR, '-'),
			'tokens', coalesce(prompt_tokens::VARCHAR, '-'), coalesce(completion_tokens::VARCHAR, '-'))
		FROM request_facts`
	return g.compare(ctx, db, query, func(truth plantedtest.Truth) map[string]string {
		all := map[string]string{}
		for _, r := range truth.Requests {
			class := r.FaultClass
			if class == "" {
				class = "-"
			}
			all[fmt.Sprintf("%s attempt %d request %d", r.Cell, r.Attempt, r.Index)] = fmt.Sprintf("%s %s %t %t times %s %s %s %s tokens %s %s",
				r.Outcome, class, r.Dispatched, r.Recorded, number(r.TTFO), number(r.TTFT), number(r.LastOutput), number(r.E2E), number(r.Prompt), number(r.Completion))
		}
		return all
	})
}

func (g *generated) compareVerdicts(ctx context.Context, db *store.DB) error {
	const query = `SELECT campaign, concat_ws(' ', cell, 'attempt', attempt, 'request', request_index, rule), verdict FROM request_verdicts`
	err := g.compare(ctx, db, query, func(truth plantedtest.Truth) map[string]string {
		all := map[string]string{}
		for _, r := range truth.Requests {
			for rule, verdict := range r.Verdicts {
				if r.Counted {
					all[fmt.Sprintf("%s attempt %d request %d %s", r.Cell, r.Attempt, r.Index, rule)] = verdict
				}
			}
		}
		return all
	})
	if err != nil {
		return err
	}
	const cellQuery = `SELECT campaign, concat_ws(' ', cell, 'attempt', attempt, rule), verdict FROM cell_verdicts`
	return g.compare(ctx, db, cellQuery, func(truth plantedtest.Truth) map[string]string {
		all := map[string]string{}
		for _, c := range truth.Cells {
			for rule, verdict := range c.Verdicts {
				all[fmt.Sprintf("%s attempt %d %s", c.Cell, c.Attempt, rule)] = verdict
			}
		}
		return all
	})
}

func (g *generated) compareCells(ctx context.Context, db *store.DB) error {
	const query = `SELECT campaign, 'eligibility of ' || cell, concat_ws(' ', arm, attempt, run_state, eligibility,
		planned, dispatched, terminal, passing, eligible, array_to_string(from_json(failed_rules, '["VARCHAR"]'), ','))
		FROM cell_eligibility`
	return g.compare(ctx, db, query, func(truth plantedtest.Truth) map[string]string {
		all := map[string]string{}
		for _, c := range truth.Cells {
			all["eligibility of "+c.Cell] = fmt.Sprint(c.Arm, " ", c.Attempt, " ", c.RunState, " ", c.Eligibility, " ",
				c.Planned, " ", c.Dispatched, " ", c.Terminal, " ", c.Passing, " ", c.Eligible, " ", strings.Join(c.FailedRules, ","))
		}
		return all
	})
}

// comparePairs takes the reasons by their kind: the wording is the view's own.
func (g *generated) comparePairs(ctx context.Context, db *store.DB) error {
	const query = `SELECT campaign, concat('pair ', coalesce(baseline_cell, 'none'), ' and ', coalesce(candidate_cell, 'none')),
		concat(comparable, ' ', array_to_string(list_sort(list_distinct(list_transform(from_json(reasons, '["VARCHAR"]'), lambda r: CASE
			WHEN starts_with(r, 'unpaired: ') THEN 'unpaired ' || split_part(r, ' ', 2)
			WHEN starts_with(r, 'control differs: ') THEN 'control ' || split_part(r, ' ', 3)
			WHEN contains(r, ' differs at index ') THEN split_part(r, ' ', 1)
			ELSE split_part(split_part(split_part(r, ':', 1), ',', 1), ' ', 2) || ' ' || split_part(r, ' ', 1) END))), ', '))
		FROM pair_comparability`
	return g.compare(ctx, db, query, func(truth plantedtest.Truth) map[string]string {
		all := map[string]string{}
		for _, p := range truth.Pairs {
			name := func(cell string) string {
				if cell == "" {
					return "none"
				}
				return cell
			}
			all[fmt.Sprintf("pair %s and %s", name(p.Baseline), name(p.Candidate))] = fmt.Sprintf("%t %s", p.Comparable, strings.Join(p.Reasons, ", "))
		}
		return all
	})
}

func (g *generated) compareFlags(ctx context.Context, db *store.DB) error {
	const query = `SELECT campaign, 'flags of ' || cell, string_agg(DISTINCT mark, ', ' ORDER BY mark) FROM (
		SELECT campaign, cell, concat_ws(' ', flag, coalesce(request_index::VARCHAR, 'cell'),
			CASE WHEN metric IS NULL THEN 'noted' WHEN metric IN ('engine_means', 'token_attribution') THEN metric ELSE 'withheld' END) AS mark
		FROM metric_withholdings) GROUP BY ALL`
	return g.compare(ctx, db, query, func(truth plantedtest.Truth) map[string]string {
		all := map[string]string{}
		for _, c := range truth.Cells {
			if len(c.Flags) > 0 {
				all["flags of "+c.Cell] = strings.Join(c.Flags, ", ")
			}
		}
		return all
	})
}

// compareEngine holds the sums of deltas, or the code of why there is none,
// against the pages planted.
func (g *generated) compareEngine(ctx context.Context, db *store.DB) error {
	const query = `SELECT campaign, concat('engine of ', cell, ' ', canonical),
		CASE WHEN count(reason) > 0 THEN string_agg(DISTINCT split_part(reason, ':', 1), ', ') ELSE 'delta ' || sum(delta)::BIGINT END
		FROM (SELECT campaign, cell, canonical, reason, delta FROM counter_deltas
			WHERE canonical IN ('requests_finished', 'prompt_tokens', 'generation_tokens', 'preemptions')
			UNION ALL SELECT campaign, cell, canonical, reason, delta FROM histogram_deltas WHERE le = 'Infinity'::DOUBLE AND canonical = 'e2e_seconds')
		GROUP BY campaign, cell, canonical`
	return g.compare(ctx, db, query, func(truth plantedtest.Truth) map[string]string {
		all := map[string]string{}
		for _, c := range truth.Cells {
			for name, value := range c.Counters {
				all["engine of "+c.Cell+" "+name] = value
			}
		}
		return all
	})
}

// compareProblems: a lost row, a lost event, a cut page and a spool that is
// left each have a row that says so.
func (g *generated) compareProblems(ctx context.Context, db *store.DB) error {
	const query = `SELECT campaign, concat_ws(' ', 'problem', code, 'in', cell, 'attempt', attempt, CASE WHEN starts_with(position, 'request') THEN position END), 'noted'
		FROM problems WHERE cell IS NOT NULL`
	return g.compare(ctx, db, query, func(truth plantedtest.Truth) map[string]string {
		all := map[string]string{}
		for _, p := range truth.Problems {
			all[strings.TrimSpace(fmt.Sprintf("problem %s in %s attempt %d %s", p.Code, p.Cell, p.Attempt, p.Position))] = "noted"
		}
		return all
	})
}
