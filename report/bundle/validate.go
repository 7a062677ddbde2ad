package bundle

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

var (
	sha256Form = regexp.MustCompile(`^[0-9a-f]{64}$`)
	idForm     = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}-[a-z0-9][a-z0-9._-]*$`)
)

// CheckID says why id cannot name a finding, or nil. An ID is a real date, a
// dash and a slug of [a-z0-9._-]; it has at most 80 characters, so that names
// in its bundle stay within MaxNameLen.
func CheckID(id string) error {
	if !idForm.MatchString(id) || len(id) > 80 {
		return fmt.Errorf("finding id %q is not YYYY-MM-DD-name (lower-case a-z, 0-9, '.', '_', '-', at most 80 characters)", id)
	}
	if _, err := time.Parse(time.DateOnly, id[:10]); err != nil {
		return fmt.Errorf("finding id %q does not start with a date", id)
	}
	return nil
}

// Validate reports everything about m that makes it no manifest of a known
// type: types, format, kind, roles, digests, negative numbers, regions. Names
// and limits have checks of their own and are not looked at here.
func (m Manifest) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if m.Type != StatementType {
		bad("_type is %q, not %q", m.Type, StatementType)
	}
	if m.PredicateType != PredicateType {
		bad("predicateType is %q, not %q", m.PredicateType, PredicateType)
	}
	p := m.Predicate
	if p.Format < 1 {
		bad("predicate.format is %d, not a positive number", p.Format)
	}
	errs = append(errs, p.Finding.validate()...)
	errs = append(errs, validateRoles(p.Roles)...)
	errs = append(errs, validateSubjects(m.Subject, p.Finding.ID+".md")...)
	errs = append(errs, p.validateDigests()...)
	errs = append(errs, p.validateNumbers()...)
	return errors.Join(errs...)
}

func (f Finding) validate() []error {
	var errs []error
	if err := CheckID(f.ID); err != nil {
		errs = append(errs, err)
	}
	if f.Supersedes != "" {
		if err := CheckID(f.Supersedes); err != nil {
			errs = append(errs, fmt.Errorf("supersedes: %w", err))
		}
	}
	switch f.Kind {
	case KindMeasured, KindDerived, KindExternalPrior, KindSimulated:
	default:
		errs = append(errs, fmt.Errorf("unknown kind %q", f.Kind))
	}
	return errs
}

func validateRoles(roles []Role) []error {
	var errs []error
	names := make([]RoleName, len(roles))
	for i, r := range roles {
		names[i] = r.Role
		errs = append(errs, r.validate()...)
	}
	if !slices.Equal(names, RoleNames()) {
		errs = append(errs, fmt.Errorf("roles are %q, not the ten roles in order", names))
	}
	return errs
}

func (r Role) validate() []error {
	var errs []error
	switch r.State {
	case RoleRetained:
		if len(r.Files) == 0 {
			errs = append(errs, fmt.Errorf("role %s is retained but names no file", r.Role))
		}
	case RoleNotApplicable, RoleMissing:
		if strings.TrimSpace(r.Reason) == "" || len(r.Files) > 0 {
			errs = append(errs, fmt.Errorf("role %s is %s and needs a reason and no files", r.Role, r.State))
		}
	default:
		errs = append(errs, fmt.Errorf("role %s has unknown state %q", r.Role, r.State))
	}
	return errs
}

func validateSubjects(subjects []Subject, narrative string) []error {
	var errs []error
	found := false
	for _, s := range subjects {
		if !sha256Form.MatchString(s.Digest.SHA256) {
			errs = append(errs, fmt.Errorf("subject %q: %q is not a SHA-256", s.Name, s.Digest.SHA256))
		}
		if s.Size < 0 {
			errs = append(errs, fmt.Errorf("subject %q: size %d", s.Name, s.Size))
		}
		want := Region("")
		if s.Name == narrative {
			found, want = true, RegionGenerated
		}
		if s.Region != want {
			errs = append(errs, fmt.Errorf("subject %q: region %q, not %q", s.Name, s.Region, want))
		}
	}
	if !found {
		errs = append(errs, fmt.Errorf("the narrative %q is no subject", narrative))
	}
	return errs
}

func (p Predicate) validateDigests() []error {
	var errs []error
	check := func(what, digest string) {
		if !sha256Form.MatchString(digest) {
			errs = append(errs, fmt.Errorf("%s: %q is not a SHA-256", what, digest))
		}
	}
	if p.PlanLock != nil {
		check("planLock.canonicalSha256", p.PlanLock.CanonicalSHA256)
		check("planLock.redactedSha256", p.PlanLock.RedactedSHA256)
	}
	if p.Sanitizer != nil {
		check("sanitizer.rulesSha256", p.Sanitizer.RulesSHA256)
	}
	for _, in := range p.Inputs {
		check("input "+in.Name, in.SHA256)
	}
	for _, e := range p.External {
		check("external "+e.Name, e.SHA256)
	}
	return errs
}

// validateNumbers refuses negative sizes and counts. It does not hold the
// counts against each other: whether they are right is for a recomputation.
func (p Predicate) validateNumbers() []error {
	var errs []error
	check := func(what string, values ...int64) {
		for _, v := range values {
			if v < 0 {
				errs = append(errs, fmt.Errorf("%s is %d", what, v))
			}
		}
	}
	rows := func(what string, n *int64) {
		if n != nil {
			check(what, *n)
		}
	}
	for _, c := range []Counts{p.Tally.Cells, p.Tally.Requests} {
		check("a count of tally", c.Planned, c.Dispatched, c.Terminal, c.Passing, c.Eligible)
	}
	for _, in := range p.Inputs {
		check("size of input "+in.Name, in.Size)
		rows("rows of input "+in.Name, in.Rows)
	}
	for _, e := range p.External {
		check("size of external "+e.Name, e.Size)
		rows("rows of external "+e.Name, e.Rows)
	}
	if s := p.Sanitizer; s != nil {
		check("sanitizer.allowEntries", s.AllowEntries)
		for _, counts := range []map[string]int64{s.Dropped, s.Replaced} {
			for _, n := range counts {
				check("a count of sanitizer", n)
			}
		}
	}
	return errs
}
