package ingest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"assay/collect/engine"
	"assay/collect/record"
	"assay/ingest/store"
)

// Phases of readings and scrapes.
const (
	phaseBefore = "before"
	phaseDuring = "during"
	phaseAfter  = "after"
)

// loadPages parses the metrics pages of a folder into pages and
// engine_samples. They are read one by one on a connection of their own: a
// cell can have thousands, of 150 kB each.
func (l *loader) loadPages(ctx context.Context, tx *store.Tx, f *folder, tables map[string]tableFile) (err error) {
	t, ok := tables[record.Pages.Name]
	if !ok {
		return nil
	}
	rows, err := l.db.Query(ctx, "read pages", `SELECT page_seq, phase, start_ns, end_ns, start_unix_ns, http_status, error, body_sha256, body
		FROM read_parquet(`+literal(t.path)+`, hive_partitioning = false) ORDER BY page_seq`)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Error("close pages", rows.Close())) }()
	key := []any{l.campaign.plan.CampaignID, f.arm, f.cell, f.attempt}
	var stored [][]any
	err = tx.Append("engine_samples", func(add func(...any) error) error {
		for rows.Next() {
			var p record.Page
			if err := rows.Scan(&p.Seq, &p.Phase, &p.StartNs, &p.EndNs, &p.StartUnixNs, &p.HTTPStatus, &p.Error, &p.BodySHA256, &p.Body); err != nil {
				return store.Error("read pages", err)
			}
			series, err := l.loadPage(f, p, func(sample ...any) error { return add(append(slices.Clone(key), sample...)...) })
			if err != nil {
				return err
			}
			stored = append(stored, append(slices.Clone(key), p.Seq, p.Phase, p.StartNs, p.EndNs, p.StartUnixNs,
				store.Null(p.HTTPStatus), p.Error, p.BodySHA256, bodyBytes(p), series))
		}
		return store.Error("read pages", rows.Err())
	})
	if err != nil {
		return err
	}
	return tx.Append("pages", func(add func(...any) error) error {
		for _, row := range stored {
			if err := add(row...); err != nil {
				return err
			}
		}
		return nil
	})
}

func bodyBytes(p record.Page) any {
	if p.Body == nil {
		return nil
	}
	return int64(len(p.Body))
}

// whole reports whether a scrape brought a page worth reading.
func whole(p record.Page) bool {
	return p.Body != nil && p.Error == "" && p.HTTPStatus != nil && *p.HTTPStatus == 200
}

// loadPage adds the samples of one page and returns the number of its series,
// nil when there is no page. Histograms of pages during a cell are left out:
// only the difference over the cell has a meaning.
func (l *loader) loadPage(f *folder, p record.Page, add func(...any) error) (series any, err error) {
	if !whole(p) {
		return nil, nil
	}
	page, problems := engine.ParsePage(p.Body)
	for _, found := range problems {
		f.add(Problem{Code: CodePageLine, Source: path.Join(f.path, "pages.parquet"),
			Position: fmt.Sprintf("page %d, line %d", p.Seq, found.Line), Detail: found.Code})
	}
	seen := map[string]bool{}
	for _, s := range page.Series {
		seen[s.Family] = true
		if p.Phase == phaseDuring && s.Type == engine.TypeHistogram {
			continue
		}
		_, declared := page.Families[s.Family]
		if err := add(p.Seq, p.Phase, p.EndNs, s.Name, s.Labels, store.Null(s.LE), s.Value, declared); err != nil {
			return nil, err
		}
	}
	for _, family := range slices.Sorted(maps.Keys(page.Families)) {
		if seen[family] || p.Phase == phaseDuring && page.Families[family] == engine.TypeHistogram {
			continue
		}
		if err := add(p.Seq, p.Phase, p.EndNs, family, "{}", nil, nil, true); err != nil {
			return nil, err
		}
	}
	return int64(len(page.Series)), nil
}

// loadIdentities reads what the engine said about itself before and after the
// cell: the last answer to each question of a phase, and the process start on
// the last page of it.
func (l *loader) loadIdentities(ctx context.Context, tx *store.Tx, f *folder) error {
	rows, err := tx.Query(ctx, "read answers", `SELECT phase, path, at_ns, http_status, error, body FROM raw_answers ORDER BY phase, path, at_ns`)
	answers, err := store.Collect(rows, err, func(a *record.Answer) []any {
		return []any{&a.Phase, &a.Path, &a.AtNs, &a.HTTPStatus, &a.Error, &a.Body}
	})
	if err != nil {
		return err
	}
	rows, err = tx.Query(ctx, "read pages around the cell", `SELECT phase, http_status, error, body FROM raw_pages
		WHERE phase IN ('before', 'after') QUALIFY row_number() OVER (PARTITION BY phase ORDER BY page_seq DESC) = 1 ORDER BY phase`)
	pages, err := store.Collect(rows, err, func(p *record.Page) []any { return []any{&p.Phase, &p.HTTPStatus, &p.Error, &p.Body} })
	if err != nil {
		return err
	}
	facts := identityFacts(answers, pages)
	return tx.Append("identities", func(add func(...any) error) error {
		for _, fact := range facts {
			if err := add(l.campaign.plan.CampaignID, f.arm, f.cell, f.attempt, fact.phase, fact.Fact.Fact, store.Null(fact.Value), fact.Source, textOrNull(fact.Reason)); err != nil {
				return err
			}
		}
		return nil
	})
}

type phaseFact struct {
	phase string
	engine.Fact
}

// identityFacts takes the last answer of each path and phase, and one process
// start for each phase, known or not.
func identityFacts(answers []record.Answer, pages []record.Page) []phaseFact {
	var facts []phaseFact
	for i, a := range answers {
		if i+1 < len(answers) && answers[i+1].Phase == a.Phase && answers[i+1].Path == a.Path {
			continue
		}
		for _, fact := range engine.AnswerFacts(a) {
			facts = append(facts, phaseFact{a.Phase, fact})
		}
	}
	for _, phase := range []string{phaseBefore, phaseAfter} {
		fact := engine.Fact{Fact: engine.FactProcessStart, Source: "/metrics", Reason: "no_page"}
		found := []engine.Fact{fact}
		for _, p := range pages {
			if p.Phase == phase && whole(p) {
				page, _ := engine.ParsePage(p.Body)
				found = engine.PageFacts(page)
			}
		}
		for _, fact := range found {
			facts = append(facts, phaseFact{phase, fact})
		}
	}
	return facts
}
