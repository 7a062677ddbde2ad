package artifact

import "strings"

// parse splits a key such as p99.9_ttft_ms into the figure and the statistic.
func (s *serving) parse(key string) (figure string, stat statistic, ok bool) {
	rest, isMs := strings.CutSuffix(key, "_ms")
	word, figure, cutOK := strings.Cut(rest, "_")
	if !isMs || !cutOK || s.tool.metrics[figure] == "" {
		return "", statistic{}, false
	}
	switch word {
	case "mean":
		return figure, statistic{name: "mean"}, true
	case "std":
		return figure, statistic{name: "stddev"}, true
	case "median":
		return figure, statistic{name: "percentile", quantile: 50}, true
	}
	q, ok := parsePercentile(word)
	return figure, statistic{name: "percentile", quantile: q}, ok
}

func (s *serving) stats(v value) {
	for key, member := range v.members() {
		name := string(key)
		f := one(s.top.at, name, member, s.top.notes)
		out := Stat{Artifact: s.out.id(s.row.Part), SourceKey: cut(name, 100), Scope: "completed", Agreement: AgreeUnknown}
		if figure, stat, ok := s.parse(name); ok {
			s.distributed(&out, figure, stat, f.float(name))
		} else if t, ok := s.tool.totals[name]; ok {
			out.Metric, out.Stat, out.Unit, out.Value = t.metric, t.stat, t.unit, f.float(name)
			if out.Recomputed, out.Reason = t.recompute(s); out.Reason == "" {
				out.Agreement = compare(out.Value, out.Recomputed)
			}
			if out.Value == nil {
				out.Recomputed, out.Agreement, out.Reason = nil, AgreeUnknown, "the file does not state it"
			}
		} else {
			continue
		}
		out.Definition = s.row.Protocol + ":" + out.SourceKey
		s.out.stat(out)
	}
}

func (s *serving) distributed(out *Stat, figure string, stat statistic, stated *float64) {
	out.Metric, out.Stat, out.Unit, out.Value = s.tool.metrics[figure], stat.label(), "ms", stated
	c, why := s.column(figure)
	if c == nil {
		out.Reason = why
		return
	}
	out.N = ptr(int64(c.n()))
	if c.n() == 0 {
		out.Value, out.Reason = nil, "no request has this figure; the tool prints "+number(stated)
		return
	}
	seconds, _ := stat.of(c, ruleLinear, false)
	out.Recomputed = scaled(seconds, 1000)
	out.Agreement = compare(stated, out.Recomputed)
}

// column is the values of a figure in seconds over the passing rows, or why
// there is none.
func (s *serving) column(figure string) (*column, string) {
	c, ok := s.columns[figure]
	if !ok {
		c.column, c.why = s.makeColumn(figure)
		s.columns[figure] = c
	}
	return c.column, c.why
}

// servingColumn is a column, or why there is none.
type servingColumn struct {
	*column
	why string
}

func (s *serving) makeColumn(figure string) (*column, string) {
	switch {
	case !s.rows:
		return nil, noRows
	case figure == "ttft":
		return s.collect(func(use func(float64)) { s.passing("ttfts", func(_ int, v value) { useNumber(v, use) }) }), ""
	case figure == "itl" && s.top.raw("itls").isArray():
		return s.collect(func(use func(float64)) {
			s.passing("itls", func(_ int, v value) {
				for _, gap := range v.elements() {
					useNumber(gap, use)
				}
			})
		}), ""
	case figure == "e2el" && s.top.raw("latencies").isArray():
		return s.collect(func(use func(float64)) { s.passing("latencies", func(_ int, v value) { useNumber(v, use) }) }), ""
	case figure == "tpot" && s.top.raw("latencies").isArray():
		return s.collect(s.perToken), ""
	}
	return nil, "the rows do not have what it takes"
}

func useNumber(v value, use func(float64)) {
	if x, ok := v.number(); ok && finite(x) != nil {
		use(x)
	}
}

// passing calls use with the element of an array for each passing request.
func (s *serving) passing(name string, use func(i int, v value)) {
	for i, v := range s.top.raw(name).elements() {
		if i < s.n && s.passed[i] {
			use(i, v)
		}
	}
}

func (s *serving) perToken(use func(float64)) {
	ttft, tokens := s.each("ttfts"), s.each("output_lens")
	i := 0
	for _, v := range s.top.raw("latencies").elements() {
		first, okFirst := ttft().number()
		n, okTokens := tokens().integer()
		end, ok := v.number()
		if ok && okFirst && okTokens && n > 1 && s.passed[i] && finite(end-first) != nil {
			use((end - first) / float64(n-1))
		}
		i++
	}
}

// collect runs a source twice: to count, and to fill a slice of just that size.
func (s *serving) collect(source func(use func(float64))) *column {
	n := 0
	source(func(float64) { n++ })
	values := make([]float64, 0, n)
	source(func(x float64) { values = append(values, x) })
	return newColumn(values)
}

// sumPassing adds up whole numbers over the passing rows.
func sumPassing(name string) func(*serving) (*float64, string) {
	return func(s *serving) (*float64, string) {
		if !s.rows || !s.top.raw(name).isArray() {
			return nil, noRows
		}
		var sum float64
		s.passing(name, func(_ int, v value) { useNumber(v, func(x float64) { sum += x }) })
		return finite(sum), ""
	}
}

// perSecond divides stated totals by the stated duration: the file holds the
// rate to its own figures, with rows or without.
func perSecond(totals ...string) func(*serving) (*float64, string) {
	return func(s *serving) (*float64, string) {
		var sum float64
		for _, name := range totals {
			x := s.top.float(name)
			if x == nil {
				return nil, "the file does not state " + name
			}
			sum += *x
		}
		seconds := s.top.float("duration")
		if seconds == nil || *seconds <= 0 {
			return nil, "the file does not state its duration"
		}
		return finite(sum / *seconds), ""
	}
}

func notInRows(why string) func(*serving) (*float64, string) {
	return func(*serving) (*float64, string) { return nil, why }
}
