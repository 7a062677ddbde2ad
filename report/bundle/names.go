package bundle

import (
	"fmt"
	"path"
	"strings"
)

// The control files of a bundle folder. They are no subjects.
const (
	ManifestName  = "manifest.json"
	SumsName      = "SHA256SUMS"
	SignatureName = "manifest.json.sig"
)

// ReadmeName is the one subject that may be spelled with capitals, and only
// directly in the bundle folder.
const ReadmeName = "README.md"

// MaxNameLen is the most bytes a subject's name may have, the bundle folder's
// name included.
const MaxNameLen = 120

// FolderName is the bundle folder's usual name.
func FolderName(id string) string { return id + "-evidence" }

// NarrativeName is the narrative's name, relative to the findings folder.
func NarrativeName(id string) string { return id + ".md" }

// SubjectName is the name of a bundle's file as subjects, roles and exceptions
// spell it: relative to the findings folder.
func SubjectName(folder, file string) string { return folder + "/" + file }

// nameProblem says why name is no valid subject name, or "". A valid name is
// segments of lower-case [a-z0-9._-] joined by single slashes, none empty and
// none with a leading dot, of at most MaxNameLen bytes. FOLDER/README.md is the
// only exception; the names of the control files are taken.
func nameProblem(name string) string {
	if name == "" {
		return "empty name"
	}
	if len(name) > MaxNameLen {
		return fmt.Sprintf("name has %d bytes, more than %d", len(name), MaxNameLen)
	}
	segments := strings.Split(name, "/")
	if len(segments) == 2 {
		switch segments[1] {
		case ManifestName, SignatureName:
			return "name of a control file"
		case ReadmeName:
			segments = segments[:1]
		}
	}
	for _, s := range segments {
		if why := segmentProblem(s); why != "" {
			return why
		}
	}
	return ""
}

func segmentProblem(s string) string {
	if s == "" {
		return "empty segment (a leading, double or trailing slash)"
	}
	if s[0] == '.' {
		return "segment with a leading dot"
	}
	for _, c := range []byte(s) {
		lower := c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
		if !lower {
			return fmt.Sprintf("character %q outside [a-z0-9._-]", c)
		}
	}
	return ""
}

// inFolder returns the part of a subject's name below the bundle folder.
func inFolder(folder, name string) (string, bool) {
	return strings.CutPrefix(name, folder+"/")
}

// sumsPath is a subject's path as seen from inside the bundle folder.
func sumsPath(s Subject) string {
	_, file, ok := strings.Cut(s.Name, "/")
	if s.Region == RegionGenerated || !ok {
		return path.Join("..", s.Name)
	}
	return file
}
