package bundle

import (
	"bytes"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// EndMark ends the generated region of a narrative. It stands alone on its
// line, once, and its line belongs to the region.
const EndMark = "<!-- assay:end -->"

var (
	correctionForm = regexp.MustCompile(`^- ([0-9]{4}-[0-9]{2}-[0-9]{2}): (\S.*)$`)
	linkForm       = regexp.MustCompile(`\]\(([^)]*)\)`)
)

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// regionSize is the length of the generated region of a narrative: to the end
// of the mark's line. Where the mark is gone it is what the manifest declares,
// so that a changed byte in the mark is a changed digest.
func regionSize(data []byte, declared int64) int64 {
	i := bytes.Index(data, []byte(EndMark))
	if i < 0 {
		return min(declared, int64(len(data)))
	}
	return min(int64(i+len(EndMark)+1), int64(len(data)))
}

// tail is what stands below the narrative's region.
func (e *Entry) tail() []byte {
	if e == nil || e.Data == nil {
		return nil
	}
	return e.Data[e.Region:]
}

// narrativeProblem says why data is no narrative that can be published, or "".
func narrativeProblem(data []byte) string {
	switch {
	case !utf8.Valid(data) || bytes.ContainsRune(data, '\r'):
		return "not UTF-8 with line feeds"
	case bytes.Count(data, []byte(EndMark)) != 1:
		return fmt.Sprintf("does not hold %s exactly once", EndMark)
	case !bytes.HasSuffix(data, []byte("\n"+EndMark+"\n")):
		return fmt.Sprintf("does not end with a line %s", EndMark)
	}
	return ""
}

func noNarrative(l *Loaded) string {
	e := l.narrative()
	if e == nil || e.Data == nil {
		return "the narrative was not read"
	}
	return ""
}

func (l *Loaded) narrative() *Entry {
	return l.Files[NarrativeName(l.Manifest.Predicate.Finding.ID)]
}

// checkNarrative is V-09: the region is well formed, and below it stand only
// lines "- YYYY-MM-DD: text" and empty lines. Relative links there must lead to
// a file of the findings folder; https links are not fetched.
func checkNarrative(l *Loaded) []Problem {
	var out []Problem
	name := NarrativeName(l.Manifest.Predicate.Finding.ID)
	bad := func(format string, args ...any) {
		out = append(out, Problem{"V-09", name, fmt.Sprintf(format, args...)})
	}
	e := l.narrative()
	if why := narrativeProblem(e.Data[:e.Region]); why != "" {
		bad("generated part %s", why)
	}
	tail := string(e.tail())
	if tail != "" && !strings.HasSuffix(tail, "\n") {
		bad("last line below the end mark has no line feed")
	}
	for i, line := range strings.Split(strings.TrimSuffix(tail, "\n"), "\n") {
		for _, why := range correctionProblems(line, l.Links) {
			bad("line %d below the end mark: %s", i+1, why)
		}
	}
	return out
}

// correctionProblems says what is wrong with one line below the end mark.
func correctionProblems(line string, links map[string]bool) []string {
	if line == "" {
		return nil
	}
	match := correctionForm.FindStringSubmatch(line)
	if match == nil {
		return []string{"not of the form \"- YYYY-MM-DD: text\""}
	}
	var out []string
	if _, err := time.Parse(time.DateOnly, match[1]); err != nil {
		out = append(out, "no such date")
	}
	text := match[2]
	if strings.ContainsAny(text, "<\r") || strings.Contains(text, "![") || !utf8.ValidString(text) {
		out = append(out, "only text and links are allowed")
	}
	for _, link := range linkForm.FindAllStringSubmatch(text, -1) {
		target := link[1]
		switch why := linkProblem(target); {
		case why != "":
			out = append(out, fmt.Sprintf("link %q: %s", target, why))
		case !isWebLink(target) && !links[target]:
			out = append(out, fmt.Sprintf("link %q leads to no file of the findings folder", target))
		}
	}
	return out
}

// relativeLinks lists the link targets in text that are not web addresses.
func relativeLinks(text []byte) []string {
	var out []string
	for _, match := range linkForm.FindAllSubmatch(text, -1) {
		if target := string(match[1]); !isWebLink(target) {
			out = append(out, target)
		}
	}
	return out
}

func isWebLink(target string) bool { return strings.HasPrefix(target, "https://") }

func linkProblem(target string) string {
	if isWebLink(target) {
		u, err := url.Parse(target)
		if err != nil || u.Host == "" || u.User != nil {
			return "not a plain https address"
		}
		return ""
	}
	if strings.HasSuffix(target, "/"+ManifestName) {
		target = strings.TrimSuffix(target, "/"+ManifestName)
	}
	if nameProblem(target) != "" {
		return "neither a name in the findings folder nor an https address"
	}
	return ""
}
