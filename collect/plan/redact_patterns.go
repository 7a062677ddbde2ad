package plan

import (
	"net/netip"
	"regexp"
	"strings"
)

// What a redacted value becomes (evidence.md section 8).
const (
	privateRoot    = "[PRIVATE_OPERATOR_ROOT]"
	redactedSecret = "[REDACTED]"
)

// secretFlag is a flag whose value is a credential. It must not match --max-tokens,
// --ctx-tokens or --api-key-env.
var secretFlag = regexp.MustCompile(`(?i)^--?([a-z0-9_-]*[-_])?(api[-_]?key|token|bearer|password|passwd|secret|authorization|credential|credentials)$`)

// secretKey is an object key whose string value is a credential, whatever it
// looks like.
var secretKey = regexp.MustCompile(`(?i)^([a-z0-9_-]*[-_])?(api[-_]?key|token|bearer|password|passwd|secret|authorization|credential|credentials)$`)

// secretShapes find credentials inside a text. Group 1, when there is one, is
// kept. Each has a literal that ordinary prose lacks.
var secretShapes = []*regexp.Regexp{
	regexp.MustCompile(`(?s)()-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`),
	regexp.MustCompile(`(?i)(\bauthorization\s*[:=]\s*)[^\[\s][^\r\n]*`),
	regexp.MustCompile(`(?i)(\bbearer\s+)[A-Za-z0-9._~+/=-]{16,}`),
	regexp.MustCompile(`(\b[A-Z0-9_]*(?:TOKEN|API_KEY|SECRET|PASSWORD|ACCESS_KEY)=)[^\s\[][^\s]*`),
	regexp.MustCompile(`(?i)((?:^|\s)--?(?:[a-z0-9_-]*[-_])?(?:api[-_]?key|token|password|secret)[= ])[^\s\[-][^\s]*`),
	regexp.MustCompile(`(?i)([?&;](?:api[-_]?key|key|token|access_token|password|secret|sig|signature|auth)=)[^&#\s\[][^&#\s]*`),
	regexp.MustCompile(`([a-z][a-z0-9+.-]*://)[^/?#\s]+@`),
	regexp.MustCompile(`()\b(?:sk-[A-Za-z0-9_-]{16,}|nvapi-[A-Za-z0-9_-]{16,}|hf_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{30,}|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*)`),
}

// userInfoShape is the one of secretShapes that leaves nothing behind: a
// placeholder before a host would still be user info.
const userInfoShape = 6

// unixPath is an absolute path at the start of a text or after a character that
// no relative path has before its slash. "p50/p95" and "[PRIVATE_OPERATOR_ROOT]/x"
// are therefore none.
var unixPath = regexp.MustCompile("(^|file://|[\\s\"'=(,;:{<>|`])(/" + pathPart + "(?:/" + pathPart + ")*/?)")

// pathPart is one folder or file name inside a text. It may be in any script.
const pathPart = "[^\\s\"'=(),;:{}<>|`/\\[\\]\\\\]+"

// homePath is a path from a home folder.
var homePath = regexp.MustCompile("(^|[\\s\"'=(,;:{<>|`])(?:~[A-Za-z0-9._-]*|\\$HOME|\\$\\{HOME\\})((?:/" + pathPart + ")+/?)")

// windowsPath is a drive or UNC path; one or two backslashes separate, as in JSON
// inside a text. Its tail is written with slashes.
var windowsPath = regexp.MustCompile("(^|[\\s\"'=(,;{<>|`])" + `(?:[A-Za-z]:[\\/]{1,2}|\\{2,4})((?:[^\\/:*?"<>|\s]+[\\/]{1,2})*[^\\/:*?"<>|\s]+)`)

// publicRoots are first folders that say nothing about a machine, and the routes
// an engine serves.
var publicRoots = []string{
	"proc", "sys", "dev", "usr", "bin", "sbin", "lib", "lib64", "etc", "run",
	"v1", "metrics", "health", "version", "tokenize", "get_model_info", "get_server_info",
}

// shortRoots are folders that are a root by themselves; everywhere else the root
// is two folders, such as /home/NAME or /mnt/DISK.
var shortRoots = []string{"root", "workspace", "tmp"}

// pathTail cuts the root off a path's parts. ok is false for a public path.
func pathTail(parts []string) (tail string, ok bool) {
	if len(parts) == 0 {
		return "", false // "/" alone
	}
	first := parts[0]
	for _, public := range publicRoots {
		if first == public {
			return "", false
		}
	}
	rootParts := 2
	for _, short := range shortRoots {
		if first == short {
			rootParts = 1
		}
	}
	// The last part is a name, not a root, unless it is all there is below a
	// folder of users: /home/NAME.
	if len(parts) == 2 && first != "home" && first != "Users" {
		rootParts = 1
	}
	if len(parts) <= rootParts {
		return "", len(parts) > 1 || rootParts == 1
	}
	return "/" + strings.Join(parts[rootParts:], "/"), true
}

var (
	containerID = regexp.MustCompile(`\b[0-9a-f]{64}\b`)
	digestKey   = regexp.MustCompile(`(?i)(sha256|digest|revision|hash|commit)`)
	email       = regexp.MustCompile(`\b[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b`)
	ipv4        = regexp.MustCompile(`\b(?:[0-9]{1,3}\.){3}[0-9]{1,3}\b`)
	privateName = regexp.MustCompile(`(?i)\b[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:ts\.net|local|internal|lan)\b`)
)

var carrierGrade = netip.MustParsePrefix("100.64.0.0/10")

// privateAddress says whether an IPv4 text is an address of somebody's network.
// Loopback is everybody's.
func privateAddress(text string) bool {
	a, err := netip.ParseAddr(text)
	return err == nil && (a.IsPrivate() || a.IsLinkLocalUnicast() || carrierGrade.Contains(a))
}

// containerKey is a key whose value names a container by id.
var containerKey = regexp.MustCompile(`(?i)container_id$`)

// alreadyRedacted is a value that a redaction left, by us or by the operator.
var alreadyRedacted = regexp.MustCompile(`(?i)^\[[A-Za-z0-9_-]+\]$|redacted`)
