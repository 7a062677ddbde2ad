package bundle

import (
	"fmt"
	"maps"
	"slices"
)

// Draft is a finding that is ready to be sealed.
type Draft struct {
	// Predicate says everything about the finding but its files. Role files and
	// exceptions are spelled as SubjectName and NarrativeName spell them.
	Predicate Predicate
	// Folder is the bundle folder's name; empty means FolderName of the ID.
	Folder string
	// Narrative is the whole narrative. Its last line is EndMark.
	Narrative []byte
	// Files are the bundle's files by their path in the bundle folder, the
	// control files not among them. They are not copied.
	Files map[string][]byte
}

// Assembled is what a draft comes to, in memory: the bytes Seal writes beside
// the draft's own. A regeneration compares them with a published bundle.
type Assembled struct {
	Folder        string // name of the bundle folder
	NarrativeName string // name of the narrative
	Manifest      Manifest
	ManifestBytes []byte
	Sums          []byte
}

// Assemble derives manifest and SHA256SUMS from a draft. It touches no file. It
// fails on a draft whose narrative, names or manifest cannot be published; the
// limits and everything else are Verify's to judge once the bundle is written.
func Assemble(d Draft) (Assembled, error) {
	id := d.Predicate.Finding.ID
	if err := CheckID(id); err != nil {
		return Assembled{}, fmt.Errorf("assemble finding: %w", err)
	}
	if why := narrativeProblem(d.Narrative); why != "" {
		return Assembled{}, fmt.Errorf("assemble finding %s: narrative %s", id, why)
	}
	a := Assembled{Folder: d.Folder, NarrativeName: NarrativeName(id)}
	if a.Folder == "" {
		a.Folder = FolderName(id)
	}
	if why := segmentProblem(a.Folder); why != "" || a.Folder == a.NarrativeName {
		return Assembled{}, fmt.Errorf("assemble finding %s: bundle folder %q: not a valid name of its own", id, a.Folder)
	}
	a.Manifest = Manifest{
		Type: StatementType, PredicateType: PredicateType, Predicate: d.Predicate,
		Subject: []Subject{subjectOf(a.NarrativeName, d.Narrative)},
	}
	a.Manifest.Subject[0].Region = RegionGenerated
	for _, file := range slices.Sorted(maps.Keys(d.Files)) {
		name := SubjectName(a.Folder, file)
		if why := nameProblem(name); why != "" {
			return Assembled{}, fmt.Errorf("assemble finding %s: file %q: %s", id, file, why)
		}
		a.Manifest.Subject = append(a.Manifest.Subject, subjectOf(name, d.Files[file]))
	}
	a.Manifest = a.Manifest.normal()
	var err error
	if a.ManifestBytes, err = Encode(a.Manifest); err != nil {
		return Assembled{}, fmt.Errorf("assemble finding %s: %w", id, err)
	}
	a.Sums = Sums(a.Manifest, a.ManifestBytes)
	return a, nil
}

func subjectOf(name string, data []byte) Subject {
	return Subject{Name: name, Digest: Digest{SHA256: digestOf(data)}, Size: int64(len(data))}
}
