package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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

// Errors that ingest gives to pages the collector took for whole.
const (
	pageHashMismatch = "hash_mismatch" // the bytes are not those that were scraped
	pageShort        = "short_page"    // more than half of the families of the page before are missing
)

// loadPages parses the metrics pages of a folder into pages and
// engine_samples. They are read one by one on a connection of their own: a
// cell can have thousands, of 150 kB each.
func (l *loader) loadPages(ctx context.Context, tx *store.Tx, f *folder, tables map[string]tableFile) (err error) {
	t, ok := tables[record.Pages.Name]
	if !ok {
		return nil
	}
	rows, err := l.db.Query(ctx, "read pages", `SELECT page_seq, phase, start_ns, end_ns, start_unix_ns, http_status, content_type, error, body_sha256, body
		FROM read_parquet(`+literal(t.path)+`, hive_partitioning = false) ORDER BY page_seq`)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Error("close pages", rows.Close())) }()
	key := []any{l.campaign.plan.CampaignID, f.arm, f.cell, f.attempt}
	var stored [][]any
	var families map[string]bool
	err = tx.Append("engine_samples", func(add func(...any) error) error {
		for rows.Next() {
			var p record.Page
			if err := rows.Scan(&p.Seq, &p.Phase, &p.StartNs, &p.EndNs, &p.StartUnixNs, &p.HTTPStatus, &p.ContentType, &p.Error, &p.BodySHA256, &p.Body); err != nil {
				return store.Error("read pages", err)
			}
			read := readPage(p, families)
			families = read.families
			for _, found := range read.problems {
				f.add(found.in(path.Join(f.path, "pages.parquet")))
			}
			err := read.samples(p, func(sample ...any) error { return add(append(slices.Clone(key), sample...)...) })
			if err != nil {
				return err
			}
			stored = append(stored, append(slices.Clone(key), p.Seq, p.Phase, p.StartNs, p.EndNs, p.StartUnixNs,
				store.Null(p.HTTPStatus), p.ContentType, read.err, p.BodySHA256, bodyBytes(p), read.series()))
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

// readScrape is what one scrape turned out to be.
type readScrape struct {
	page     engine.Page
	err      string // why there is no whole page; empty when there is one
	read     bool   // page was read
	problems []Problem
	// families that have series on the last whole page up to this one.
	families map[string]bool
}

// readPage reads one page. before are the families of the whole page before it:
// under load some servers answer with a part of their page, with status 200 and a
// last line that is whole, and only what is missing shows it.
func readPage(p record.Page, before map[string]bool) readScrape {
	r := readScrape{err: p.Error, families: before}
	if !whole(p) {
		return r
	}
	at := fmt.Sprintf("page %d", p.Seq)
	if sum := sha256.Sum256(p.Body); hex.EncodeToString(sum[:]) != p.BodySHA256 {
		r.err = pageHashMismatch
		r.problems = append(r.problems, Problem{Code: CodePageHash, Position: at, Detail: "the stored page is not the one whose digest was recorded; it is not used"})
		return r
	}
	page, found := engine.ParsePage(p.Body)
	for _, bad := range found {
		r.problems = append(r.problems, Problem{Code: CodePageLine, Position: fmt.Sprintf("%s, line %d", at, bad.Line), Detail: bad.Code})
		if bad.Code == engine.PageEmpty || bad.Code == engine.PageNotMetrics {
			r.err = bad.Code
		}
	}
	if r.err != "" {
		return r
	}
	r.page, r.read = page, true
	have := map[string]bool{}
	for _, s := range page.Series {
		have[s.Family] = true
	}
	missing := 0
	for family := range before {
		if !have[family] {
			missing++
		}
	}
	if missing > 0 {
		detail := fmt.Sprintf("%d of %d families of the page before are missing", missing, len(before))
		if 2*missing > len(before) {
			r.err = pageShort
			detail += "; it is not used"
		}
		r.problems = append(r.problems, Problem{Code: CodePageFamilies, Position: at, Detail: detail})
	}
	if r.err == "" {
		r.families = have
	}
	return r
}

// in gives a problem its source.
func (p Problem) in(source string) Problem {
	p.Source = source
	return p
}

// series is the number of series read; nil when there is no page to read.
func (r readScrape) series() any {
	if !r.read {
		return nil
	}
	return int64(len(r.page.Series))
}

// samples adds the samples of a page. Histograms of pages during a cell are left
// out: only the difference over the cell has a meaning.
func (r readScrape) samples(p record.Page, add func(...any) error) error {
	seen := map[string]bool{}
	for _, s := range r.page.Series {
		seen[s.Family] = true
		if p.Phase == phaseDuring && s.Type == engine.TypeHistogram {
			continue
		}
		_, declared := r.page.Families[s.Family]
		if err := add(p.Seq, p.Phase, p.EndNs, s.Name, s.Labels, store.Null(s.LE), s.Value, declared); err != nil {
			return err
		}
	}
	for _, family := range slices.Sorted(maps.Keys(r.page.Families)) {
		if seen[family] || p.Phase == phaseDuring && r.page.Families[family] == engine.TypeHistogram {
			continue
		}
		if err := add(p.Seq, p.Phase, p.EndNs, family, "{}", nil, nil, true); err != nil {
			return err
		}
	}
	return nil
}

// loadIdentities reads what the engine said about itself before and after the
// cell: the last answer to each question of a phase, and the process start on
// the last whole page of it.
func (l *loader) loadIdentities(ctx context.Context, tx *store.Tx, f *folder) error {
	rows, err := tx.Query(ctx, "read answers", `SELECT phase, path, at_ns, http_status, error, body FROM raw_answers ORDER BY phase, path, at_ns`)
	answers, err := store.Collect(rows, err, func(a *record.Answer) []any {
		return []any{&a.Phase, &a.Path, &a.AtNs, &a.HTTPStatus, &a.Error, &a.Body}
	})
	if err != nil {
		return err
	}
	rows, err = tx.Query(ctx, "read pages around the cell", `SELECT phase, http_status, error, body FROM raw_pages
		WHERE page_seq IN (SELECT max(page_seq) FROM pages WHERE campaign = ? AND cell = ? AND attempt = ?
			AND phase IN ('before', 'after') AND series IS NOT NULL AND error = '' GROUP BY phase) ORDER BY phase`,
		l.campaign.plan.CampaignID, f.cell, f.attempt)
	pages, err := store.Collect(rows, err, func(p *record.Page) []any { return []any{&p.Phase, &p.HTTPStatus, &p.Error, &p.Body} })
	if err != nil {
		return err
	}
	if err := l.writeEngineFacts(tx, f, answers, pages); err != nil {
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

// writeEngineFacts stores what every answer says about what the engine is and can
// hold, and which engine the phase before the cell shows.
func (l *loader) writeEngineFacts(tx *store.Tx, f *folder, answers []record.Answer, pages []record.Page) error {
	return tx.Append("engine_facts", func(add func(...any) error) error {
		put := func(phase string, r engine.Report) error {
			return add(l.campaign.plan.CampaignID, f.arm, f.cell, f.attempt, phase, r.Fact, r.Value, r.Unit, r.Source, r.Confidence, r.Place)
		}
		for _, a := range answers {
			for _, r := range engine.AnswerReports(a) {
				if err := put(a.Phase, r); err != nil {
					return err
				}
			}
		}
		for _, phase := range []string{phaseBefore, phaseAfter} {
			page := engine.Page{}
			for _, p := range pages {
				if p.Phase == phase {
					page, _ = engine.ParsePage(p.Body)
				}
			}
			of := slices.DeleteFunc(slices.Clone(answers), func(a record.Answer) bool { return a.Phase != phase })
			if r, ok := engine.Fingerprint(of, page); ok {
				if err := put(phase, r); err != nil {
					return err
				}
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
