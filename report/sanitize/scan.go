package sanitize

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Class names a kind of private text.
type Class string

// Error says that something private stands where it would be published. It
// names the place and the class, never the value.
type Error struct {
	Where string // table.column, or the file
	Class Class
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s holds a private text (%s), so nothing is published; remove it from the source and ingest again", e.Where, e.Class)
}

// rule finds one class. literal is a text without which the pattern cannot
// match, lower case; it keeps the scan of long texts cheap.
type rule struct {
	class   Class
	literal string
	pattern *regexp.Regexp
	// keep says that a match is harmless after all.
	keep func(match string) bool
}

const tokenEnd = `(?:[^A-Za-z0-9_-]|$)`

// rules are evidence.md section 8 as data, in the order in which they are tried.
var rules = []rule{
	{class: "pem_block", literal: "-----begin", pattern: regexp.MustCompile(`-----BEGIN [A-Z0-9 ]+-----`)},
	{class: "authorization_header", literal: "authorization", pattern: regexp.MustCompile(`(?i)authorization["']?\s*[:=]\s*["']?[A-Za-z]+\s+\S{6,}`)},
	{class: "bearer_token", literal: "bearer", pattern: regexp.MustCompile(`(?i)bearer\s+[A-Za-z0-9._~+/=-]{8,}`)},
	{class: "url_token", literal: "=", pattern: regexp.MustCompile(`(?i)[?&](?:access_)?(?:token|key|api_?key|secret|password|sig)=[^&\s]{4,}`)},
	{class: "url_user_info", literal: "://", pattern: regexp.MustCompile(`[a-z][a-z0-9+.-]*://[^/\s@]+@`)},
	{class: "vendor_token", pattern: regexp.MustCompile(`(?:^|[^A-Za-z0-9])(?:sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|hf_[A-Za-z0-9]{20,}|nvapi-[A-Za-z0-9_-]{20,}|AKIA[A-Z0-9]{16}|xox[abprs]-[A-Za-z0-9-]{10,}|glpat-[A-Za-z0-9_-]{16,}|AIza[A-Za-z0-9_-]{30,}|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.)`)},
	{class: "email", literal: "@", pattern: regexp.MustCompile(`[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}`)},
	{class: "gpu_uuid", literal: "-", pattern: regexp.MustCompile(`(?:GPU|MIG)-[0-9a-fA-F]{8}-[0-9a-fA-F]{4}`)},
	{class: "pci_address", literal: ":", pattern: regexp.MustCompile(`(?:^|[^0-9A-Fa-f:])[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]` + tokenEnd)},
	{class: "mac_address", literal: ":", pattern: regexp.MustCompile(`(?:^|[^0-9A-Fa-f:])(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}(?:[^0-9A-Fa-f:]|$)`)},
	{class: "private_address", literal: ".", pattern: regexp.MustCompile(`(?:^|[^0-9.])(?:10\.\d{1,3}|192\.168|172\.(?:1[6-9]|2\d|3[01])|169\.254|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))(?:\.\d{1,3}){1,2}(?:[^0-9.]|$)`), keep: shortDotted},
	{class: "private_address", literal: ":", pattern: regexp.MustCompile(`(?i)(?:^|[^0-9a-f:])(?:fe80|f[cd][0-9a-f]{2}):[0-9a-f:]*:[0-9a-f]*`)},
	{class: "private_host", literal: ".", pattern: regexp.MustCompile(`(?i)[a-z0-9-]+\.(?:ts\.net|local|internal|lan)` + tokenEnd)},
	{class: "machine_path", literal: "/", pattern: regexp.MustCompile(`(?:^|[\s"'=(,;:\[{|` + "`" + `])/[A-Za-z0-9_.-]+(?:/[^\s"']*)?`), keep: publicPath},
	{class: "machine_path", literal: "file:", pattern: regexp.MustCompile(`(?i)(?:^|[^a-z])file:/`)},
	{class: "machine_path", literal: `:\`, pattern: regexp.MustCompile(`(?:^|[^A-Za-z])[A-Za-z]:\\[A-Za-z0-9_]`)},
	{class: "container_id", pattern: regexp.MustCompile(`(?:^|[^0-9a-fA-F])[0-9a-f]{64}(?:[^0-9a-fA-F]|$)`), keep: imageDigest},
}

// publicPaths are the absolute paths that say nothing about a machine: those of
// an HTTP interface, and two of the kernel.
var publicPaths = []string{
	"/v1", "/metrics", "/health", "/version", "/tokenize", "/get_model_info", "/get_server_info", "/server_info", "/props", "/info",
	"/chat/completions", "/proc/meminfo", "/sys/fs/cgroup",
}

func publicPath(match string) bool {
	path := match[strings.IndexByte(match, '/'):]
	for _, p := range publicPaths {
		if rest, ok := strings.CutPrefix(path, p); ok && (rest == "" || !isWord(rest[0])) {
			return true
		}
	}
	return false
}

func isWord(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// shortDotted lets version numbers pass: an address has four numbers.
func shortDotted(match string) bool { return strings.Count(strings.Trim(match, " .,;:)"), ".") != 3 }

// imageDigest lets the digest of an image pass, which is public.
func imageDigest(match string) bool { return strings.HasPrefix(match, ":") }

// Scan returns the classes of private text in s, each once, in the order of the
// rules; none when s may be published.
func Scan(s string) []Class {
	var found []Class
	lower := strings.ToLower(s)
	for _, r := range rules {
		if r.literal != "" && !strings.Contains(lower, r.literal) || slices.Contains(found, r.class) {
			continue
		}
		for _, match := range r.pattern.FindAllString(s, -1) {
			if r.keep == nil || !r.keep(match) {
				found = append(found, r.class)
				break
			}
		}
	}
	return found
}

// Check scans the text of one column and returns an *Error for the first class
// found. A column that is known to hold digests may hold 64 hex digits.
func Check(table, column, text string) error {
	for _, class := range Scan(text) {
		if class == "container_id" && digestColumn(column) {
			continue
		}
		return &Error{Where: table + "." + column, Class: class}
	}
	return nil
}

// CheckFile scans the text of a file to be published. The names in digests are
// 64-digit values that are known to be digests.
func CheckFile(file, text string, digests ...string) error {
	for _, d := range digests {
		if d != "" {
			text = strings.ReplaceAll(text, d, "digest")
		}
	}
	if classes := Scan(text); len(classes) > 0 {
		return &Error{Where: file, Class: classes[0]}
	}
	return nil
}

// RulesSHA256 is the digest of the allow-list and all rules: it changes when
// what may be published changes.
func RulesSHA256() string {
	h := sha256.New()
	for _, table := range slices.Sorted(maps.Keys(allowed)) {
		fmt.Fprintf(h, "%s %s\n", table, strings.Join(Columns(table), " "))
	}
	for _, r := range rules {
		fmt.Fprintf(h, "%s %s %s\n", r.class, r.literal, r.pattern)
	}
	fmt.Fprintf(h, "%s\n", strings.Join(publicPaths, " "))
	return hex.EncodeToString(h.Sum(nil))
}

// CheckJSON scans every key and string of a JSON document, decoded, so that an
// escape hides nothing. The names in digests are as for CheckFile.
func CheckJSON(file string, data []byte, digests ...string) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("scan %s: %w", file, err)
		}
		if text, ok := token.(string); ok {
			if err := CheckFile(file, text, digests...); err != nil {
				return err
			}
		}
	}
}
