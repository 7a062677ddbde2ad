package sanitize

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"assay/collect/private"
	"assay/report/bundle"
)

// BundleCheck is V-13 at level 2, for Options.Extra of bundle.Verify: beside what
// the structural check sees, every text of bundle and narrative is decoded and
// scanned again. tables reads the data files; nil is ReadTable, which is made
// for files of our own and not for hostile ones. A data file that cannot be read
// is V-15's.
func BundleCheck(tables TableReader) bundle.Check {
	return bundle.Check{
		Code: "V-13", Level: 2, Title: "nothing private is published", Needs: []bundle.Code{"V-01", "V-02", "V-03", "V-04"},
		Run: func(l *bundle.Loaded) []bundle.Problem { return check(l, tables) },
	}
}

func check(l *bundle.Loaded, tables TableReader) []bundle.Problem {
	out := bundle.CheckSanitizer(l)
	r := Rules{Known: private.Known{Digests: Digests(l.Manifest)}, Tables: tables, Published: true}
	if e := l.Files[bundle.SubjectName(l.Folder, bundle.SanitizeName)]; e != nil {
		if record, err := bundle.DecodeSanitizeRecord(e.Data); err == nil {
			r.Allow = record.Allow
		}
	}
	files := map[string][]byte{bundle.ManifestName: l.ManifestBytes, bundle.SumsName: sumsNames(l.Sums)}
	for _, name := range slices.Sorted(maps.Keys(l.Files)) {
		if e := l.Files[name]; e.Data != nil {
			files[strings.TrimPrefix(name, l.Folder+"/")] = e.Data
		} else {
			out = append(out, bundle.Problem{Code: "V-13", File: name, Detail: "was not read, so nobody can say what it holds"})
		}
	}
	for _, err := range r.Scan(files) {
		var found *Error
		if errors.As(err, &found) && found.Class == Unreadable && path.Ext(found.Where) == ".parquet" {
			continue
		}
		out = append(out, problem(l, err))
	}
	return out
}

// problem says where in a bundle something is wrong.
func problem(l *bundle.Loaded, err error) bundle.Problem {
	var found *Error
	if !errors.As(err, &found) {
		return bundle.Problem{Code: "V-13", File: bundle.SubjectName(l.Folder, bundle.SanitizeName), Detail: err.Error()}
	}
	if found.Where == aName {
		return bundle.Problem{Code: "V-13", Detail: found.Error()}
	}
	file, column, _ := strings.Cut(found.Where, ":")
	if l.Files[file] == nil { // the narrative's name is as it stands
		file = bundle.SubjectName(l.Folder, file)
	}
	detail := fmt.Sprintf("holds a private text (%s)", found.Class)
	if column != "" {
		detail = fmt.Sprintf("column %s holds a private text (%s)", column, found.Class)
	}
	return bundle.Problem{Code: "V-13", File: file, Detail: detail}
}

// Digests are all digests that a manifest names: they are no ids of containers.
func Digests(m *bundle.Manifest) map[string]bool {
	out := map[string]bool{}
	for _, s := range m.Subject {
		out[s.Digest.SHA256] = true
	}
	p := m.Predicate
	for _, in := range p.Inputs {
		out[in.SHA256] = true
	}
	for _, x := range p.External {
		out[x.SHA256] = true
	}
	if p.PlanLock != nil {
		out[p.PlanLock.CanonicalSHA256], out[p.PlanLock.RedactedSHA256] = true, true
	}
	if p.Sanitizer != nil {
		out[p.Sanitizer.RulesSHA256] = true
	}
	return out
}

// sumsNames is SHA256SUMS without its digests, which V-08 holds to the manifest.
func sumsNames(sums []byte) []byte {
	var out []byte
	for line := range strings.Lines(string(sums)) {
		_, name, ok := strings.Cut(line, "  ")
		if !ok {
			name = line
		}
		out = append(out, name...)
	}
	return out
}
