package private

import (
	"regexp"
	"slices"
	"strings"
)

// pathPart is one folder or file name inside a text. It may be in any script.
const pathPart = "[^\\s\"'=(),;:{}<>|`/\\[\\]\\\\]+"

// before is what may stand before a path and not before the slash of a relative
// one: "p50/p95" and "[PRIVATE_OPERATOR_ROOT]/x" are no paths.
const before = "(?:^|[\\s\"'=(,;:{<>|`\\[!&+@*?#\x00])"

var (
	unixPath = regexp.MustCompile(before + "(/" + pathPart + "(?:/" + pathPart + ")*/?)")
	// homePath is a path from a home folder.
	homePath = regexp.MustCompile(before + "((?:~[A-Za-z0-9._-]*|\\$HOME|\\$\\{HOME\\})(?:/" + pathPart + ")+/?)")
	// windowsPath is a drive or UNC path; one or two backslashes separate, as in
	// JSON inside a text.
	windowsPath = regexp.MustCompile(before + `((?:[A-Za-z]:[\\/]{1,2}|\\{2,4}[A-Za-z0-9._-]{2,}\\{1,2})(?:[^\\/:*?"<>|\s]+[\\/]{1,2})*[^\\/:*?"<>|\s]+)`)
)

// publicRoots are absolute paths that are the same on every machine, and the
// routes an engine serves. A path is public that is one of them or below it.
var publicRoots = []string{
	"proc", "sys", "dev", "usr/bin", "usr/lib", "usr/lib64", "usr/local/bin", "usr/local/cuda", "usr/local/lib", "usr/sbin", "bin", "sbin", "lib", "lib64",
	"v1", "v2", "metrics", "health", "healthz", "ping", "version", "tokenize", "detokenize", "generate", "load", "ready",
	"get_model_info", "get_server_info", "server_info", "props", "slots", "chat/completions", "completions", "models", "api/tags",
}

// shortRoots are folders that are a root by themselves; everywhere else the root
// is two folders, such as /home/NAME or /mnt/DISK.
var shortRoots = []string{"root", "workspace", "tmp", "etc", "var", "run"}

// machinePath says whether an absolute path is one of a machine. A closing tag,
// a comment and a unit ("tok /s") are no paths.
func machinePath(s string, from, to int) bool {
	path := s[from:to]
	if from > 0 && s[from-1] == '<' && to < len(s) && s[to] == '>' {
		return false
	}
	first := path[1]
	wordy := first == '_' || first == '.' || first == '-' || first >= 0x80 || isDigit(first) || isLetter(first)
	single := !strings.Contains(strings.Trim(path, "/"), "/")
	if !wordy || single && (len(strings.Trim(path, "/")) == 1 || strings.Trim(path, "/0123456789.") == "") {
		return false
	}
	return !publicPath(path)
}

func publicPath(path string) bool {
	path = strings.ToLower(strings.Trim(path, "/"))
	if strings.Contains(path, "..") {
		return false
	}
	return slices.ContainsFunc(publicRoots, func(p string) bool {
		rest, ok := strings.CutPrefix(path, p)
		return ok && (rest == "" || !isLetter(rest[0]) && !isDigit(rest[0]) && rest[0] != '_' && rest[0] != '-')
	})
}

// windowsParts lets a colon and a slash inside a URL or a ratio pass.
func windowsParts(s string, from, to int) bool {
	return !strings.HasPrefix(s[from+1:to], "://")
}

func unrootedFile(s string, from, to int) bool { return !strings.HasPrefix(s[from:to], PrivateRoot) }

// cutRoot is what a path becomes: its root replaced, its tail kept.
func cutRoot(path string) string {
	home := strings.HasPrefix(path, "~") || strings.HasPrefix(path, "$")
	windows := strings.Contains(path, `\`) || len(path) > 1 && path[1] == ':'
	parts := strings.FieldsFunc(path, func(c rune) bool { return c == '/' || c == '\\' })
	switch {
	case home && len(parts) > 0:
		return PrivateRoot + tail(parts[1:]) + ending(path)
	case windows:
		return PrivateRoot + windowsTail(parts, strings.HasPrefix(path, `\`))
	}
	return PrivateRoot + tail(parts[rootParts(parts):]) + ending(path)
}

func ending(path string) string {
	if strings.HasSuffix(path, "/") {
		return "/"
	}
	return ""
}

func tail(parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	return "/" + strings.Join(parts, "/")
}

// rootParts counts the folders of a path that are its root. The last part is a
// name, not a root, unless it is all there is below a folder of users.
func rootParts(parts []string) int {
	users := len(parts) > 0 && (parts[0] == "home" || parts[0] == "Users")
	switch {
	case len(parts) <= 1:
		return len(parts)
	case slices.Contains(shortRoots, parts[0]), len(parts) == 2 && !users:
		return 1
	}
	return 2
}

// windowsTail cuts the drive, or the host of a UNC path, and a user's folder.
func windowsTail(parts []string, unc bool) string {
	if len(parts) < 2 {
		return ""
	}
	parts = parts[1:]
	if !unc && strings.EqualFold(parts[0], "users") {
		parts = parts[min(2, len(parts)):]
	} else if !unc && len(parts) > 1 {
		parts = parts[1:]
	}
	return tail(parts)
}
