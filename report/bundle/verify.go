package bundle

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Code names a check, and the problems it finds: V-01 to V-23.
type Code string

// Problem is something wrong with a bundle. File is a name as in Subject.Name,
// or just the name of a control file, or empty when no one file is meant.
type Problem struct {
	Code   Code   `json:"code"`
	File   string `json:"file"`
	Detail string `json:"detail"`
}

// String is the problem on one line. Names come from whoever made the bundle;
// one that is no plain text is quoted, so that it cannot drive a terminal.
func (p Problem) String() string {
	file := p.File
	if quoted := strconv.QuoteToASCII(file); quoted != `"`+file+`"` {
		file = quoted
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s", p.Code, file)) + ": " + p.Detail
}

// Warning is something that stands and that a reader must know: it fails nothing.
type Warning struct {
	Code   Code   `json:"code"`
	File   string `json:"file"`
	Detail string `json:"detail"`
}

// String is the warning on one line, as that of a Problem.
func (w Warning) String() string { return Problem(w).String() }

// Skip says why a check did not run.
type Skip struct {
	Code   Code   `json:"code"`
	Reason string `json:"reason"`
}

// Check is one row of the table of checks: a pure function from a loaded bundle
// to problems.
type Check struct {
	Code  Code
	Level int    // 1: the bytes; 2: recomputed; 3: against the raw run
	Title string // what a pass means, in a few words
	// Needs lists the checks without which this one has nothing to work on. It
	// is skipped unless each of them ran and found nothing.
	Needs []Code
	// SkipReason returns why the check does not apply to this bundle, or "".
	// Nil means that it always applies.
	SkipReason func(*Loaded) string
	Run        func(*Loaded) []Problem
	// Warn returns what a reader must know although the check passes. Nil means
	// nothing. It runs when Run does.
	Warn func(*Loaded) []Warning
}

// Options select what Verify runs. The zero value runs the structural checks.
type Options struct {
	// Level is the highest level to run; 0 means 1.
	Level int
	// Extra are checks of other packages, run after the table's own. A code in
	// both replaces the table's row, at the levels at which the extra one runs.
	Extra []Check
}

// Result is everything Verify found.
type Result struct {
	Level    int       `json:"level"`    // highest level asked for
	Problems []Problem `json:"problems"` // by code, then file, then detail
	Warnings []Warning `json:"warnings"` // by code
	Skips    []Skip    `json:"skips"`    // by code
	Executed []Code    `json:"executed"` // checks that ran, by code
}

// OK reports whether the bundle passed: at least one check ran and none found
// anything.
func (r Result) OK() bool { return len(r.Problems) == 0 && len(r.Executed) > 0 }

// Verify runs every check of the chosen levels and collects all problems.
func Verify(l *Loaded, opt Options) Result {
	var rows []Check
	for _, c := range Checks {
		replaced := slices.ContainsFunc(opt.Extra, func(e Check) bool { return e.Code == c.Code && e.Level <= max(opt.Level, 1) })
		if !replaced {
			rows = append(rows, c)
		}
	}
	rows = append(rows, opt.Extra...)
	level := max(opt.Level, 1)
	rows = slices.DeleteFunc(rows, func(c Check) bool { return c.Level > level })
	r := runChecks(rows, l)
	r.Level = level
	return r
}

func runChecks(rows []Check, l *Loaded) Result {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b Check) int { return cmp.Compare(a.Code, b.Code) })
	r := Result{Problems: []Problem{}, Warnings: []Warning{}, Skips: []Skip{}, Executed: []Code{}}
	passed := map[Code]bool{} // false for a check that ran and found something
	for _, c := range rows {
		if reason := skipReason(c, l, passed); reason != "" {
			r.Skips = append(r.Skips, Skip{c.Code, reason})
			continue
		}
		found := c.Run(l)
		r.Executed = append(r.Executed, c.Code)
		r.Problems = append(r.Problems, found...)
		passed[c.Code] = len(found) == 0
		if c.Warn != nil {
			r.Warnings = append(r.Warnings, c.Warn(l)...)
		}
	}
	slices.SortStableFunc(r.Problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Code, b.Code), strings.Compare(a.File, b.File), strings.Compare(a.Detail, b.Detail))
	})
	return r
}

func skipReason(c Check, l *Loaded, passed map[Code]bool) string {
	for _, need := range c.Needs {
		ok, ran := passed[need]
		if !ran {
			return string(need) + " did not run"
		}
		if !ok {
			return string(need) + " failed"
		}
	}
	if c.SkipReason != nil {
		return c.SkipReason(l)
	}
	return ""
}
