package bundle

import (
	"errors"
	"fmt"
)

// The limits of a bundle. The narrative is held to MaxFileBytes; the bundle's
// own size is that of its files, manifest.json and SHA256SUMS included, the
// signature (made after sealing) and excepted files not.
const (
	MaxFileBytes   int64 = 1 << 20
	MaxBundleBytes int64 = 5 << 20
	MaxFiles       int64 = 200 // in the bundle folder, the signature not counted
	// MaxExceptedBytes bounds all exceptions together, so that a manifest that
	// excepts terabytes of nothing cannot keep a verifier busy. It is also the
	// largest file GitHub takes.
	MaxExceptedBytes int64 = 100 << 20
)

// DefaultLimits states the present limits without exceptions.
func DefaultLimits() Limits {
	return Limits{FileBytes: MaxFileBytes, BundleBytes: MaxBundleBytes, Files: MaxFiles}
}

// problem says what the exception lacks, or "". sizes are the declared sizes of
// the files an exception may name.
func (x Exception) problem(sizes map[string]int64) string {
	var total int64
	for _, name := range x.Files {
		size, ok := sizes[name]
		if !ok {
			return fmt.Sprintf("exception names %q, which is no file of the bundle", name)
		}
		total += size
	}
	switch {
	case len(x.Files) == 0:
		return "exception names no files"
	case total != x.Bytes:
		return fmt.Sprintf("exception is for %d bytes, its files have %d", x.Bytes, total)
	case blank(x.Reason):
		return "exception without a reason"
	case blank(x.Approver):
		return "exception without an approver"
	}
	return ""
}

// fileSizes are the declared sizes of the subjects an exception may name: all
// but the narrative.
func (m Manifest) fileSizes() map[string]int64 {
	sizes := map[string]int64{}
	for _, s := range m.Subject {
		if s.Region == "" {
			sizes[s.Name] = s.Size
		}
	}
	return sizes
}

// excepted is the set of files covered by full exceptions, and what is wrong
// with the others.
func (m Manifest) excepted() (files map[string]bool, problems []string) {
	files = map[string]bool{}
	sizes := m.fileSizes()
	left := MaxExceptedBytes
	for _, x := range m.Predicate.Limits.Exceptions {
		why := x.problem(sizes)
		if why == "" && x.Bytes > left {
			why = fmt.Sprintf("exceptions for more than %d bytes", MaxExceptedBytes)
		}
		if why != "" {
			problems = append(problems, why)
			continue
		}
		left -= x.Bytes
		for _, name := range x.Files {
			files[name] = true
		}
	}
	return files, problems
}

// checkLimits is V-06.
func checkLimits(l *Loaded) []Problem {
	var out []Problem
	bad := func(file, format string, args ...any) {
		out = append(out, Problem{"V-06", file, fmt.Sprintf(format, args...)})
	}
	limits := l.Manifest.Predicate.Limits
	if limits.FileBytes != MaxFileBytes || limits.BundleBytes != MaxBundleBytes || limits.Files != MaxFiles {
		bad(ManifestName, "states limits other than %d bytes a file, %d bytes and %d files a bundle", MaxFileBytes, MaxBundleBytes, MaxFiles)
	}
	excepted, lacking := l.Manifest.excepted()
	for _, why := range lacking {
		bad(ManifestName, "%s", why)
	}
	count, total := int64(0), int64(0)
	for name, e := range l.countedFiles() {
		narrative := name == NarrativeName(l.Manifest.Predicate.Finding.ID)
		if !narrative {
			count++
		}
		if excepted[name] {
			continue
		}
		if e.Size > MaxFileBytes {
			bad(name, "%d bytes, more than %d and no full exception", e.Size, MaxFileBytes)
		}
		if !narrative {
			total += e.Size
		}
	}
	if total > MaxBundleBytes {
		bad("", "bundle has %d bytes, more than %d", total, MaxBundleBytes)
	}
	if count > MaxFiles {
		bad("", "bundle has %d files, more than %d", count, MaxFiles)
	}
	if errors.Is(l.ListErr, errTooMany) {
		bad("", "%s", l.ListErr)
	}
	if e := l.Control[SignatureName]; e != nil && e.Size > maxSignatureBytes {
		bad(SignatureName, "%d bytes, more than %d", e.Size, maxSignatureBytes)
	}
	return out
}

// countedFiles are the regular files the limits hold for: subjects, manifest
// and SHA256SUMS.
func (l *Loaded) countedFiles() map[string]*Entry {
	out := map[string]*Entry{}
	for _, name := range []string{ManifestName, SumsName} {
		if e := l.Control[name]; e != nil && e.Mode.IsRegular() {
			out[name] = e
		}
	}
	for _, s := range l.subjects() {
		if e := l.Files[s.Name]; e.Exists && e.Mode.IsRegular() {
			out[s.Name] = e
		}
	}
	return out
}
