package report

import (
	"encoding/json"
	"slices"
	"strings"

	"assay/report/bundle"
)

// environmentFile is environment.json: what was used, without private names.
type environmentFile struct {
	Kind      string            `json:"kind"`
	Collector string            `json:"collector"`
	Settings  json.RawMessage   `json:"settings"`
	Arms      []environmentArm  `json:"arms"`
	GPUs      []string          `json:"gpus"`
	Facts     []environmentFact `json:"facts"`
}

type environmentArm struct {
	Arm        string `json:"arm"`
	Model      string `json:"model"`
	Engine     string `json:"engine"`
	Repository string `json:"repository"`
	Revision   string `json:"revision"`
	Endpoint   string `json:"endpoint"`
	Loopback   bool   `json:"loopback"`
}

type environmentFact struct {
	Arm    string  `json:"arm"`
	Fact   string  `json:"fact"`
	Value  *string `json:"value"` // null when the engine does not say
	Source string  `json:"source"`
	Reason string  `json:"reason"` // why the value is null
}

func (r *renderer) environment() environmentFile {
	campaign, arms, ids, gpu := r.b.result("campaign"), r.b.result("arms"), r.b.result("identities"), r.b.result("gpu")
	out := environmentFile{
		Kind: string(r.kind), Collector: campaign.text(0, "collector"), Settings: json.RawMessage("{}"),
		Arms: []environmentArm{}, GPUs: []string{}, Facts: []environmentFact{},
	}
	if settings := campaign.text(0, "settings"); json.Valid([]byte(settings)) {
		out.Settings = json.RawMessage(settings)
	}
	for i := range arms.rows {
		out.Arms = append(out.Arms, environmentArm{
			Arm: arms.text(i, "arm"), Model: arms.text(i, "model"), Engine: arms.text(i, "engine"), Repository: arms.text(i, "repository"),
			Revision: arms.text(i, "revision"), Endpoint: arms.text(i, "endpoint"), Loopback: arms.flag(i, "loopback"),
		})
	}
	for i := range gpu.rows {
		if n := gpu.text(i, "gpu_name"); n != "" {
			out.GPUs = append(out.GPUs, gpu.text(i, "arm")+": "+gpu.text(i, "gpu")+" "+n)
		}
	}
	for i := range ids.rows {
		f := environmentFact{Arm: ids.text(i, "arm"), Fact: ids.text(i, "fact"), Source: ids.text(i, "source"), Reason: ids.text(i, "reason")}
		if v := ids.text(i, "value"); v != "" {
			f.Value = &v
		}
		out.Facts = append(out.Facts, f)
	}
	return out
}

// postView is what the publication summary adds to the narrative's parts.
type postView struct {
	Short, Title, Long, Ledger string
	Facts, Alts                []string
}

// Limits of a post, in characters.
const (
	shortPost  = 260
	titleLimit = 120
)

// post writes the short texts. They carry counts only: a speed without its
// conditions does not fit into one.
func (r *renderer) post(v view, plots []plotFile) postView {
	link, _ := r.plan.Publication.Get("finding")
	start := ""
	if r.kind == bundle.KindSimulated {
		start = "SIMULATED engines. "
	}
	if r.lastRestoration().wrong() {
		start += "The earlier service is not restored. "
	}
	short := start + r.verdictSentence() + ". Real lengths, n and failures stand beside each number; nothing is promoted. "
	p := postView{
		Title: cut(v.Title, titleLimit),
		Short: cut(short, shortPost-len([]rune(link))-1) + " " + given(literal(link)),
		Long: "What did not work comes first: " + r.b.claim("tally", 0, "cells_ineligible") + " measured cells are not eligible and " +
			r.b.claim("tally", 0, "cells_not_run") + " of all cells sent no request. The evidence and the queries are published beside the text, so that each number can be computed again.",
	}
	for _, o := range v.Outcome {
		p.Facts = append(p.Facts, strings.ReplaceAll(o, "](#", "](../"+r.id+".md#"))
	}
	for _, plot := range plots {
		p.Alts = append(p.Alts, "`plots/"+plot.file+"`: "+literal(plot.alt))
	}
	t := newTable("Claim", "Value", "Conditions", "Evidence")
	for _, c := range r.b.printed() {
		if slices.ContainsFunc(c.Places, func(place string) bool { return strings.HasSuffix(place, ": Result card") }) {
			t.add(code(c.ID), literal(c.Text)+unitText(c.Unit), literal(conditions(c)), "`queries/"+c.query()+".sql`")
		}
	}
	p.Ledger = t.String()
	return p
}

// conditions says what a claim of a campaign is about: its row's key, the statistic
// and how many values stand behind it.
func conditions(c Claim) string {
	parts := strings.SplitN(c.ID, ":", 2)
	key, column := parts[1], ""
	if at := strings.LastIndexByte(key, ':'); at >= 0 {
		key, column = key[:at], key[at+1:]
	}
	about := strings.ReplaceAll(column, "_", " ") + " of " + strings.ReplaceAll(key, "/", ", ")
	if c.N != "" {
		about += ", n = " + c.N
	}
	return about
}

// query is the name of the query a claim comes from.
func (c Claim) query() string {
	name, _, _ := strings.Cut(c.ID, ":")
	return name
}

// cut shortens a text to whole words. Marks count as nothing.
func cut(text string, limit int) string {
	if len([]rune(unmark(text))) <= limit {
		return strings.TrimSpace(text)
	}
	fields := strings.Fields(text)
	for len(fields) > 1 && len([]rune(unmark(strings.Join(fields, " ")))) > limit {
		fields = fields[:len(fields)-1]
	}
	return strings.Join(fields, " ")
}
