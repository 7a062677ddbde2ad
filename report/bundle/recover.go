package bundle

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// recover removes what killed attempts at this finding left.
func (s *sealer) recover() error {
	stages, err := s.stages()
	if err != nil {
		return err
	}
	for _, stage := range stages {
		if err := s.clear(stage); err != nil {
			return fmt.Errorf("clear an unfinished attempt: %w", err)
		}
	}
	return nil
}

func (s *sealer) clear(stage string) error {
	alone, err := s.narrativeAlone(stage)
	if err != nil {
		return err
	}
	// The narrative goes first: without the stage nobody could tell it from a
	// file that somebody wrote by hand.
	if alone {
		if err := s.fsys.Remove(filepath.Join(s.findings, s.a.NarrativeName)); err != nil {
			return err
		}
		if err := syncDir(s.fsys, s.findings); err != nil {
			return err
		}
	}
	return s.fsys.RemoveAll(stage)
}

// stages lists the temporary folders of this finding. '~' is in no ID, so that
// no other finding's folder has the same prefix.
func (s *sealer) stages() (out []string, err error) {
	d, err := s.fsys.Open(s.findings)
	if err != nil {
		return nil, fmt.Errorf("open the findings folder (create it first): %w", err)
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	entries, err := d.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), stagePrefix+s.id+"~") {
			out = append(out, filepath.Join(s.findings, e.Name()))
		}
	}
	slices.Sort(out)
	return out, nil
}

// narrativeAlone reports whether the narrative in the findings folder was moved
// there from stage by an attempt that never moved the bundle: the stage has the
// bundle but not the narrative, and its manifest has the narrative's digest.
func (s *sealer) narrativeAlone(stage string) (bool, error) {
	manifest := filepath.Join(stage, s.a.Folder, ManifestName)
	published := filepath.Join(s.findings, s.a.NarrativeName)
	for _, expect := range []struct {
		name    string
		present bool
	}{
		{manifest, true},
		{filepath.Join(stage, s.a.NarrativeName), false},
		{published, true},
		{filepath.Join(s.findings, s.a.Folder), false},
	} {
		found, err := exists(s.fsys, expect.name)
		if err != nil || found != expect.present {
			return false, err
		}
	}
	data, err := readFile(s.fsys, manifest, maxManifestBytes)
	if err != nil {
		return false, err
	}
	m, err := Decode(data)
	if err != nil {
		return false, nil // cut short: the attempt never came to its renames
	}
	narrative, err := readFile(s.fsys, published, MaxFileBytes)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(m.Subject, func(sub Subject) bool {
		return sub.Region == RegionGenerated && sub.Digest.SHA256 == digestOf(narrative)
	}), nil
}
