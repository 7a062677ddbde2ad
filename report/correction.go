package report

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"assay/report/bundle"
)

// Correction names a finding that corrects an earlier one. The zero value is no
// correction: the finding has the name its plan gives it.
type Correction struct {
	Name       string // of the new finding, YYYY-MM-DD-slug
	Supersedes string // name of the earlier one
}

// ErrCorrection says that a correction cannot be made as asked.
var ErrCorrection = errors.New("this correction cannot be published")

// check says why a correction cannot be made in a findings folder.
func (c Correction) check(findingsDir string) error {
	switch {
	case c == Correction{}:
		return nil
	case c.Name == "" || c.Supersedes == "":
		return fmt.Errorf("%w: it needs a name of its own and the name of the finding it supersedes", ErrCorrection)
	case c.Name == c.Supersedes:
		return fmt.Errorf("%w: it supersedes itself; a published finding is never overwritten", ErrCorrection)
	}
	for _, id := range []string{c.Name, c.Supersedes} {
		if err := bundle.CheckID(id); err != nil {
			return fmt.Errorf("%w: %w", ErrCorrection, err)
		}
	}
	if c.Name[:len("2006-01-02")] < c.Supersedes[:len("2006-01-02")] {
		return fmt.Errorf("%w: %s is dated before %s", ErrCorrection, c.Name, c.Supersedes)
	}
	if _, err := os.Stat(filepath.Join(findingsDir, bundle.NarrativeName(c.Supersedes))); err != nil {
		return fmt.Errorf("%w: there is no %s in the findings folder", ErrCorrection, bundle.NarrativeName(c.Supersedes))
	}
	return nil
}

// sealFinding scans a draft for what is private, seals it, leads from the finding
// it corrects to it, and renews the index.
func sealFinding(findingsDir string, d bundle.Draft, opt Options) (bundle.Sealed, error) {
	f := d.Predicate.Finding
	c := Correction{}
	if f.Supersedes != "" {
		c = Correction{Name: f.ID, Supersedes: f.Supersedes}
	}
	if err := c.check(findingsDir); err != nil {
		return bundle.Sealed{}, err
	}
	if err := checkPrivate(d, opt); err != nil {
		return bundle.Sealed{}, err
	}
	sealed, err := bundle.Seal(findingsDir, d)
	if err != nil {
		return bundle.Sealed{}, err
	}
	if err := c.link(findingsDir); err != nil {
		return sealed, fmt.Errorf("lead from %s to its correction: %w", c.Supersedes, err)
	}
	return sealed, bundle.WriteIndex(findingsDir)
}

// link adds the dated line below the earlier narrative's end mark, unless it is
// there. The generated part above keeps every byte.
func (c Correction) link(findingsDir string) error {
	if c.Supersedes == "" {
		return nil
	}
	name := filepath.Join(findingsDir, bundle.NarrativeName(c.Supersedes))
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	line := fmt.Sprintf("- %s: superseded by [%s](%s).\n", c.Name[:len("2006-01-02")], c.Name, bundle.NarrativeName(c.Name))
	_, below, _ := bytes.Cut(text, []byte(bundle.EndMark+"\n"))
	if bytes.Contains(below, []byte(line)) {
		return nil
	}
	if len(below) == 0 {
		text = append(text, '\n')
	}
	return replaceFile(name, append(text, line...))
}

// correctsLine leads from a correction to what it corrects; "" for any other
// finding.
func correctsLine(supersedes string) string {
	if supersedes == "" {
		return ""
	}
	return given(fmt.Sprintf("[%s](%s)", supersedes, bundle.NarrativeName(supersedes)))
}
