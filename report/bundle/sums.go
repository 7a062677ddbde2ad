package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Sums derives SHA256SUMS from a manifest and its bytes: one line "digest  path"
// for every subject and for manifest.json, sorted by path. Paths are relative to
// the bundle folder, so the narrative is "../ID.md", and
//
//	cd findings/ID-evidence && sha256sum -c SHA256SUMS
//
// passes on a bundle as published. Once a correction stands below the
// narrative's end mark that one line fails under sha256sum, which knows no
// regions; Verify still passes.
func Sums(m Manifest, manifestBytes []byte) []byte {
	type line struct{ path, digest string }
	lines := []line{{ManifestName, digestOf(manifestBytes)}}
	for _, s := range m.Subject {
		lines = append(lines, line{sumsPath(s), s.Digest.SHA256})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return strings.Compare(a.path, b.path) })
	var buf bytes.Buffer
	for _, l := range lines {
		buf.WriteString(l.digest + "  " + l.path + "\n")
	}
	return buf.Bytes()
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
