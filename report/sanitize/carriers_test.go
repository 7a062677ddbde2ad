package sanitize

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"assay/collect/private"
)

// parquetOf is a data file of one text column.
func parquetOf(t *testing.T, column string, texts []string, meta map[string]string, opts ...parquet.WriterProperty) []byte {
	t.Helper()
	kv := arrow.MetadataFrom(meta)
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}, {Name: column, Type: arrow.BinaryTypes.String, Nullable: true}}, &kv)
	build := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer build.Release()
	for i, text := range texts {
		build.Field(0).(*array.Int64Builder).Append(int64(i))
		if text == "" {
			build.Field(1).AppendNull()
		} else {
			build.Field(1).(*array.StringBuilder).Append(text)
		}
	}
	batch := build.NewRecordBatch()
	defer batch.Release()
	var buf bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &buf, parquet.NewWriterProperties(opts...), pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err == nil {
		err = errors.Join(w.Write(batch), w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func zstd(dictionary bool) []parquet.WriterProperty {
	return []parquet.WriterProperty{parquet.WithCompression(compress.Codecs.Zstd), parquet.WithDictionaryDefault(dictionary)}
}

func jsonText(v any) string {
	data, err := json.Marshal(v) // escapes <, > and & as \u00..
	if err != nil {
		panic(err)
	}
	return string(data)
}

func xmlText(s string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(s)); err != nil {
		panic(err)
	}
	return b.String()
}

func csvOf(cells ...string) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write([]string{"a", "b"}) // into memory
	_ = w.Write(cells)
	w.Flush()
	return b.Bytes()
}

func packedGzip(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(s)) // into memory
	_ = w.Close()
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

func folded(s string) string {
	var b strings.Builder
	for part := range slices.Chunk([]byte(base64.StdEncoding.EncodeToString([]byte("some text before it, long enough to be folded over lines: "+s))), 76) {
		b.Write(part)
		b.WriteByte('\n')
	}
	return b.String()
}

// carriers put a text into a file, each in its own way.
var carriers = []struct {
	name, file string
	make       func(t *testing.T, text string) []byte
}{
	{"Parquet column", "data/problems.parquet", func(t *testing.T, s string) []byte {
		return parquetOf(t, "detail", []string{"", "fine", s, "fine"}, nil, zstd(false)...)
	}},
	{"Parquet dictionary", "data/problems.parquet", func(t *testing.T, s string) []byte {
		return parquetOf(t, "detail", []string{s, s, "", s, "fine"}, nil, zstd(true)...)
	}},
	{"Parquet delta encoding, snappy", "data/problems.parquet", func(t *testing.T, s string) []byte {
		return parquetOf(t, "detail", []string{"fine", s}, nil, parquet.WithCompression(compress.Codecs.Snappy), parquet.WithDictionaryDefault(false),
			parquet.WithEncodingFor("detail", parquet.Encodings.DeltaLengthByteArray))
	}},
	{"Parquet metadata", "data/problems.parquet", func(t *testing.T, s string) []byte {
		return parquetOf(t, "detail", []string{"fine"}, map[string]string{"note": s}, zstd(false)...)
	}},
	{"JSON in a Parquet column", "data/engine_samples.parquet", func(t *testing.T, s string) []byte {
		return parquetOf(t, "labels", []string{jsonText(map[string]string{"pool": s})}, nil, zstd(false)...)
	}},
	{"CSV cell", "tables/problems.csv", func(_ *testing.T, s string) []byte { return csvOf("1", s) }},
	{"JSON string", "claims.json", func(_ *testing.T, s string) []byte { return []byte(jsonText([]any{1, map[string]any{"text": s}})) }},
	{"JSON key", "verdicts.json", func(_ *testing.T, s string) []byte { return []byte(jsonText(map[string]int{s: 1})) }},
	{"JSON in JSON in JSON", "environment.json", func(_ *testing.T, s string) []byte {
		return []byte(jsonText(map[string]string{"settings": jsonText([]string{jsonText(map[string]string{"text": s})})}))
	}},
	{"SVG text", "plots/a.svg", func(_ *testing.T, s string) []byte { return []byte(`<svg><text x="1">` + xmlText(s) + `</text></svg>`) }},
	{"SVG description", "plots/a.svg", func(_ *testing.T, s string) []byte { return []byte(`<svg><desc>` + xmlText(s) + `</desc></svg>`) }},
	{"SVG attribute", "plots/a.svg", func(_ *testing.T, s string) []byte { return []byte(`<svg aria-label="` + xmlText(s) + `"/>`) }},
	{"SQL", "queries/a.sql", func(_ *testing.T, s string) []byte { return []byte("-- " + s + "\nSELECT 1\n") }},
	{"Markdown", "friction.md", func(_ *testing.T, s string) []byte { return []byte("# Notes\n\n| `" + s + "` |\n") }},
	{"Markdown entities", "friction.md", func(_ *testing.T, s string) []byte { return []byte("# Notes\n\n" + html.EscapeString(s) + "\n") }},
	{"base64", "friction.md", func(_ *testing.T, s string) []byte {
		return []byte("see " + base64.StdEncoding.EncodeToString([]byte("note: "+s)) + "\n")
	}},
	{"base64 for URLs, behind a prefix", "queries/a.sql", func(_ *testing.T, s string) []byte {
		return []byte("-- x" + base64.RawURLEncoding.EncodeToString([]byte("note: "+s)) + "\n")
	}},
	{"base64 over lines", "friction.md", func(_ *testing.T, s string) []byte { return []byte(folded(s)) }},
	{"base64 of gzip", "sources.json", func(_ *testing.T, s string) []byte { return []byte(jsonText(packedGzip("note: " + s))) }},
	{"base64 of JSON", "sources.json", func(_ *testing.T, s string) []byte {
		return []byte(jsonText(base64.StdEncoding.EncodeToString([]byte(jsonText(map[string]string{"a": s})))))
	}},
	{"percent encoding", "friction.md", func(_ *testing.T, s string) []byte { return []byte("see q=" + url.PathEscape(s) + "\n") }},
}

func scan(files map[string][]byte) []error { return Rules{}.Scan(files) }

// TestEveryPlantedFactIsFoundInEveryCarrier is the corpus: nothing that is
// private passes in any form.
func TestEveryPlantedFactIsFoundInEveryCarrier(t *testing.T) {
	if len(planted) < 60 {
		t.Fatalf("%d planted facts", len(planted))
	}
	facts := planted
	if testing.Short() { // under the race detector, which nothing here needs
		facts = planted[:8]
	}
	for _, c := range carriers {
		t.Run(c.name, func(t *testing.T) {
			for _, f := range facts {
				errs := scan(map[string][]byte{c.file: c.make(t, f.text)})
				if len(errs) == 0 {
					t.Errorf("%s: not found: %.60q", f.class, f.text)
				}
				for _, err := range errs {
					var e *Error
					if !errors.As(err, &e) || e.Class == Unreadable {
						t.Errorf("%s: %v", f.class, err)
					}
				}
			}
		})
	}
}

func TestPlantedFactsAreFoundByTheirClass(t *testing.T) {
	for _, f := range planted {
		if got := (private.Known{}).Scan(f.text); len(got) == 0 || !slices.Contains(got, f.class) {
			t.Errorf("Scan(%.60q) = %v, want %s", f.text, got, f.class)
		}
	}
}

func TestNoLookAlikeIsFoundInAnyCarrier(t *testing.T) {
	if len(lookalikes) < 40 {
		t.Fatalf("%d look-alikes", len(lookalikes))
	}
	texts := lookalikes
	if testing.Short() {
		texts = lookalikes[:8]
	}
	for _, c := range carriers {
		t.Run(c.name, func(t *testing.T) {
			for _, text := range texts {
				if errs := scan(map[string][]byte{c.file: c.make(t, text)}); len(errs) > 0 {
					t.Errorf("%q: %v", text, errs)
				}
			}
		})
	}
}

// TestRedactedFactsPassInEveryCarrier holds that a redaction leaves nothing for
// the scan, and nothing for a second redaction.
func TestRedactedFactsPassInEveryCarrier(t *testing.T) {
	for _, f := range planted {
		for _, text := range []string{f.text, jsonText(map[string]any{"a": []string{f.text}}), "x " + base64.StdEncoding.EncodeToString([]byte("note: "+f.text)) + " y", url.PathEscape(f.text)} {
			var once, twice private.Redactor
			got := once.Text(text)
			if left := (private.Known{}).Scan(got); len(left) > 0 || once.Counts.Total() == 0 {
				t.Errorf("%.60q becomes %.80q, where %v is left", text, got, left)
			}
			if again := twice.Text(got); again != got {
				t.Errorf("%.80q redacted again is %.80q", got, again)
			}
		}
	}
	for _, text := range lookalikes {
		var r private.Redactor
		if got := r.Text(text); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

func TestFileNamesAreScannedAndNotQuoted(t *testing.T) {
	for _, name := range []string{"data/ghp_" + run(36) + ".md", "notes/jane.doe@example.org.md", "data/" + hex64 + ".sql", "plots/192.168.1.7.svg.md", "rig.local"} {
		errs := scan(map[string][]byte{name: []byte("fine\n")})
		if len(errs) == 0 {
			t.Errorf("%s passes", name)
		}
		for _, err := range errs {
			if strings.Contains(err.Error(), name) {
				t.Errorf("the message quotes it: %v", err)
			}
		}
	}
}

func TestWhatCannotBeLookedIntoIsNotPublished(t *testing.T) {
	table := parquetOf(t, "detail", []string{"fine"}, nil, zstd(false)...)
	for name, data := range map[string][]byte{
		"picture.png":           []byte("\x89PNG\r\n"),
		"archive.gz":            []byte("\x1f\x8b"),
		"no-kind":               []byte("fine"),
		"a.json":                []byte("{"),
		"twice.json":            []byte(`{"a": "/home/jane", "a": "fine"}`),
		"after.json":            []byte("{} {}"),
		"a.svg":                 []byte("<svg>"),
		"a.md":                  []byte("\xff\xfe"),
		"a.csv":                 []byte("a,b\n1\n"),
		"empty.csv":             nil,
		"no.parquet":            []byte("PAR1 no parquet PAR1"),
		"cut.parquet":           table[:len(table)-9],
		"hidden-before.parquet": slices.Concat(table[:4], []byte("/home/jane"), table[4:]),
	} {
		if errs := scan(map[string][]byte{name: data}); len(errs) == 0 {
			t.Errorf("%s passes", name)
		}
	}
}

func TestSVGShowsItsCommentsAndSplitWordsToo(t *testing.T) {
	for _, text := range []string{
		`<svg><!-- /home/jane --></svg>`, `<?xml version="1.0"?><?x /home/jane?><svg/>`, `<!DOCTYPE svg [<!ENTITY a "/home/jane">]><svg/>`,
		`<svg><text>/home</text><text>/jane</text></svg>`, `<svg><![CDATA[ /home/jane ]]></svg>`, `<svg href="/home/jane"/>`,
	} {
		if errs := scan(map[string][]byte{"a.svg": []byte(text)}); len(errs) == 0 {
			t.Errorf("%s passes", text)
		}
	}
}

func TestDigestsPassWhereTheyAreKnown(t *testing.T) {
	files := map[string][]byte{
		"sources.json":           []byte(`[{"path": "plan.json", "sha256": "` + hex64 + `"}]`),
		"environment.json":       []byte(`{"facts": [{"fact": "image_digest", "value": "` + hex64 + `"}]}`),
		"tables/campaign.csv":    []byte("plan_sha256,n\n" + hex64 + ",1\n"),
		"tables/identities.csv":  []byte("fact,value\nimage_digest," + hex64 + "\n"),
		"data/sources.parquet":   parquetOf(t, "plan_sha256", []string{hex64}, nil, zstd(false)...),
		"data/campaigns.parquet": parquetOf(t, "campaign", []string{"x"}, map[string]string{"assay.plan_sha256": strings.Repeat("1234abcd", 8)}, zstd(false)...),
		"2026-10-17-x.md":        []byte("SHA-256 `" + hex64 + "`\n"),
		"publication-summary.md": []byte(strings.Repeat("1234abcd", 8) + "\n"),
	}
	known := Rules{Known: private.Known{Digests: map[string]bool{strings.Repeat("1234abcd", 8): true}}}
	if errs := known.Scan(files); len(errs) > 0 {
		t.Errorf("%v", errs)
	}
	for name, text := range map[string]string{
		"environment.json": `{"facts": [{"fact": "container_id", "value": "` + hex64 + `"}]}`, "friction.md": hex64, "sources.json": `{"path": "` + hex64 + `"}`,
		"tables/identities.csv": "fact,value\ncontainer_id," + hex64 + "\n",
	} {
		if errs := known.Scan(map[string][]byte{name: []byte(text)}); len(errs) == 0 {
			t.Errorf("%s with the id of a container passes", name)
		}
	}
}

func TestFieldsNamedAsPrivateAre(t *testing.T) {
	for _, text := range []string{
		`{"api_key": "x"}`, `{"env": {"PATH": "x"}}`, `{"env": ["LD_PRELOAD=x"]}`, `{"messages": [{"content": "tell me"}]}`, `{"prompt": "tell me"}`,
		`{"reasoning_content": "hm"}`, `{"hostname": "rig"}`, `{"node": "rig"}`, `{"instance": "rig:9100"}`, `{"container_id": "rig"}`, `{"HF_TOKEN": "x"}`,
	} {
		if errs := scan(map[string][]byte{"a.json": []byte(text)}); len(errs) == 0 {
			t.Errorf("%s passes", text)
		}
	}
	for _, text := range []string{
		`{"api_key": "[REDACTED]"}`, `{"env": ["CUDA_VISIBLE_DEVICES=0,1"]}`, `{"env": {"OMP_NUM_THREADS": "8"}}`, `{"hostname": "[host-a]"}`, `{"instance": "0"}`,
		`{"host": "127.0.0.1"}`, `{"prompt_tokens": "12"}`, `{"container_id": "[container-1]"}`, `{"token": ""}`,
	} {
		if errs := scan(map[string][]byte{"a.json": []byte(text)}); len(errs) > 0 {
			t.Errorf("%s: %v", text, errs)
		}
	}
}

func TestAllowEntries(t *testing.T) {
	entry := AllowEntry{Value: "/chat/templates", Path: "data/problems.parquet:detail", Reason: "a route of the engine", Date: "2026-10-17"}
	source := parquetOf(t, "detail", []string{"GET /chat/templates"}, nil, zstd(false)...)
	rules := Rules{Allow: []AllowEntry{entry}}
	if errs := rules.Scan(map[string][]byte{"data/problems.parquet": source, "friction.md": []byte("GET /chat/templates\n")}); len(errs) > 0 {
		t.Errorf("allowed, and what follows from it: %v", errs)
	}
	if errs := rules.Scan(map[string][]byte{"data/problems.parquet": source, "plan.json": []byte(`"/chat/templates"`)}); len(errs) != 1 {
		t.Errorf("evidence elsewhere: %v, want one error", errs)
	}
	if errs := rules.Scan(map[string][]byte{"data/problems.parquet": source, "friction.md": []byte("/chat/templates /home/jane\n")}); len(errs) != 1 {
		t.Errorf("something else beside it: %v, want one error", errs)
	}
	if errs := rules.Scan(map[string][]byte{"friction.md": []byte("fine\n")}); len(errs) != 1 || !strings.Contains(errs[0].Error(), "matches nothing any more") || strings.Contains(errs[0].Error(), entry.Value) {
		t.Errorf("an entry that matches nothing: %v", errs)
	}
}

func TestDenyFile(t *testing.T) {
	rules := Rules{Known: private.Known{Deny: []string{"Rig7"}, Secrets: []string{"correct horse"}}}
	for text, want := range map[string]int{"on rig7, today": 1, "rig7": 1, "rig70, xrig7 and rig7-b": 0, "the correct horse": 1} {
		if errs := rules.Scan(map[string][]byte{"friction.md": []byte(text)}); len(errs) != want {
			t.Errorf("%q: %v, want %d", text, errs, want)
		}
	}
}

func TestErrorNamesPlaceAndClassButNotTheValue(t *testing.T) {
	err := Refusal(scan(map[string][]byte{"friction.md": []byte("/home/jane"), "data/problems.parquet": parquetOf(t, "detail", []string{"/home/jane"}, nil)}))
	if err == nil {
		t.Fatal("a home path passed")
	}
	for _, want := range []string{"friction.md holds", "data/problems.parquet:detail holds", "machine_path"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %q", want, err)
		}
	}
	if strings.Contains(err.Error(), "jane") {
		t.Errorf("quoted: %q", err)
	}
}

func TestLabelsAndSettingsHaveAllowLists(t *testing.T) {
	var r private.Redactor
	in := `{"engine":"0","model_name":"model-a","pod":"rig7-0","zone":"attic"}`
	want := `{"engine":"0","model_name":"model-a","pod":"[host-a]","zone":"[label-1]"}`
	got := Labels(&r, in)
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if again := Labels(&r, got); again != got || Labels(&r, `{"zone":"attic"}`) != `{"zone":"[label-1]"}` || Labels(&r, "no labels /home/jane/x") != "no labels [PRIVATE_OPERATOR_ROOT]/x" {
		t.Errorf("not stable: %s", again)
	}
	for in, want := range map[string]string{
		`{"kernel_stamps":"true","page_every_ns":"5"}`: `{"kernel_stamps":"true","page_every_ns":"5"} 0`,
		`{"kernel_stamps":"true","note":"jane"}`:       `{"kernel_stamps":"true"} 1`,
		`["jane"]`:                                     `{} 1`, `{}`: `{} 0`,
	} {
		kept, dropped := Settings(in)
		if fmt.Sprintf("%s %d", kept, dropped) != want {
			t.Errorf("%s becomes %s, %d dropped; want %s", in, kept, dropped, want)
		}
	}
}

func TestCheckOfOneText(t *testing.T) {
	err := Check("problems", "detail", "open /home/jane/notes")
	if err == nil || err.Error() != "problems.detail holds a private text (machine_path)" {
		t.Errorf("%v", err)
	}
	for column, text := range map[string]string{"prompt_sha256": hex64, "detail": "an event is no JSON", "value": ""} {
		if err := Check("request_facts", column, text); err != nil {
			t.Errorf("%s: %v", column, err)
		}
	}
	if Check("problems", "detail", hex64) == nil {
		t.Error("64 hex digits outside a column of digests pass")
	}
}

func TestRulesDigestIsStable(t *testing.T) {
	if a, b := RulesSHA256(), RulesSHA256(); a != b || len(a) != 64 {
		t.Errorf("digests %q and %q", a, b)
	}
}

func ExampleRules() {
	for _, err := range (Rules{}).Scan(map[string][]byte{"friction.md": []byte("open /home/jane/x\n")}) {
		fmt.Println(err)
	}
	// Output: friction.md holds a private text (machine_path)
}
