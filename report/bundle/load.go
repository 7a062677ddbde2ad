package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Bounds of what Load reads, whatever the folder holds.
const (
	maxManifestBytes  = 8 << 20  // beyond it the manifest is not read (V-01)
	maxSumsBytes      = 4 << 20  // beyond it SHA256SUMS is not read (V-08)
	maxSignatureBytes = 64 << 10 // beyond it the signature is not read
	maxEntries        = 1000     // folder entries listed; beyond it V-05 cannot run
)

// Loaded is a bundle as found on disk. Checks read it and nothing else.
type Loaded struct {
	// Folder is the bundle folder's own name.
	Folder string

	// ManifestBytes is nil when manifest.json could not be read. Manifest is
	// nil when it could not be decoded, and ManifestErr says why.
	ManifestBytes []byte
	Manifest      *Manifest
	ManifestErr   error

	// Sums is nil when SHA256SUMS could not be read, and SumsErr says why.
	Sums    []byte
	SumsErr error

	// Signature is nil when there is no readable manifest.json.sig.
	Signature    []byte
	SignatureErr error

	// Files holds every subject with a valid name, by that name.
	Files map[string]*Entry
	// Control holds the control files that exist, by name.
	Control map[string]*Entry

	// Listed is everything below the bundle folder, slash-separated and sorted.
	// ListErr is errTooMany, or why a folder could not be listed; Listed is then
	// not everything.
	Listed  []Listing
	ListErr error

	// Index is the README.md of the findings folder. IndexErr wraps fs.ErrNotExist
	// when there is none.
	Index    []byte
	IndexErr error

	// Links are the relative link targets below the narrative's end mark; true
	// where a regular file of that name is in the findings folder.
	Links map[string]bool
}

// Entry is one file as found on disk.
type Entry struct {
	Mode fs.FileMode // valid when Exists
	Size int64       // bytes of the whole file
	// Exists is false for a missing file and for one behind a linked folder.
	Exists bool
	// SHA256 is of the subject's region, or of the whole file; empty when the
	// file was not read, and Unread says why. OverLimit is set when that is
	// because of its size.
	SHA256    string
	Unread    string
	OverLimit bool
	// Data is the file's content; nil when it was not read or an exception
	// covers it.
	Data []byte
	// Region is the number of bytes the digest covers.
	Region int64
}

// Listing is one name below the bundle folder.
type Listing struct {
	Name string
	Mode fs.FileMode // type bits only
}

// Load reads the bundle in bundleDir and its narrative beside it. An error
// means that there is no such folder; whatever is wrong inside it becomes part
// of Loaded, for the checks. Memory stays within
// a few times MaxBundleBytes, and MaxExceptedBytes more are read at most.
func Load(bundleDir string) (*Loaded, error) { return load(OS{}, bundleDir) }

func load(fsys FS, bundleDir string) (*Loaded, error) {
	abs, err := filepath.Abs(bundleDir)
	if err != nil {
		return nil, fmt.Errorf("load bundle: %w", err)
	}
	// The argument itself may be a link; nothing below it is followed.
	if info, err := os.Stat(abs); err != nil {
		return nil, fmt.Errorf("load bundle: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("load bundle: %s is not a folder; name the bundle folder, not a file in it", bundleDir)
	}
	ld := loader{fsys: fsys, dir: abs, parents: map[string]bool{}}
	l := &Loaded{
		Folder: filepath.Base(abs),
		Files:  map[string]*Entry{}, Control: map[string]*Entry{}, Links: map[string]bool{},
	}
	l.ManifestBytes, l.ManifestErr = ld.control(l, ManifestName, maxManifestBytes)
	l.Sums, l.SumsErr = ld.control(l, SumsName, maxSumsBytes)
	l.Signature, l.SignatureErr = ld.control(l, SignatureName, maxSignatureBytes)
	l.Index, l.IndexErr = readFile(fsys, filepath.Join(filepath.Dir(abs), IndexName), maxManifestBytes)
	l.Listed, l.ListErr = ld.list()
	if l.ManifestErr == nil {
		m, err := Decode(l.ManifestBytes)
		if err != nil {
			l.ManifestErr = err
		} else {
			l.Manifest = &m
			ld.subjects(l)
		}
	}
	return l, nil
}

type loader struct {
	fsys    FS
	dir     string          // the bundle folder
	parents map[string]bool // folder path -> a real folder, no link on the way
}

// control reads a control file and notes its entry. A missing one is an error
// that wraps fs.ErrNotExist.
func (ld *loader) control(l *Loaded, name string, limit int64) ([]byte, error) {
	full := filepath.Join(ld.dir, name)
	if info, err := ld.fsys.Lstat(full); err == nil {
		l.Control[name] = &Entry{Exists: true, Mode: info.Mode(), Size: info.Size()}
	}
	data, err := readFile(ld.fsys, full, limit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, withoutPath(err))
	}
	return data, nil
}

// subjects looks at every subject with a valid name, in manifest order, so that
// what is read before a limit is hit does not depend on the folder.
func (ld *loader) subjects(l *Loaded) {
	left := MaxBundleBytes
	excepted, _ := l.Manifest.excepted() // what the others lack is V-06's
	for _, s := range l.Manifest.Subject {
		if _, twice := l.Files[s.Name]; twice || l.subjectProblem(s.Name) != "" {
			continue
		}
		e := ld.stat(l.Folder, s)
		l.Files[s.Name] = e
		if e.Unread != "" {
			continue
		}
		switch full := ld.path(l.Folder, s); {
		case excepted[s.Name]:
			ld.hash(full, s, e)
		case e.Size > MaxFileBytes:
			e.Unread, e.OverLimit = "over the file limit", true
		case s.Region == RegionGenerated:
			ld.narrative(l, full, s, e)
		case e.Size > left:
			e.Unread, e.OverLimit = "over the bundle limit", true
		default:
			left -= e.Size
			ld.read(full, s, e)
		}
	}
}

// path is where a subject with a valid name is on disk.
func (ld *loader) path(folder string, s Subject) string {
	if file, ok := inFolder(folder, s.Name); ok {
		return filepath.Join(ld.dir, filepath.FromSlash(file))
	}
	return filepath.Join(filepath.Dir(ld.dir), s.Name)
}

func (ld *loader) stat(folder string, s Subject) *Entry {
	if file, ok := inFolder(folder, s.Name); ok && !ld.realParent(filepath.Dir(filepath.FromSlash(file))) {
		return &Entry{Unread: "not in a real folder"}
	}
	info, err := ld.fsys.Lstat(ld.path(folder, s))
	if errors.Is(err, fs.ErrNotExist) {
		return &Entry{Unread: "missing"}
	}
	if err != nil {
		return &Entry{Unread: withoutPath(err).Error()}
	}
	e := &Entry{Exists: true, Mode: info.Mode(), Size: info.Size(), Region: info.Size()}
	if !info.Mode().IsRegular() {
		e.Unread = "not a regular file"
	}
	return e
}

// realParent reports whether rel, below the bundle folder, is reached through
// folders only.
func (ld *loader) realParent(rel string) bool {
	if rel == "." {
		return true
	}
	if known, ok := ld.parents[rel]; ok {
		return known
	}
	ok := ld.realParent(filepath.Dir(rel))
	if ok {
		info, err := ld.fsys.Lstat(filepath.Join(ld.dir, rel))
		ok = err == nil && info.IsDir()
	}
	ld.parents[rel] = ok
	return ok
}

func (ld *loader) read(full string, s Subject, e *Entry) {
	data, err := readFile(ld.fsys, full, MaxFileBytes)
	if err != nil {
		e.Unread = withoutPath(err).Error()
		return
	}
	e.Data = data
	e.Region = int64(len(data))
	if s.Region == RegionGenerated {
		e.Region = regionSize(data, s.Size)
	}
	e.SHA256 = digestOf(data[:e.Region])
}

// hash streams a file that an exception allows to be large. One whose size is
// not the declared one is not read: its size is problem enough.
func (ld *loader) hash(full string, s Subject, e *Entry) {
	if e.Size != s.Size {
		e.Unread = "larger than the limits and not of the declared size"
		return
	}
	f, _, err := openRegular(ld.fsys, full)
	if err != nil {
		e.Unread = withoutPath(err).Error()
		return
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, s.Size+1)); err != nil {
		e.Unread = withoutPath(err).Error()
		return
	}
	e.SHA256 = hex.EncodeToString(h.Sum(nil))
}

// narrative reads the narrative and looks up the links below its end mark.
func (ld *loader) narrative(l *Loaded, full string, s Subject, e *Entry) {
	ld.read(full, s, e)
	for _, target := range relativeLinks(e.tail()) {
		l.Links[target] = false
		if linkProblem(target) != "" {
			continue
		}
		info, err := ld.fsys.Lstat(filepath.Join(filepath.Dir(ld.dir), filepath.FromSlash(target)))
		l.Links[target] = err == nil && info.Mode().IsRegular()
	}
}

// withoutPath drops the path from a file error: results are published, and the
// path of a private folder has no place in them.
func withoutPath(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// subjectProblem says why a subject cannot belong to this bundle, or "".
func (l *Loaded) subjectProblem(name string) string {
	if why := nameProblem(name); why != "" {
		return why
	}
	if name == NarrativeName(l.Manifest.Predicate.Finding.ID) {
		return ""
	}
	if _, ok := inFolder(l.Folder, name); !ok {
		return fmt.Sprintf("outside the bundle folder, which is called %q", l.Folder)
	}
	return ""
}
