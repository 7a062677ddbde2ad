package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Checks is the table of the checks this package has. Every row that runs has a
// tamper case that nothing else puts first (corpus_test.go).
var Checks = []Check{
	{Code: "V-01", Level: 1, Title: "manifest readable, strict, canonical, known type", Run: checkManifest},
	{Code: "V-02", Level: 1, Title: "names valid and unique", Needs: []Code{"V-01"}, Run: checkNames},
	{Code: "V-03", Level: 1, Title: "regular files of the stated size", Needs: []Code{"V-01"}, Run: checkFiles},
	{Code: "V-04", Level: 1, Title: "SHA-256 equal", Needs: []Code{"V-01"}, Run: checkDigests},
	{Code: "V-05", Level: 1, Title: "nothing unlisted", Needs: []Code{"V-01", "V-02"}, SkipReason: notListed, Run: checkUnlisted},
	{Code: "V-06", Level: 1, Title: "size limits, or a full exception", Needs: []Code{"V-01"}, Run: checkLimits},
	{Code: "V-07", Level: 1, Title: "signature", Needs: []Code{"V-01"}, SkipReason: signatureUnchecked},
	{Code: "V-08", Level: 1, Title: "SHA256SUMS equals its derivation", Needs: []Code{"V-01"}, Run: checkSums},
	{Code: "V-09", Level: 1, Title: "narrative ends at its mark, but for dated corrections", Needs: []Code{"V-01"}, SkipReason: noNarrative, Run: checkNarrative},
	{Code: "V-12", Level: 1, Title: "external files at public, fixed addresses", Needs: []Code{"V-01"}, SkipReason: noExternal, Run: checkExternal},
	{Code: "V-13", Level: 1, Title: "sanitizer record present", Needs: []Code{"V-01"}, Run: CheckSanitizer},
	{Code: "V-14", Level: 1, Title: "row in the index, superseding linked both ways", Needs: []Code{"V-01"}, SkipReason: noIndex, Run: checkIndex},
}

// checkManifest is V-01. That subjects are sorted is part of the canonical form.
func checkManifest(l *Loaded) []Problem {
	switch {
	case errors.Is(l.ManifestErr, fs.ErrNotExist):
		return []Problem{{"V-01", ManifestName, "missing"}}
	case l.ManifestErr != nil:
		return []Problem{{"V-01", ManifestName, strings.ReplaceAll(l.ManifestErr.Error(), "\n", "; ")}}
	}
	return nil
}

// checkNames is V-02: every subject's name, and the names that roles and
// exceptions refer to.
func checkNames(l *Loaded) []Problem {
	var out []Problem
	bad := func(name, format string, args ...any) {
		out = append(out, Problem{"V-02", name, fmt.Sprintf(format, args...)})
	}
	seen := map[string]string{}
	for _, control := range []string{ManifestName, SumsName, SignatureName} {
		name := SubjectName(l.Folder, control)
		seen[strings.ToLower(name)] = name
	}
	for _, s := range l.Manifest.Subject {
		if why := l.subjectProblem(s.Name); why != "" {
			bad(s.Name, "%s", why)
			continue
		}
		// Names are ASCII, so lower case is the whole of case folding and of NFC.
		key := strings.ToLower(s.Name)
		if other, ok := seen[key]; ok {
			bad(s.Name, "same name as %q", other)
		}
		seen[key] = s.Name
	}
	for _, r := range l.Manifest.Predicate.Roles {
		for _, name := range r.Files {
			if known, ok := seen[strings.ToLower(name)]; !ok || known != name {
				bad(name, "named by role %s but not published", r.Role)
			}
		}
	}
	return out
}

// checkFiles is V-03. Control files are held to the same mode.
func checkFiles(l *Loaded) []Problem {
	var out []Problem
	for _, s := range l.subjects() {
		for _, why := range l.fileProblems(s) {
			out = append(out, Problem{"V-03", s.Name, why})
		}
	}
	for name, e := range l.Control {
		if why := modeProblem(e.Mode); why != "" {
			out = append(out, Problem{"V-03", name, why})
		}
	}
	return out
}

func (l *Loaded) fileProblems(s Subject) []string {
	e := l.Files[s.Name]
	if !e.Exists {
		return []string{e.Unread}
	}
	var out []string
	if why := modeProblem(e.Mode); why != "" {
		out = append(out, why)
	}
	switch {
	case !e.Mode.IsRegular():
	case s.Region == RegionGenerated && e.SHA256 != "":
		if e.Region != s.Size {
			out = append(out, fmt.Sprintf("generated part has %d bytes, the manifest says %d", e.Region, s.Size))
		}
	case e.OverLimit && (e.Size > MaxBundleBytes || s.Region == RegionGenerated):
		// A file too large to be any bundle's is V-06's alone.
	case e.Size != s.Size:
		out = append(out, fmt.Sprintf("%d bytes, the manifest says %d", e.Size, s.Size))
	case e.Unread != "" && !e.OverLimit:
		out = append(out, "cannot be read: "+e.Unread)
	}
	return out
}

func modeProblem(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case !mode.IsRegular():
		return "not a regular file"
	case mode&0o111 != 0:
		return "has an exec bit"
	}
	return ""
}

// checkDigests is V-04. A file that was not read is V-03's or V-06's.
func checkDigests(l *Loaded) []Problem {
	var out []Problem
	for _, s := range l.subjects() {
		got := l.Files[s.Name].SHA256
		if got != "" && got != s.Digest.SHA256 {
			out = append(out, Problem{"V-04", s.Name, fmt.Sprintf("sha256 %s, the manifest says %s", got, s.Digest.SHA256)})
		}
	}
	return out
}

// subjects returns the subjects that were looked up on disk: those V-02 passes.
func (l *Loaded) subjects() []Subject {
	var out []Subject
	for _, s := range l.Manifest.Subject {
		if l.Files[s.Name] != nil {
			out = append(out, s)
		}
	}
	return out
}

func notListed(l *Loaded) string {
	if errors.Is(l.ListErr, errTooMany) {
		return l.ListErr.Error() + "; see V-06"
	}
	return ""
}

// checkUnlisted is V-05: whatever is no subject, no control file and no folder
// on the way to one.
func checkUnlisted(l *Loaded) []Problem {
	if l.ListErr != nil {
		return []Problem{{"V-05", "", l.ListErr.Error()}}
	}
	files := map[string]bool{ManifestName: true, SumsName: true, SignatureName: true}
	folders := map[string]bool{}
	for _, s := range l.subjects() {
		file, ok := inFolder(l.Folder, s.Name)
		if !ok {
			continue
		}
		files[file] = true
		for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
			folders[dir] = true
		}
	}
	var out []Problem
	for _, item := range l.Listed {
		// A link or file in a folder's place is V-03's: its files are missing.
		if files[item.Name] || folders[item.Name] {
			continue
		}
		what := "file not in the manifest"
		if item.Mode.IsDir() {
			what = "folder not in the manifest"
		}
		out = append(out, Problem{"V-05", SubjectName(l.Folder, item.Name), what})
	}
	return out
}

// signatureUnchecked makes V-07 say that this table alone looks at no signature:
// package signature has the row that does, and the command puts it in this
// one's place.
func signatureUnchecked(l *Loaded) string {
	if l.Control[SignatureName] == nil {
		return "the bundle has no signature"
	}
	return "the signature was not looked at"
}

// checkSums is V-08.
func checkSums(l *Loaded) []Problem {
	switch want := Sums(*l.Manifest, l.ManifestBytes); {
	case errors.Is(l.SumsErr, fs.ErrNotExist):
		return []Problem{{"V-08", SumsName, "missing"}}
	case l.SumsErr != nil:
		return []Problem{{"V-08", SumsName, l.SumsErr.Error()}}
	case !bytes.Equal(l.Sums, want):
		line := bytes.Count(want[:firstDifference(l.Sums, want)], []byte("\n")) + 1
		return []Problem{{"V-08", SumsName, fmt.Sprintf("is not what the manifest says, first at line %d", line)}}
	}
	return nil
}
