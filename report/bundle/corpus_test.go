package bundle

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// tamper is one way to damage a published finding and the code that must come
// first in the result.
type tamper struct {
	name   string
	code   Code
	mutate func(box)
}

const (
	parquet = "data/requests.parquet"
	text    = "queries/e2e.sql"
)

var corpus = slices.Concat(manifestTampers, nameTampers, fileTampers, closedWorldTampers, limitTampers, sumsTampers, narrativeTampers, externalTampers, sanitizerTampers, indexTampers)

// rewrite damages the manifest's text and leaves everything else as it was.
func rewrite(change func(string) string) func(box) {
	return func(b box) {
		b.edit(ManifestName, func(data []byte) []byte {
			out := change(string(data))
			if out == string(data) {
				b.t.Fatal("the mutator changed nothing")
			}
			return []byte(out)
		})
	}
}

func replaceOnce(old, new string) func(box) {
	return rewrite(func(s string) string { return strings.Replace(s, old, new, 1) })
}

var manifestTampers = []tamper{
	{"manifest deleted", "V-01", func(b box) { b.must(os.Remove(b.path(ManifestName))) }},
	{"manifest empty", "V-01", func(b box) { b.write(ManifestName, nil) }},
	{"manifest is a link", "V-01", func(b box) {
		b.must(os.Rename(b.path(ManifestName), b.path("plots/m.json")))
		b.must(os.Symlink("plots/m.json", b.path(ManifestName)))
	}},
	{"manifest larger than is read", "V-01", func(b box) { b.must(os.Truncate(b.path(ManifestName), 2<<30)) }},
	{"manifest re-indented", "V-01", rewrite(func(s string) string { return strings.ReplaceAll(s, "  ", "\t") })},
	{"manifest keys reordered", "V-01", func(b box) {
		rewrite(func(s string) string {
			line := fmt.Sprintf("  \"_type\": %q,\n", StatementType)
			s = strings.Replace(s, line, "", 1)
			return strings.Replace(s, "  \"subject\"", line+"  \"subject\"", 1)
		})(b)
	}},
	{"subjects reordered", "V-01", func(b box) {
		m, err := Decode(b.read(ManifestName))
		b.must(err)
		first, second := m.Subject[0].Name, m.Subject[1].Name
		rewrite(func(s string) string { return strings.NewReplacer(first, second, second, first).Replace(s) })(b)
	}},
	{"duplicate key", "V-01", replaceOnce(`"format": 1,`, "\"format\": 1,\n    \"format\": 1,")},
	{"key in other case", "V-01", replaceOnce(`"format"`, `"Format"`)},
	{"float", "V-01", replaceOnce(`"planned": 48`, `"planned": 48.0`)},
	{"exponent", "V-01", replaceOnce(`"planned": 48`, `"planned": 48e0`)},
	{"unknown field", "V-01", replaceOnce(`"format": 1,`, "\"extra\": 1,\n    \"format\": 1,")},
	{"null list", "V-01", replaceOnce(`"external": []`, `"external": null`)},
	{"63-digit digest", "V-01", rewrite(func(s string) string {
		i := strings.LastIndex(s, `"sha256": "`) + len(`"sha256": "`)
		return s[:i] + s[i+1:]
	})},
	{"upper-case digest", "V-01", rewrite(func(s string) string {
		i := strings.LastIndex(s, `"sha256": "`) + len(`"sha256": "`)
		return s[:i] + strings.ToUpper(s[i:i+64]) + s[i+64:]
	})},
	{"byte-order mark", "V-01", rewrite(func(s string) string { return "\ufeff" + s })},
	{"trailing data", "V-01", rewrite(func(s string) string { return s + "{}\n" })},
	{"no trailing newline", "V-01", rewrite(func(s string) string { return strings.TrimSuffix(s, "\n") })},
	{"CRLF manifest", "V-01", rewrite(func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") })},
	{"escaped character", "V-01", replaceOnce("hardware", `\u0068ardware`)},
	{"not NFC", "V-01", replaceOnce("hardware", "ha\u0308rdware")},
	{"other type", "V-01", replaceOnce(PredicateType, "urn:assay:other:v1")},
	{"unknown kind", "V-01", replaceOnce(`"kind": "measured"`, `"kind": "meazured"`)},
	{"a role left out", "V-01", func(b box) {
		b.remanifest(func(m *Manifest) { m.Predicate.Roles = m.Predicate.Roles[:9] })
	}},
	{"no subjects", "V-01", func(b box) { b.remanifest(func(m *Manifest) { m.Subject = nil }) }},
	{"narrative no subject", "V-01", func(b box) {
		b.remanifest(func(m *Manifest) {
			m.Subject = slices.DeleteFunc(m.Subject, func(s Subject) bool { return s.Region != "" })
		})
	}},
	{"region on a bundle's file", "V-01", func(b box) {
		b.remanifest(func(m *Manifest) { m.Subject[1].Region = RegionGenerated })
	}},
}

// named lists one more subject under a bad name.
func named(name string) func(box) {
	return func(b box) {
		b.remanifest(func(m *Manifest) { m.Subject = append(m.Subject, subjectOf(name, []byte("x"))) })
	}
}

// namedInside is named below the bundle folder.
func namedInside(file string) func(box) {
	return func(b box) { named(SubjectName(b.folder, file))(b) }
}

var nameTampers = []tamper{
	{"name ../x", "V-02", func(b box) {
		b.must(os.WriteFile(filepath.Join(b.findings, "..", "x"), []byte("x"), 0o644))
		named("../x")(b)
	}},
	{"name with .. inside", "V-02", namedInside("data/../plan.json")},
	{"name absolute", "V-02", named("/etc/hostname")},
	{"name with backslash", "V-02", namedInside(`data\x`)},
	{"name with NUL", "V-02", namedInside("data/x\x00")},
	{"name with double slash", "V-02", namedInside("data//x")},
	{"name with trailing slash", "V-02", namedInside("data/")},
	{"name with leading dot", "V-02", namedInside("data/.x")},
	{"name with upper case", "V-02", namedInside("Data/x")},
	{"name with a letter beyond ASCII", "V-02", namedInside("data/\u00e9")},
	{"name of 121 bytes", "V-02", func(b box) {
		namedInside(strings.Repeat("x", MaxNameLen-len(b.folder)))(b)
	}},
	{"README.md in a subfolder", "V-02", namedInside("data/README.md")},
	{"empty name", "V-02", named("")},
	{"manifest as a subject", "V-02", namedInside(ManifestName)},
	{"signature as a subject", "V-02", namedInside(SignatureName)},
	{"twin of SHA256SUMS", "V-02", namedInside("sha256sums")},
	{"listed twice", "V-02", func(b box) {
		b.remanifest(func(m *Manifest) { m.Subject = append(m.Subject, m.Subject[0]) })
	}},
	{"case twins", "V-02", func(b box) { b.add("readme.md", []byte("x")) }},
	{"file of the findings folder", "V-02", func(b box) {
		b.must(os.WriteFile(filepath.Join(b.findings, "other.md"), []byte("x"), 0o644))
		named("other.md")(b)
	}},
	{"file of another bundle", "V-02", named("2026-10-16-other-evidence/plan.json")},
	{"manifest of another folder", "V-02", func(b box) {
		b.remanifest(func(m *Manifest) {
			for i, s := range m.Subject {
				m.Subject[i].Name = strings.Replace(s.Name, b.folder+"/", b.folder+"2/", 1)
			}
		})
	}},
	{"role names nothing", "V-02", func(b box) {
		b.remanifest(func(m *Manifest) { m.Predicate.Roles[0].Files = []string{""} })
	}},
	{"role names an unpublished file", "V-02", func(b box) {
		b.remanifest(func(m *Manifest) { m.Predicate.Roles[0].Files = []string{SubjectName(b.folder, "gone.md")} })
	}},
}

// crlf is what a checkout with converted line ends does.
func crlf(data []byte) []byte { return bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")) }

var fileTampers = []tamper{
	{"truncated", "V-03", func(b box) { b.must(os.Truncate(b.path(parquet), 2999)) }},
	{"emptied", "V-03", func(b box) { b.must(os.Truncate(b.path(parquet), 0)) }},
	{"extended", "V-03", func(b box) { b.edit(parquet, func(d []byte) []byte { return append(d, 0) }) }},
	{"deleted", "V-03", func(b box) { b.must(os.Remove(b.path(parquet))) }},
	{"folder deleted", "V-03", func(b box) { b.must(os.RemoveAll(b.path("data"))) }},
	{"link to an equal file", "V-03", func(b box) {
		b.must(os.Rename(b.path(parquet), filepath.Join(b.findings, "kept")))
		b.must(os.Symlink("../../kept", b.path(parquet)))
	}},
	{"folder is a link", "V-03", func(b box) {
		b.must(os.Rename(b.path("data"), filepath.Join(b.findings, "kept")))
		b.must(os.Symlink("../kept", b.path("data")))
	}},
	{"pipe in a file's place", "V-03", func(b box) {
		b.must(os.Remove(b.path(parquet)))
		b.must(syscall.Mkfifo(b.path(parquet), 0o644))
	}},
	{"folder in a file's place", "V-03", func(b box) {
		b.must(os.Remove(b.path(parquet)))
		b.must(os.Mkdir(b.path(parquet), 0o755))
	}},
	{"exec bit", "V-03", func(b box) { b.must(os.Chmod(b.path(text), 0o755)) }},
	{"exec bit on the manifest", "V-03", func(b box) { b.must(os.Chmod(b.path(ManifestName), 0o755)) }},
	{"exec bit on the narrative", "V-03", func(b box) { b.must(os.Chmod(b.path(b.narrative()), 0o755)) }},
	{"CRLF checkout of a query", "V-03", func(b box) { b.edit(text, crlf) }},
	{"CRLF checkout of the narrative", "V-03", func(b box) { b.edit(b.narrative(), crlf) }},
	{"narrative truncated", "V-03", func(b box) { b.edit(b.narrative(), func(d []byte) []byte { return d[:len(d)-1] }) }},
	{"narrative without its end", "V-03", func(b box) { b.edit(b.narrative(), func(d []byte) []byte { return d[:20] }) }},
	{"narrative longer", "V-03", func(b box) { b.edit(b.narrative(), func(d []byte) []byte { return append([]byte("x\n"), d...) }) }},
	{"narrative deleted", "V-03", func(b box) { b.must(os.Remove(b.path(b.narrative()))) }},
	{"narrative is a link", "V-03", func(b box) {
		b.must(os.Rename(b.path(b.narrative()), filepath.Join(b.findings, "kept")))
		b.must(os.Symlink("kept", b.path(b.narrative())))
	}},
	{"equal-size files swapped", "V-04", func(b box) {
		a, c := b.read(parquet), b.read("data/gaps.parquet")
		b.write(parquet, c)
		b.write("data/gaps.parquet", a)
	}},
	{"one bit", "V-04", func(b box) { b.edit(parquet, func(d []byte) []byte { d[1234] ^= 8; return d }) }},
	{"digest of another file", "V-04", func(b box) {
		b.remanifest(func(m *Manifest) { m.Subject[2].Digest = m.Subject[1].Digest })
	}},
	{"narrative reworded", "V-04", func(b box) {
		b.edit(b.narrative(), func(d []byte) []byte { return bytes.Replace(d, []byte("48"), []byte("47"), 1) })
	}},
	{"a byte of the end mark", "V-04", func(b box) {
		b.edit(b.narrative(), func(d []byte) []byte { return bytes.Replace(d, []byte("assay:end"), []byte("assay:enb"), 1) })
	}},
}

var closedWorldTampers = []tamper{
	{"extra file", "V-05", func(b box) { b.write("data/more.parquet", []byte("x")) }},
	{"extra folder", "V-05", func(b box) { b.must(os.Mkdir(b.path("more"), 0o755)) }},
	{".DS_Store", "V-05", func(b box) { b.write(".DS_Store", []byte("x")) }},
	{"hidden folder", "V-05", func(b box) { b.write("data/.git/x", []byte("x")) }},
	{"leftover temporary file", "V-05", func(b box) { b.write("data/"+tempPrefix+"x", []byte("x")) }},
	{"extra link", "V-05", func(b box) { b.must(os.Symlink("plan.json", b.path("plan2.json"))) }},
	{"subject left out of the manifest", "V-05", func(b box) {
		b.remanifest(func(m *Manifest) {
			m.Subject = slices.DeleteFunc(m.Subject, func(s Subject) bool { return strings.HasSuffix(s.Name, text) })
		})
	}},
}

// exception allows b's big file; change spoils it.
func exception(change func(*Exception)) func(box) {
	return func(b box) {
		data := bytes.Repeat([]byte("x"), int(MaxFileBytes)+1)
		b.add("data/big.parquet", data)
		b.remanifest(func(m *Manifest) {
			x := Exception{Files: []string{SubjectName(b.folder, "data/big.parquet")}, Bytes: int64(len(data)), Reason: "raw gaps", Approver: "owner"}
			change(&x)
			m.Predicate.Limits.Exceptions = []Exception{x}
		})
	}
}

// fillTo adds files until the bundle has exactly total bytes.
func fillTo(b box, total int64) {
	b.t.Helper()
	size := func() (n int64) {
		for _, name := range b.files() {
			if name != b.narrative() {
				n += int64(len(b.read(name)))
			}
		}
		return n
	}
	for i := range 4 {
		b.add(fmt.Sprintf("data/fill%d", i), bytes.Repeat([]byte("f"), int(MaxFileBytes)))
	}
	b.add("data/fill4", bytes.Repeat([]byte("f"), 500_000))
	b.add("data/last", bytes.Repeat([]byte("l"), 100_000)) // a size of as many digits as the final one
	rest := 100_000 + total - size()
	if rest < 100_000 || rest > 999_999 {
		b.t.Fatalf("last file would have %d bytes", rest)
	}
	data := bytes.Repeat([]byte("l"), int(rest))
	b.write("data/last", data)
	b.remanifest(func(m *Manifest) {
		for i, s := range m.Subject {
			if strings.HasSuffix(s.Name, "/data/last") {
				m.Subject[i] = subjectOf(s.Name, data)
			}
		}
	})
	if got := size(); got != total {
		b.t.Fatalf("bundle has %d bytes, want %d", got, total)
	}
}

func sparse(b box, size int64) {
	b.write("data/sparse", nil)
	b.must(os.Truncate(b.path("data/sparse"), size))
}

// addMany publishes n empty files in one step.
func addMany(b box, n int) {
	b.must(os.Mkdir(b.path("many"), 0o755))
	var added []Subject
	for i := range n {
		file := fmt.Sprintf("many/%05d", i)
		b.must(os.WriteFile(b.path(file), nil, 0o644))
		added = append(added, subjectOf(SubjectName(b.folder, file), nil))
	}
	b.remanifest(func(m *Manifest) { m.Subject = append(m.Subject, added...) })
}

var limitTampers = []tamper{
	{"1 MiB + 1", "V-06", func(b box) { b.add("data/big.parquet", make([]byte, MaxFileBytes+1)) }},
	{"5 MiB + 1", "V-06", func(b box) { fillTo(b, MaxBundleBytes+1) }},
	{"narrative of 1 MiB + 1", "V-06", func(b box) {
		b.edit(b.narrative(), func(d []byte) []byte { return append(bytes.Repeat([]byte("x"), int(MaxFileBytes)+1-len(d)), d...) })
		data := b.read(b.narrative())
		b.remanifest(func(m *Manifest) {
			for i, s := range m.Subject {
				if s.Region != "" {
					m.Subject[i].Size, m.Subject[i].Digest.SHA256 = int64(len(data)), digestOf(data)
				}
			}
		})
	}},
	{"201 files", "V-06", func(b box) { addMany(b, int(MaxFiles)+2-len(b.files())) }},
	{"exception without approver", "V-06", exception(func(x *Exception) { x.Approver = " " })},
	{"exception without reason", "V-06", exception(func(x *Exception) { x.Reason = "" })},
	{"exception for other bytes", "V-06", exception(func(x *Exception) { x.Bytes++ })},
	{"exception without files", "V-06", exception(func(x *Exception) { x.Files, x.Bytes = nil, 0 })},
	{"exception for an unknown file", "V-06", exception(func(x *Exception) { x.Files = append(x.Files, "nowhere") })},
	{"sparse 2 GB file with an exception", "V-06", func(b box) {
		sparse(b, 2<<30)
		b.remanifest(func(m *Manifest) {
			s := subjectOf(SubjectName(b.folder, "data/sparse"), nil)
			s.Size = 2 << 30
			m.Subject = append(m.Subject, s)
			m.Predicate.Limits.Exceptions = []Exception{{Files: []string{s.Name}, Bytes: s.Size, Reason: "r", Approver: "a"}}
		})
	}},
	{"other limits stated", "V-06", func(b box) {
		b.remanifest(func(m *Manifest) { m.Predicate.Limits.BundleBytes *= 2 })
	}},
	{"sparse 2 GB file, listed", "V-06", func(b box) {
		sparse(b, 2<<30)
		b.remanifest(func(m *Manifest) {
			s := subjectOf(SubjectName(b.folder, "data/sparse"), nil)
			s.Size = 2 << 30
			m.Subject = append(m.Subject, s)
		})
	}},
	{"subject blown up to a sparse 2 GB", "V-06", func(b box) { b.must(os.Truncate(b.path(parquet), 2<<30)) }},
	{"10,000 files", "V-06", func(b box) { addMany(b, 10_000) }},
	{"more unlisted files than are listed", "V-06", func(b box) {
		b.must(os.Mkdir(b.path("many"), 0o755))
		for i := range maxEntries {
			b.must(os.WriteFile(b.path(fmt.Sprintf("many/%05d", i)), nil, 0o644))
		}
	}},
	{"signature of 64 KiB + 1", "V-06", func(b box) { b.write(SignatureName, make([]byte, maxSignatureBytes+1)) }},
}

var sumsTampers = []tamper{
	{"SHA256SUMS deleted", "V-08", func(b box) { b.must(os.Remove(b.path(SumsName))) }},
	{"SHA256SUMS emptied", "V-08", func(b box) { b.write(SumsName, nil) }},
	{"SHA256SUMS shortened", "V-08", func(b box) { b.edit(SumsName, func(d []byte) []byte { return d[:len(d)-1] }) }},
	{"SHA256SUMS with one more line", "V-08", func(b box) {
		b.edit(SumsName, func(d []byte) []byte { return append(d, strings.Repeat("0", 64)+"  ../x\n"...) })
	}},
	{"SHA256SUMS with CRLF", "V-08", func(b box) { b.edit(SumsName, crlf) }},
	{"a count changed canonically", "V-08", replaceOnce(`"passing": 47`, `"passing": 48`)},
	{"the kind changed canonically", "V-08", replaceOnce(`"kind": "measured"`, `"kind": "simulated"`)},
	{"a reason changed canonically", "V-08", replaceOnce("not collected", "not collecteD")},
	{"the lock time changed canonically", "V-08", replaceOnce("1792195200000000001", "1792195200000000002")},
}

// below appends text to the narrative.
func below(text string) func(box) {
	return func(b box) { b.edit(b.narrative(), func(d []byte) []byte { return append(d, text...) }) }
}

var narrativeTampers = []tamper{
	{"text after the end mark", "V-09", below("One more thing.\n")},
	{"text without a line feed", "V-09", below("- 2026-10-18: see the errata")},
	{"a single byte after the end mark", "V-09", below("x")},
	{"no such date", "V-09", below("- 2026-02-30: see the errata\n")},
	{"correction without text", "V-09", below("- 2026-10-18: \n")},
	{"dead link", "V-09", below("- 2026-10-18: see [this](2026-10-18-gone.md)\n")},
	{"escaping link", "V-09", below("- 2026-10-18: see [this](../../x.md)\n")},
	{"script link", "V-09", below("- 2026-10-18: see [this](javascript:alert(1))\n")},
	{"http link", "V-09", below("- 2026-10-18: see [this](http://example.com/)\n")},
	{"link with a password", "V-09", below("- 2026-10-18: see [this](https://u:p@example.com/)\n")},
	{"raw HTML", "V-09", below("- 2026-10-18: <b>x</b>\n")},
	{"picture", "V-09", below("- 2026-10-18: ![x](https://example.com/x.png)\n")},
	{"second end mark", "V-09", below("- 2026-10-18: x " + EndMark + "\n")},
	{"CRLF below the mark", "V-09", below("- 2026-10-18: x\r\n")},
	{"bytes that are no text", "V-09", below("- 2026-10-18: \xff\n")},
	{"generated part without its mark, re-hashed", "V-09", func(b box) {
		b.edit(b.narrative(), func(d []byte) []byte { return bytes.Replace(d, []byte(EndMark), []byte("the end"), 1) })
		data := b.read(b.narrative())
		b.remanifest(func(m *Manifest) {
			for i, s := range m.Subject {
				if s.Region != "" {
					m.Subject[i].Size, m.Subject[i].Digest.SHA256 = int64(len(data)), digestOf(data)
				}
			}
		})
	}},
}

// indexed writes the index and then damages it.
func indexed(change func(string) string) func(box) {
	return func(b box) {
		b.must(WriteIndex(b.findings))
		text := b.index()
		changed := change(text)
		if changed == text {
			b.t.Fatal("the mutator changed nothing")
		}
		b.must(os.WriteFile(filepath.Join(b.findings, IndexName), []byte(changed), 0o644))
	}
}

// superseding is a box whose finding supersedes an earlier one.
func superseding(b box) {
	_, err := SealFS(&faultFS{FS: OS{}}, b.findings, smallDraft(earlierID))
	b.must(err)
	b.remanifest(func(m *Manifest) { m.Predicate.Finding.Supersedes = earlierID })
}

const earlierID = "2026-10-16-earlier"

var indexTampers = []tamper{
	{"index row removed", "V-14", indexed(func(s string) string {
		rows := strings.SplitAfter(s, "\n")
		return strings.Join(slices.DeleteFunc(rows, func(row string) bool { return strings.Contains(row, testID) }), "")
	})},
	{"index row of another digest", "V-14", indexed(func(s string) string {
		i := strings.Index(s, "sha256:") + len("sha256:")
		return s[:i] + strings.Repeat("0", 64) + s[i+64:]
	})},
	{"index row of another folder", "V-14", indexed(func(s string) string { return strings.Replace(s, testID+"-evidence/", "other/", 1) })},
	{"index row twice", "V-14", indexed(func(s string) string { return s + s[strings.Index(s, "| 2026"):] })},
	{"index emptied", "V-14", indexed(func(string) string { return "" })},
	{"index is a link", "V-14", func(b box) {
		b.must(WriteIndex(b.findings))
		b.must(os.Rename(filepath.Join(b.findings, IndexName), filepath.Join(b.findings, "kept")))
		b.must(os.Symlink("kept", filepath.Join(b.findings, IndexName)))
	}},
	{"supersedes what is not there", "V-14", func(b box) {
		b.remanifest(func(m *Manifest) { m.Predicate.Finding.Supersedes = earlierID })
		b.must(WriteIndex(b.findings))
	}},
	{"superseding not linked from the old row", "V-14", func(b box) {
		superseding(b)
		indexed(func(s string) string {
			return strings.Replace(s, fmt.Sprintf(" · superseded by [%s](%s)", testID, NarrativeName(testID)), "", 1)
		})(b)
	}},
	{"superseding not in the row", "V-14", func(b box) {
		superseding(b)
		indexed(func(s string) string {
			return strings.Replace(s, fmt.Sprintf(" · supersedes [%s](%s)", earlierID, NarrativeName(earlierID)), "", 1)
		})(b)
	}},
	{"superseded by what is not there", "V-14", indexed(func(s string) string {
		return strings.Replace(s, " · [manifest]", " · superseded by [2026-10-18-x](2026-10-18-x.md) · [manifest]", 1)
	})},
}

// variant is an unusual bundle that is valid all the same.
type variant struct {
	name   string
	change func(*Draft) // before sealing; nil for none
	mutate func(box)    // after sealing; nil for none
}

var variants = []variant{
	{"simulated", func(d *Draft) { d.Predicate.Finding.Kind = KindSimulated }, nil},
	{"derived, without a plan", func(d *Draft) {
		p := &d.Predicate
		p.Finding.Kind, p.PlanLock, p.Tally = KindDerived, nil, Tally{}
		delete(d.Files, "plan.json")
		for i := range p.Roles {
			if p.Roles[i].Role == RoleRunPlan {
				p.Roles[i] = Role{Role: RoleRunPlan, State: RoleNotApplicable, Reason: "no request was sent"}
			}
		}
	}, nil},
	{"smallest", func(d *Draft) {
		d.Files = map[string][]byte{SanitizeName: d.Files[SanitizeName]}
		for i := range d.Predicate.Roles {
			d.Predicate.Roles[i] = Role{Role: RoleNames()[i], State: RoleMissing, Reason: "nothing kept"}
		}
	}, nil},
	{"with a signature", nil, func(b box) { b.write(SignatureName, []byte("signature\n")) }},
	{"with an exception", nil, exception(func(*Exception) {})},
	{"exception beyond the bundle limit", nil, func(b box) {
		size := MaxBundleBytes + 1
		b.add("data/huge", make([]byte, size))
		b.remanifest(func(m *Manifest) {
			m.Predicate.Limits.Exceptions = []Exception{{Files: []string{SubjectName(b.folder, "data/huge")}, Bytes: size, Reason: "r", Approver: "a"}}
		})
	}},
	{"file of exactly 1 MiB", nil, func(b box) { b.add("data/big.parquet", make([]byte, MaxFileBytes)) }},
	{"bundle of exactly 5 MiB", nil, func(b box) { fillTo(b, MaxBundleBytes) }},
	{"exactly 200 files", nil, func(b box) { addMany(b, int(MaxFiles)+1-len(b.files())) }},
	{"empty file", func(d *Draft) { d.Files["data/empty"] = nil }, nil},
	{"name of 120 bytes", func(d *Draft) {
		d.Files[strings.Repeat("x", MaxNameLen-len(FolderName(testID))-1)] = []byte("x")
	}, nil},
	{"folder of another name", func(d *Draft) {
		d.Folder = "2026-10-17-other-bundle"
		for i := range d.Predicate.Roles {
			for j, f := range d.Predicate.Roles[i].Files {
				d.Predicate.Roles[i].Files[j] = strings.Replace(f, FolderName(testID), d.Folder, 1)
			}
		}
	}, nil},
	{"supersedes another", nil, superseding},
	{"inputs and external evidence", func(d *Draft) {
		p := &d.Predicate
		p.External = []External{{Name: "events", SHA256: digestOf(nil), Size: 9 << 40, URL: "https://example.com/e", RetentionOwner: "o", RetentionTerm: "t"}}
	}, nil},
	{"text in several scripts", func(d *Draft) {
		d.Predicate.NonClaims = []string{"mesures ge\u0301ne\u0301rales \u2028 \U0001f600", "tab\tquote\"\\"}
		d.Narrative = []byte("# \u5831\u544a\n\n" + EndMark + "\n")
	}, nil},
	{"corrections below the mark", nil, func(b box) {
		_, err := SealFS(&faultFS{FS: OS{}}, b.findings, smallDraft("2026-10-18-new"))
		b.must(err)
		below("\n- 2026-10-18: corrected by [the new finding](2026-10-18-new.md), [notes](https://example.com/n).\n" +
			"- 2026-10-19: see [the manifest](" + b.folder + "/manifest.json).\n")(b)
	}},
	{"read-only files", nil, func(b box) {
		for _, name := range b.files() {
			b.must(os.Chmod(b.path(name), 0o444))
		}
	}},
}
