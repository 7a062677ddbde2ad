package ingest_test

import (
	"testing"
	"time"

	. "assay/ingest/ingesttest"
)

// A page whose bytes are not those that were scraped is no evidence, whatever it
// says.
func TestPageOfAnotherDigestIsNotUsed(t *testing.T) {
	run := NewRun(t, Plan(t, CellSpec{ID: "x", Arm: "a"}))
	a := run.Cell("x").Fill().Page("before", 0, "good 1\n").Page("during", time.Second, "good 2\n").Page("after", 2*time.Second, "good 3\n")
	a.Pages[1].Body = []byte("good 9\n")
	a.Pages[2].BodySHA256 = ""
	db := openDB(t)
	load(t, db, run.Write())
	want(t, query(t, db, "SELECT phase, error, series, body_bytes FROM pages ORDER BY page_seq"), "before||1|7", "during|hash_mismatch|null|7", "after|hash_mismatch|null|7")
	want(t, query(t, db, "SELECT value FROM engine_samples"), "1")
	want(t, codes(t, db), "page_hash pages.parquet|page 1", "page_hash pages.parquet|page 2")
}

// A page cut at the end of a line is well-formed. What the page before had and
// this one lacks shows it.
func TestShortPagesAreFlaggedAgainstTheWholePageBefore(t *testing.T) {
	full := "a 1\nb 2\nc 3\nd 4\n"
	run := NewRun(t, Plan(t, CellSpec{ID: "x", Arm: "a"}))
	a := run.Cell("x").Fill()
	for i, body := range []string{full, "a 1\n", full, "a 1\nb 2\nc 3\n", "a 1\nb 2\nc 3\n", "<html>", "a 1\nb 2\nc 3\n"} {
		a.Page("during", time.Duration(i)*time.Second, body)
	}
	db := openDB(t)
	load(t, db, run.Write())
	want(t, query(t, db, "SELECT page_seq, error, series FROM pages ORDER BY 1"),
		"0||4", "1|short_page|1", "2||4", "3||3", "4||3", "5|not_metrics|null", "6||3")
	want(t, query(t, db, "SELECT position, detail FROM problems WHERE code = 'page_families' ORDER BY 1"),
		"page 1|3 of 4 families of the page before are missing; it is not used", "page 3|1 of 4 families of the page before are missing")
}

func TestContentTypeOfAPageIsKept(t *testing.T) {
	run := NewRun(t, Plan(t, CellSpec{ID: "x", Arm: "a"}))
	a := run.Cell("x").Fill().Page("during", 0, "a 1\n")
	a.Pages[0].ContentType = "text/html; charset=utf-8"
	db := openDB(t)
	load(t, db, run.Write())
	want(t, query(t, db, "SELECT content_type FROM pages"), "text/html; charset=utf-8")
}
