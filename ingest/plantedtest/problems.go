package plantedtest

import (
	"fmt"
	"slices"
)

// ProblemTruth is a row that says what is missing or damaged.
type ProblemTruth struct {
	Cell     string
	Attempt  int64
	Code     string
	Position string // "request N", or "" for the whole attempt
}

// problems are the rows that must say what the cell's files lack.
func (x *cell) problems() []ProblemTruth {
	var all []ProblemTruth
	for _, a := range x.attempts {
		add := func(code, position string) {
			all = append(all, ProblemTruth{Cell: x.id, Attempt: int64(a.number), Code: code, Position: position})
		}
		if a.killed {
			add("spool_left", "")
			continue
		}
		for index, e := range a.exchanges {
			position := fmt.Sprintf("request %d", index)
			switch {
			case e == nil:
				add("request_missing", position)
				continue
			case e.row.EventsSeen > int64(len(e.events)):
				add("events_lost", position)
			}
			if slices.Contains(e.planted, "bad_event") || slices.Contains(e.planted, "bad_bytes") {
				add("bad_events", position)
			}
		}
		if a.engine.torn {
			add("page_line", "")
		}
		if a.engine.gone {
			add("page_families", "")
		}
	}
	return all
}
