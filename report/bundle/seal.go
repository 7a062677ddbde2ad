package bundle

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// ErrExists says that a finding of this ID, or its bundle folder, is already
// published. Nothing published is overwritten; a correction is a new finding.
var ErrExists = errors.New("already published; nothing published is overwritten, give a correction a new date or name")

// InvalidError carries the problems that kept a draft from being published.
type InvalidError struct{ Problems []Problem }

// Error lists the problems, one a line.
func (e *InvalidError) Error() string {
	var b strings.Builder
	b.WriteString("the finished bundle does not pass its own checks:")
	for _, p := range e.Problems {
		b.WriteString("\n" + p.String())
	}
	return b.String()
}

// Sealed says what Seal published. Names are relative to the findings folder.
type Sealed struct {
	Folder         string
	NarrativeName  string
	ManifestSHA256 string
	Files          int   // in the bundle folder
	Bytes          int64 // in the bundle folder
	// Leftover names an empty temporary folder that could not be removed, or is
	// empty. The finding is published all the same; the folder may be deleted.
	Leftover string
}

// Seal publishes a draft in findingsDir, which must exist: it writes narrative
// and bundle in a temporary folder there, reads every digest back from disk,
// runs the structural checks on the result, and then renames first the narrative
// and then the bundle into place.
//
// The bundle folder's rename is the moment of publication. Whatever happens, a
// bundle that is visible is whole and has its narrative. After an error nothing
// is visible. After a kill between the two renames the narrative stands alone;
// the next Seal of that finding recognises it by the temporary folder and takes
// it back. One finding is sealed by one program at a time.
func Seal(findingsDir string, d Draft) (Sealed, error) { return SealFS(OS{}, findingsDir, d) }

// SealFS is Seal on a given file system.
func SealFS(fsys FS, findingsDir string, d Draft) (Sealed, error) {
	a, err := Assemble(d)
	if err != nil {
		return Sealed{}, err
	}
	s := sealer{fsys: fsys, findings: findingsDir, id: d.Predicate.Finding.ID, a: a, d: d}
	leftover, err := s.run()
	if err != nil {
		return Sealed{}, fmt.Errorf("seal finding %s: %w", s.id, err)
	}
	out := Sealed{
		Folder: a.Folder, NarrativeName: a.NarrativeName, ManifestSHA256: digestOf(a.ManifestBytes),
		Files: len(d.Files) + 2, Bytes: int64(len(a.ManifestBytes) + len(a.Sums)), Leftover: leftover,
	}
	for _, data := range d.Files {
		out.Bytes += int64(len(data))
	}
	return out, nil
}

// sealer is one attempt to publish. The temporary folder, stage, is laid out as
// a findings folder of one finding, so that Load works in it as it is.
type sealer struct {
	fsys     FS
	findings string
	id       string
	a        Assembled
	d        Draft
	stage    string
}

func (s *sealer) run() (leftover string, err error) {
	if err := s.recover(); err != nil {
		return "", err
	}
	if err := s.refuseExisting(); err != nil {
		return "", err
	}
	s.stage, err = s.fsys.MkdirTemp(s.findings, stagePrefix+s.id+"~*")
	if err != nil {
		return "", err
	}
	if err := s.fill(); err != nil {
		return "", errors.Join(err, s.fsys.RemoveAll(s.stage))
	}
	if err := s.publish(); err != nil {
		return "", errors.Join(err, s.takeBack())
	}
	if err := s.fsys.Remove(s.stage); err != nil {
		return filepath.Base(s.stage), nil
	}
	return "", nil
}

func (s *sealer) refuseExisting() error {
	for _, name := range []string{s.a.Folder, s.a.NarrativeName} {
		found, err := exists(s.fsys, filepath.Join(s.findings, name))
		if err != nil {
			return err
		}
		if found {
			return fmt.Errorf("%s: %w", name, ErrExists)
		}
	}
	return nil
}

// fill writes the finding in the stage, the manifest last, and checks it there.
func (s *sealer) fill() error {
	bundle := filepath.Join(s.stage, s.a.Folder)
	folders, err := s.makeFolders(bundle)
	if err != nil {
		return err
	}
	if err := s.write(s.a.NarrativeName, s.d.Narrative); err != nil {
		return err
	}
	for _, file := range slices.Sorted(maps.Keys(s.d.Files)) {
		if err := s.write(SubjectName(s.a.Folder, file), s.d.Files[file]); err != nil {
			return err
		}
	}
	if err := s.write(SubjectName(s.a.Folder, SumsName), s.a.Sums); err != nil {
		return err
	}
	if err := s.write(SubjectName(s.a.Folder, ManifestName), s.a.ManifestBytes); err != nil {
		return err
	}
	for _, dir := range folders {
		if err := syncDir(s.fsys, dir); err != nil {
			return err
		}
	}
	l, err := load(s.fsys, bundle)
	if err != nil {
		return err
	}
	if r := Verify(l, Options{}); !r.OK() {
		return &InvalidError{r.Problems}
	}
	return nil
}

// makeFolders creates the bundle folder and the folders in it. It returns all
// that have to be made durable, innermost first, the stage last.
func (s *sealer) makeFolders(bundle string) ([]string, error) {
	needed := map[string]bool{bundle: true}
	for file := range s.d.Files {
		dir := filepath.Dir(filepath.Join(bundle, filepath.FromSlash(file)))
		for ; dir != bundle; dir = filepath.Dir(dir) {
			needed[dir] = true
		}
	}
	folders := slices.Sorted(maps.Keys(needed)) // a parent sorts before its children
	for _, dir := range folders {
		if err := s.fsys.Mkdir(dir); err != nil {
			return nil, err
		}
	}
	slices.Reverse(folders)
	return append(folders, s.stage), nil
}

// write puts one file in the stage and compares what the disk gives back.
func (s *sealer) write(name string, data []byte) error {
	full := filepath.Join(s.stage, filepath.FromSlash(name))
	if err := writeFile(s.fsys, full, data); err != nil {
		return err
	}
	back, err := readFile(s.fsys, full, int64(len(data)))
	if err != nil {
		return fmt.Errorf("read %s back: %w", name, err)
	}
	if digestOf(back) != digestOf(data) {
		return fmt.Errorf("read %s back: other bytes than were written", name)
	}
	return nil
}

// publish renames the narrative and then the bundle into place.
func (s *sealer) publish() error {
	if err := s.refuseExisting(); err != nil {
		return err
	}
	for _, name := range []string{s.a.NarrativeName, s.a.Folder} {
		if err := s.fsys.Rename(filepath.Join(s.stage, name), filepath.Join(s.findings, name)); err != nil {
			return err
		}
		if err := syncDir(s.fsys, s.findings); err != nil {
			return err
		}
	}
	return nil
}

// takeBack undoes publish after an error. What is no longer in the stage was
// moved, even where the rename reported an error (as over a network it may).
func (s *sealer) takeBack() error {
	for _, name := range []string{s.a.Folder, s.a.NarrativeName} {
		staged := filepath.Join(s.stage, name)
		found, err := exists(s.fsys, staged)
		if err != nil {
			return err
		}
		if found {
			continue
		}
		if err := s.fsys.Rename(filepath.Join(s.findings, name), staged); err != nil {
			return err
		}
	}
	// Durable first: after a crash no published name may lead to a folder that
	// is being emptied.
	if err := syncDir(s.fsys, s.findings); err != nil {
		return err
	}
	return s.fsys.RemoveAll(s.stage)
}
