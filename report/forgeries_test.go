package report_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"assay/collect/plan"
	"assay/report"
	"assay/report/bundle"
)

// forgeries are tampers of a careful forger: everything is hashed again, and
// mostly rendered again too.
var forgeries = slices.Concat(planForgeries, dataForgeries, cellForgeries, derivedForgeries, claimForgeries, renderedForgeries)

// edit changes a file of the bundle and fails when nothing changes.
func edit(file string, change func(string) string) func(testing.TB, *bundle.Draft) {
	return func(t testing.TB, d *bundle.Draft) {
		t.Helper()
		changed := change(string(d.Files[file]))
		if changed == string(d.Files[file]) {
			t.Fatalf("the forgery changes nothing in %s", file)
		}
		d.Files[file] = []byte(changed)
	}
}

func replace(file, old, new string) func(testing.TB, *bundle.Draft) {
	return edit(file, func(s string) string { return strings.Replace(s, old, new, 1) })
}

// evidenceEdit is edit on the evidence, from which the rest is rendered.
func evidenceEdit(file, old, new string) func(testing.TB, report.Data) {
	return func(t testing.TB, data report.Data) {
		t.Helper()
		d := bundle.Draft{Files: data.Files}
		replace(file, old, new)(t, &d)
	}
}

// relock writes the lock and its place in the manifest for a changed plan or time.
func relock(t testing.TB, d *bundle.Draft, change func(*plan.Lock)) {
	t.Helper()
	lock, err := plan.DecodeLock(d.Files["plan.lock.json"])
	if err != nil {
		t.Fatal(err)
	}
	change(&lock)
	d.Files["plan.lock.json"] = lock.Encode()
	d.Predicate.PlanLock.RedactedSHA256 = lock.RedactedCanonicalSHA256
	d.Predicate.PlanLock.LockedAtUnixNs = lock.LockedAtUnixNs
}

const hour = int64(3_600_000_000_000)

var planForgeries = []tamper{
	{name: "plan edited after the lock", code: "V-10", level: 1, draft: replace("plan.json", "max_tokens", "max_tokenz")},
	{name: "plan edited and everything rendered again", code: "V-10", data: evidenceEdit("plan.json", "two Example GPUs", "six Example GPUs")},
	{name: "plan deleted", code: "V-10", level: 1, draft: func(_ testing.TB, d *bundle.Draft) {
		delete(d.Files, "plan.json")
		for i, r := range d.Predicate.Roles {
			if r.Role == bundle.RoleRunPlan {
				d.Predicate.Roles[i] = bundle.Role{Role: r.Role, State: bundle.RoleMissing, Reason: "lost"}
			}
		}
	}},
	{name: "another private plan in the manifest", code: "V-10", level: 1, draft: func(_ testing.TB, d *bundle.Draft) {
		d.Predicate.PlanLock.CanonicalSHA256 = strings.Repeat("0", 64)
	}},
	{name: "no lock in the manifest", code: "V-10", level: 1, draft: func(_ testing.TB, d *bundle.Draft) { d.Predicate.PlanLock = nil }},
	{name: "the plan's file no input", code: "V-10", level: 1, draft: func(_ testing.TB, d *bundle.Draft) {
		d.Predicate.Inputs = slices.DeleteFunc(d.Predicate.Inputs, func(in bundle.Input) bool { return in.Kind == "plan" })
	}},
	{name: "a plan that is not redacted, locked as it is", code: "V-10", level: 1, draft: func(t testing.TB, d *bundle.Draft) {
		replace("plan.json", "[PRIVATE_OPERATOR_ROOT]/recipes.toml", "/home/op/recipes.toml")(t, d)
		p, found := plan.Decode(d.Files["plan.json"])
		if len(found) > 0 {
			t.Fatal(found)
		}
		relock(t, d, func(lock *plan.Lock) { lock.RedactedCanonicalSHA256 = p.Digest() })
	}},
	{name: "a campaign said to be derived", code: "V-10", level: 1, draft: func(_ testing.TB, d *bundle.Draft) { d.Predicate.Finding.Kind = bundle.KindDerived }},
	{name: "lock moved after the first request", code: "V-11", level: 1, draft: func(t testing.TB, d *bundle.Draft) {
		relock(t, d, func(lock *plan.Lock) { lock.LockedAtUnixNs += hour })
	}},
	{name: "lock moved in the data too, and everything rendered again", code: "V-11", level: 1, data: func(t testing.TB, data report.Data) {
		report.EditTable(t, data, "data/campaigns.parquet", func(column func(string) int, rows [][]any) [][]any {
			rows[0][column("locked_at_unix_ns")] = rows[0][column("locked_at_unix_ns")].(int64) + hour
			return rows
		})
		lock, err := plan.DecodeLock(data.Files["plan.lock.json"])
		if err != nil {
			t.Fatal(err)
		}
		lock.LockedAtUnixNs += hour
		data.Files["plan.lock.json"] = lock.Encode()
	}},
	{name: "the last attempt over before the first request", code: "V-11", level: 1, draft: func(t testing.TB, d *bundle.Draft) {
		edit("tables/campaign.csv", func(s string) string {
			return s[:strings.LastIndexByte(s, ',')] + ",5\n"
		})(t, d)
	}},
	{name: "no builder record", code: "V-22", level: 1, requireBuilder: true, draft: func(_ testing.TB, d *bundle.Draft) { d.Predicate.Builder = bundle.Builder{} }},
}

// setValue changes the first value of a column that is not null.
func setValue(file, name string, to any) func(testing.TB, *bundle.Draft) {
	return func(t testing.TB, d *bundle.Draft) {
		t.Helper()
		report.EditTable(t, report.Data{Files: d.Files}, file, func(column func(string) int, rows [][]any) [][]any {
			at := slices.IndexFunc(rows, func(row []any) bool { return row[column(name)] != nil })
			if at < 0 {
				t.Fatalf("%s has no value in %s", file, name)
			}
			rows[at][column(name)] = to
			return rows
		})
	}
}

// bytesOf changes a data file's bytes.
func bytesOf(file string, change func([]byte) []byte) func(testing.TB, *bundle.Draft) {
	return func(_ testing.TB, d *bundle.Draft) { d.Files[file] = change(bytes.Clone(d.Files[file])) }
}

const requestsFile = "data/requests.parquet"

// dataForgeries are first and cheap: nothing is given to the database.
var dataForgeries = []tamper{
	{name: "not a number", code: "V-15", draft: setValue("data/host.parquet", "load_1m", math.NaN())},
	{name: "a bucket edge that is not finite", code: "V-15", draft: setValue("data/histograms.parquet", "le", math.Inf(-1))},
	{name: "negative duration", code: "V-15", draft: setValue(requestsFile, "ttfo_ns", int64(-1))},
	{name: "negative gap", code: "V-15", draft: setValue(requestsFile, "gap_p50_ns", int64(math.MinInt64))},
	{name: "negative tokens", code: "V-15", draft: setValue(requestsFile, "completion_tokens", int64(-5))},
	{name: "bad footer", code: "V-15", draft: bytesOf(requestsFile, func(b []byte) []byte {
		for i := len(b) - 200; i < len(b)-8; i++ {
			b[i] = 0xff
		}
		return b
	})},
	{name: "footer longer than the file", code: "V-15", draft: bytesOf(requestsFile, func(b []byte) []byte {
		binary.LittleEndian.PutUint32(b[len(b)-8:], math.MaxUint32)
		return b
	})},
	{name: "absurd count of rows", code: "V-15", draft: bytesOf("data/arms.parquet", func(b []byte) []byte {
		// The footer's third field, the next after a list: 2 rows, then a list.
		start := len(b) - 8 - int(binary.LittleEndian.Uint32(b[len(b)-8:]))
		at := start + bytes.Index(b[start:], []byte{0x16, 4, 0x19}) + 1
		footer := append(binary.AppendVarint(bytes.Clone(b[start:at]), 1<<40), b[at+1:len(b)-8]...)
		out := append(bytes.Clone(b[:start]), footer...)
		return append(binary.LittleEndian.AppendUint32(out, uint32(len(footer))), "PAR1"...)
	})},
	{name: "no Parquet at all", code: "V-15", draft: bytesOf(requestsFile, func([]byte) []byte { return []byte("PAR1") })},
	{name: "cut in the middle and closed again", code: "V-15", draft: bytesOf(requestsFile, func(b []byte) []byte {
		return append(b[:4000], b[len(b)-4000:]...)
	})},
	{name: "a page of zeros", code: "V-15", draft: bytesOf(requestsFile, func(b []byte) []byte { copy(b[100:], make([]byte, 60)); return b })},
	{name: "a bit in a page", code: "V-15", draft: bytesOf(requestsFile, func(b []byte) []byte { b[4] ^= 1; return b })},
	{name: "another table in its place", code: "V-15", draft: func(_ testing.TB, d *bundle.Draft) { d.Files["data/stops.parquet"] = d.Files["data/arms.parquet"] }},
	{name: "another campaign's file", code: "V-15", draft: bytesOf("data/arms.parquet", func(b []byte) []byte {
		at := bytes.Index(b, []byte("assay.plan_sha256")) + len("assay.plan_sha256") + 4
		copy(b[at:], bytes.Repeat([]byte("0"), 8))
		return b
	})},
	{name: "fewer rows described", code: "V-15", draft: replace("data/columns.json", `"rows": 2,`, `"rows": 1,`)},
	{name: "another unit described", code: "V-15", draft: replace("data/columns.json", `"unit": "ns"`, `"unit": "ms"`)},
	{name: "another type described", code: "V-15", draft: replace("data/columns.json", `"BIGINT"`, `"DOUBLE"`)},
	{name: "a file nobody described", code: "V-15", draft: func(_ testing.TB, d *bundle.Draft) { d.Files["data/more.parquet"] = d.Files[requestsFile] }},
	{name: "a data file missing", code: "V-15", draft: func(_ testing.TB, d *bundle.Draft) {
		delete(d.Files, "data/host.parquet")
		for i, r := range d.Predicate.Roles {
			d.Predicate.Roles[i].Files = slices.DeleteFunc(slices.Clone(r.Files), func(name string) bool { return strings.HasSuffix(name, "/data/host.parquet") })
		}
	}},
	{name: "descriptions lost", code: "V-15", draft: func(_ testing.TB, d *bundle.Draft) { d.Files["data/columns.json"] = []byte("{") }},
}

// rows changes the rows of a data file of the evidence.
func rows(file string, change func(column func(string) int, rows [][]any) [][]any) func(testing.TB, report.Data) {
	return func(t testing.TB, data report.Data) { report.EditTable(t, data, file, change) }
}

var cellForgeries = []tamper{
	{name: "a failed request removed", code: "V-16", data: rows(requestsFile, func(column func(string) int, rows [][]any) [][]any {
		return slices.DeleteFunc(rows, func(row []any) bool { return row[column("outcome")] == "idle_timeout" })
	})},
	{name: "a request twice", code: "V-16", draft: func(t testing.TB, d *bundle.Draft) {
		rows(requestsFile, func(_ func(string) int, rows [][]any) [][]any { return append(rows, rows[0]) })(t, report.Data{Files: d.Files})
	}},
	{name: "unplanned cell", code: "V-16", data: func(t testing.TB, data report.Data) {
		for file, change := range map[string]map[string]any{
			"data/cells.parquet": {"cell_order": int64(99)}, "data/attempts.parquet": {}, requestsFile: {},
		} {
			rows(file, func(column func(string) int, rows [][]any) [][]any {
				for _, row := range slices.Clone(rows) {
					if row[column("cell")] != "baseline-natural-ctx4096-c1" {
						continue
					}
					more := slices.Clone(row)
					more[column("cell")] = "baseline-natural-ctx4096-c9"
					for name, v := range change {
						more[column(name)] = v
					}
					rows = append(rows, more)
				}
				return rows
			})(t, data)
		}
	}},
	{name: "fewer requests said to be planned", code: "V-16", draft: func(_ testing.TB, d *bundle.Draft) { d.Predicate.Tally.Requests.Planned-- }},
	{name: "samples of an unplanned cell", code: "V-16", draft: func(t testing.TB, d *bundle.Draft) {
		setValue("data/gpu.parquet", "cell", "elsewhere")(t, d)
	}},
	{name: "a planned cell left out", code: "V-16", data: func(t testing.TB, data report.Data) {
		for _, file := range []string{"data/cells.parquet", "data/attempts.parquet", requestsFile} {
			rows(file, func(column func(string) int, rows [][]any) [][]any {
				return slices.DeleteFunc(rows, func(row []any) bool { return row[column("cell")] == "candidate-controlled-ctx4096-c2" })
			})(t, data)
		}
	}},
	{name: "an attempt that does not count", code: "V-16", draft: func(t testing.TB, d *bundle.Draft) {
		setValue("data/attempts.parquet", "counted", false)(t, d)
	}},
	{name: "a cell that stopped, said to be complete", code: "V-16", draft: func(t testing.TB, d *bundle.Draft) {
		rows("data/attempts.parquet", func(column func(string) int, rows [][]any) [][]any {
			for _, row := range rows {
				row[column("run_state")] = "complete"
			}
			return rows
		})(t, report.Data{Files: d.Files})
	}},
}

// eligible turns the verdict of an ineligible cell in a text.
func eligible(s string) string {
	return strings.ReplaceAll(s, "ineligible", "eligible")
}

var derivedForgeries = []tamper{
	{name: "ineligible set eligible", code: "V-17", draft: edit("verdicts.json", eligible)},
	{name: "ineligible set eligible wherever it stands", code: "V-17", draft: func(t testing.TB, d *bundle.Draft) {
		for name := range d.Files {
			if strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".csv") {
				d.Files[name] = []byte(eligible(string(d.Files[name])))
			}
		}
		d.Narrative = []byte(eligible(string(d.Narrative)))
	}},
	{name: "a pair made comparable", code: "V-17", draft: replace("verdicts.json", `"comparable": false`, `"comparable": true`)},
	{name: "a token in a text", code: "V-13", draft: edit("friction.md", func(s string) string { return s + "\nBearer 8e1f0c2d9b7a46355f1e0c2d9b7a4635\n" })},
	{name: "counter reset hidden", code: "V-18", draft: edit("tables/engine_histograms.csv", func(s string) string {
		hidden := regexp.MustCompile(`(?m)^(.*` + report.ResetCell + `.*,s,),,,,,,,,counter_reset[^,\n]*$`)
		return hidden.ReplaceAllString(s, "${1}8,18,2.25,,1,2.5,2.5,5,")
	})},
	{name: "a delta doubled", code: "V-18", draft: edit("tables/engine_counters.csv", func(s string) string {
		return regexp.MustCompile(`(?m)^(.*prompt_tokens.*,)([0-9]+)(,)$`).ReplaceAllString(s, "${1}9${2}${3}")
	})},
	{name: "p95 at n = 20 without its label", code: "V-19", draft: edit("tables/distributions.csv", func(s string) string {
		return regexp.MustCompile(`(?m)^(.*,20,.*)p95 descriptive`).ReplaceAllString(s, "${1}")
	})},
	{name: "a quantile improved", code: "V-19", draft: edit("tables/distributions.csv", func(s string) string {
		return regexp.MustCompile(`(?m)^([^\n]*,ttfo_ns,ns,[0-9]+,[0-9]+,)[0-9]+`).ReplaceAllString(s, "${1}1")
	})},
	{name: "n raised", code: "V-19", draft: edit("tables/distributions.csv", func(s string) string {
		return strings.Replace(s, ",ns,8,", ",ns,80,", 1)
	})},
}

// claimRow is one line of claims.json.
type claimRow struct {
	ID    string `json:"id"`
	Value string `json:"value"`
	Unit  string `json:"unit"`
	N     string `json:"n"`
	Text  string `json:"text"`
	Place []int  `json:"places"`
}

// claim changes the first claim of a query's column.
func claim(t testing.TB, d *bundle.Draft, prefix, suffix string, change func(*claimRow)) (before, after claimRow) {
	t.Helper()
	edit("claims.json", func(s string) string {
		for line := range strings.Lines(s) {
			text := strings.TrimSuffix(strings.TrimSpace(line), ",")
			if !strings.HasPrefix(text, `{"id":"`+prefix) || !strings.Contains(text, suffix+`","value"`) {
				continue
			}
			if err := json.Unmarshal([]byte(text), &before); err != nil {
				t.Fatal(err)
			}
			after = before
			change(&after)
			changed, err := json.Marshal(after)
			if err != nil {
				t.Fatal(err)
			}
			return strings.Replace(s, text, string(changed), 1)
		}
		return s
	})(t, d)
	return before, after
}

var claimForgeries = []tamper{
	{name: "claim and its text changed together", code: "V-20", draft: func(t testing.TB, d *bundle.Draft) {
		before, after := claim(t, d, "distributions:", ":p50", func(c *claimRow) { c.Value, c.Text = "1000000", "1 ms" })
		d.Narrative = bytes.ReplaceAll(d.Narrative, []byte(before.Text), []byte(after.Text))
	}},
	{name: "a claim of a row that is not there", code: "V-20", draft: func(t testing.TB, d *bundle.Draft) {
		claim(t, d, "tally:", ":cells_eligible", func(c *claimRow) { c.ID = strings.Replace(c.ID, ":", ":x", 1) })
	}},
	{name: "a query that says what the claims say", code: "V-20", draft: func(t testing.TB, d *bundle.Draft) {
		replace("queries/tally.sql", "SELECT", "SELECT 99 AS cells_eligible,")(t, d)
	}},
	{name: "a query that is no question", code: "V-20", draft: edit("queries/tally.sql", func(s string) string { return s + "; DROP TABLE request_facts" })},
	{name: "a query that reads the machine", code: "V-20", draft: edit("queries/tally.sql", func(s string) string {
		return strings.TrimSuffix(strings.TrimSpace(s), ";") + " UNION ALL BY NAME SELECT content AS campaign FROM read_text('doc.go')"
	})},
	{name: "no claims", code: "V-20", draft: func(_ testing.TB, d *bundle.Draft) { d.Files["claims.json"] = []byte("{}\n") }},
	{name: "a text that is not printed, in a format that is not rendered", code: "V-20", draft: func(t testing.TB, d *bundle.Draft) {
		d.Predicate.Format++
		slower(t, d)
	}},
}

// slower changes a digit of a latency in the result card, and nothing else.
func slower(t testing.TB, d *bundle.Draft) {
	t.Helper()
	at := regexp.MustCompile(`TTFO p50 [0-9]`).FindIndex(d.Narrative)
	if at == nil {
		t.Fatal("no TTFO in the narrative")
	}
	d.Narrative = bytes.Clone(d.Narrative)
	d.Narrative[at[1]-1] = '0' + (d.Narrative[at[1]-1]-'0'+1)%10
}

var renderedForgeries = []tamper{
	{name: "one number in the narrative", code: "V-21", draft: slower},
	{name: "one point in a plot", code: "V-21", draft: edit("plots/ttfo-by-context.svg", func(s string) string {
		at := strings.LastIndex(s, "L")
		return s[:at] + "L1" + s[at+1:]
	})},
	{name: "a claim left out", code: "V-21", draft: edit("claims.json", func(s string) string {
		lines := strings.SplitAfter(s, "\n")
		at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, `    {"id"`) })
		return strings.Join(slices.Delete(lines, at, at+1), "")
	})},
	{name: "a table nothing follows from", code: "V-21", draft: func(_ testing.TB, d *bundle.Draft) { d.Files["tables/more.csv"] = []byte("a\n1\n") }},
	{name: "a comment in a query", code: "V-21", draft: edit("queries/attempts.sql", func(s string) string { return s + "-- more\n" })},
	{name: "an input of the manifest", code: "V-21", draft: func(_ testing.TB, d *bundle.Draft) {
		d.Predicate.Inputs = append(d.Predicate.Inputs, bundle.Input{Name: "more", Kind: "events", SHA256: fmt.Sprintf("%064d", 1)})
	}},
}
