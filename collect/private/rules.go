package private

import (
	"regexp"
	"strings"
)

// Class names a kind of private text.
type Class string

// The classes.
const (
	PEMBlock       Class = "pem_block"
	Authorization  Class = "authorization_header"
	BearerToken    Class = "bearer_token"
	URLToken       Class = "url_token"
	URLUserInfo    Class = "url_user_info"
	VendorToken    Class = "vendor_token"
	SecretValue    Class = "secret_value" // of a flag, variable or field named as a secret
	Environment    Class = "environment"
	ModelText      Class = "model_text" // of a prompt, an answer or its reasoning
	Email          Class = "email"
	GPUUUID        Class = "gpu_uuid"
	PCIAddress     Class = "pci_address"
	MACAddress     Class = "mac_address"
	SerialNumber   Class = "serial_number"
	PrivateAddress Class = "private_address"
	PrivateHost    Class = "private_host"
	MachinePath    Class = "machine_path"
	ContainerID    Class = "container_id"
	Encoded        Class = "encoded" // private only once decoded
)

// What a root of a path and a secret become (evidence.md section 8).
const (
	PrivateRoot = "[PRIVATE_OPERATOR_ROOT]"
	Redacted    = "[REDACTED]"
)

// rule finds one class. Group 1 of the pattern is what is private; the last
// group that took part is, when there are more.
type rule struct {
	class Class
	// literals are texts of which one has to be in the lower-case text for the
	// pattern to match; they keep the scan of long texts cheap. None means always.
	literals []string
	pattern  *regexp.Regexp
	// accept says that a match is private after all; nil means always. It gets
	// the text and where the private part is.
	accept func(s string, from, to int) bool
}

func lits(s string) []string { return strings.Fields(s) }

// secretWord is what a flag, variable or field that holds a credential ends in.
const secretWord = `(?:api[-_]?key|access[-_]?key|secret[-_]?key|private[-_]?key|token|bearer|password|passwd|secret|authorization|credentials?)`

// rules are tried in this order, so that the more telling class comes first.
var rules = []rule{
	{PEMBlock, lits("-----begin"), regexp.MustCompile(`(?s)(-----BEGIN [A-Z0-9 ]+-----.*?(?:-----END [A-Z0-9 ]+-----|$))`), nil},
	{PEMBlock, lits("ssh-"), regexp.MustCompile(`\b(ssh-(?:rsa|dss|ed25519)\s+AAAA[A-Za-z0-9+/=]{20,}(?:[ \t]+\S+@\S+)?)`), nil},
	{Environment, lits("="), regexp.MustCompile(`(?m)((?:^[ \t]*(?:export |declare -x )?[A-Z][A-Z0-9_]+=[^\x00\n]*(?:\n|$)){3,})`), unredacted},
	{Environment, lits("="), regexp.MustCompile(`((?:[A-Z][A-Z0-9_]+=[^\x00\n]*\x00){3,})`), unredacted},
	{Authorization, lits("authorization"), regexp.MustCompile(`(?i)\b(?:proxy-)?authorization[\\"']*\s*[:=]\s*[\\"']*([^\s\\"'][^\r\n\\"']*)`), unredacted},
	{SecretValue, lits("cookie api-key auth-token"), regexp.MustCompile(`(?i)\b(?:set-cookie|cookie|x-api-key|api-key|x-auth-token)[\\"']*:\s*[\\"']*([^\s\\"'][^\r\n\\"']*)`), unredacted},
	{BearerToken, lits("bearer"), regexp.MustCompile(`(?i)\bbearer[\s:=]+([A-Za-z0-9._~+/=-]{8,})`), tokenLike},
	{URLUserInfo, lits("://"), regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://([^/?#\s"'<>]+@)`), nil},
	{URLToken, lits("="), regexp.MustCompile(`(?i)[?&;](?:[a-z_-]*(?:api[-_]?key|token|password|secret|signature|credential)|key|sig|auth)=([^&#\s"'<>]+)`), unredacted},
	{VendorToken, vendorLiterals, regexp.MustCompile(`(?:^|[^A-Za-z0-9])(` + vendorShapes + `)`), nil},
	{SecretValue, lits("token key secret password passwd credential"), regexp.MustCompile(`\b(?:[A-Z0-9_]*(?:TOKEN|API_?KEY|ACCESS_KEY|SECRET|PASSWORD|PASSWD|CREDENTIALS?)|[A-Z0-9_]+_KEY)=[\\"']*([^\s\\"']+)`), unredacted},
	{SecretValue, lits("-"), regexp.MustCompile(`(?i)(?:^|[\s"'=,\[])--?(?:[a-z0-9_-]*[-_])?` + secretWord + `[=\s"',]+([^\s"',\]-][^\s"',]*)`), unredacted},
	{SecretValue, lits("token key secret password passwd credential"), regexp.MustCompile(`(?i)["'](?:[a-z0-9_-]*[-_])?` + secretWord + `\\*["']\s*[:=]\s*\\*["']([^"'\\]+)`), unredacted},
	{SecretValue, lits("token key secret password"), regexp.MustCompile(`(?i)\b(?:api[ _-]?key|password|passwd|secret|token)(?: provided| is| was)?\s*[:=]\s*["'` + "`" + `]?([^\s"'` + "`" + `,;<>()]{6,})`), tokenLike},
	{Environment, lits("="), regexp.MustCompile(`\b(?:HOME|USER|LOGNAME|HOSTNAME|PWD|OLDPWD|MAIL|SSH_[A-Z_]+|SUDO_[A-Z]+)=([^\s"']+)`), unredacted},
	{ModelText, lits("<|"), regexp.MustCompile(`(?s)(<\|[a-z_]+\|>.*)`), nil},

	{Email, lits("@"), regexp.MustCompile(`\b([A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,})\b`), notVersion},
	{Email, lits("@"), regexp.MustCompile(`\b([A-Za-z_][A-Za-z0-9._-]*@[A-Za-z][A-Za-z0-9-]+):[/~]`), nil},
	{GPUUUID, lits("gpu- mig-"), regexp.MustCompile(`(?i)\b((?:GPU|MIG)-[0-9a-f]{8}-[0-9a-f]{4}(?:-[0-9a-f]{4}){0,2}(?:-[0-9a-f]{12})?)`), nil},
	{PCIAddress, lits(":"), regexp.MustCompile(`(?i)(?:^|[^0-9a-f:])([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])(?:[^0-9A-Za-z_.-]|\.?$)`), nil},
	{MACAddress, lits(": -"), regexp.MustCompile(`(?i)(?:^|[^0-9a-z:-])((?:[0-9a-f]{2}:){5}[0-9a-f]{2}|(?:[0-9a-f]{2}-){5}[0-9a-f]{2})(?:[^0-9a-z:-]|$)`), nil},
	{SerialNumber, lits("serial machine"), regexp.MustCompile(`(?i)\b(?:serial(?:[ _-]?(?:number|no\.?|id))?|machine[ _-]id)["']?\s*[:=]\s*["']?([A-Za-z0-9][A-Za-z0-9-]{5,})`), hasDigit},
	{PrivateAddress, lits("."), regexp.MustCompile(`\b((?:[0-9]{1,3}\.){3}[0-9]{1,3})\b`), privateIPv4},
	{PrivateAddress, lits(":"), regexp.MustCompile(`(?i)(?:^|[^0-9a-z:])(f[cde][0-9a-f]{1,2}:[0-9a-f:]*(?:%[a-z0-9.-]+)?)`), privateIPv6},
	{PrivateHost, lits(".net .local .internal .lan .arpa"), regexp.MustCompile(`(?i)\b([a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)*\.(?:ts\.net|local|internal|lan|home\.arpa))\b`), hostEnds},
	{PrivateHost, lits("://"), regexp.MustCompile(`(?i)\b(?:https?|wss?|grpc|tcp|ssh|postgres|redis)://([a-z0-9_-]*[a-z][a-z0-9_-]*)(?:[:/?#\s"'),\\]|$)`), bareHost},
	{PrivateHost, lits("host"), regexp.MustCompile(`(?i)\bhost(?:[ _-]?name)?\\*["']?\s*[:=]\s*\\*["']([a-z0-9._-]+)\\*["']`), bareHost},
	{PrivateHost, lits("hostname"), regexp.MustCompile(`(?i)\bhostname[:=]\s*([a-z][a-z0-9._-]*)`), bareHost},
	{PrivateHost, lits("host:"), regexp.MustCompile(`(?im)^host: ([a-z][a-z0-9.-]*):[0-9]+`), bareHost},
	{PrivateHost, lits("lookup"), regexp.MustCompile(`(?i)\blookup ([a-z0-9][a-z0-9._-]*)(?: on |: )`), bareHost},

	{MachinePath, lits("file:"), regexp.MustCompile(`(?i)\bfile://([^\s"'<>()]+)`), unrootedFile},
	{MachinePath, lits(`:\ :/ \\`), windowsPath, windowsParts},
	{MachinePath, lits("~ $home ${home}"), homePath, nil},
	{MachinePath, lits("/"), unixPath, machinePath},
	{ContainerID, nil, regexp.MustCompile(`(?:^|[^0-9A-Za-z])([0-9a-f]{64})(?:[^0-9A-Za-z]|$)`), notDigest},
	{ContainerID, lits("container docker"), regexp.MustCompile(`(?i)\b(?:container|docker)(?:[-_ ]?id)?["']*[\s:=/]+["']*([0-9a-f]{12})\b`), mixedHex},
}

// vendorShapes are the tokens of the usual vendors, by their own prefixes.
const vendorShapes = `sk-[A-Za-z0-9_-]{16,}|nvapi-[A-Za-z0-9_-]{16,}|hf_[A-Za-z0-9]{16,}|api_org_[A-Za-z0-9]{20,}` +
	`|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|gl(?:pat|ptt|rt|dt|soat)-[A-Za-z0-9_-]{16,}` +
	`|xox[abeprs]-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{10,}|hooks\.slack\.com/services/[A-Za-z0-9/]{20,}` +
	`|(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}` +
	`|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*)?` +
	`|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,}|do[opr]_v1_[a-f0-9]{40,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}` +
	`|[srp]k_(?:live|test)_[A-Za-z0-9]{16,}|tskey-[a-z]+-[A-Za-z0-9-]{10,}|r8_[A-Za-z0-9]{30,}|gsk_[A-Za-z0-9]{30,}|xai-[A-Za-z0-9]{30,}` +
	`|pplx-[A-Za-z0-9]{30,}|dckr_pat_[A-Za-z0-9_-]{20,}|hv[sb]\.[A-Za-z0-9_-]{20,}|AGE-SECRET-KEY-1[A-Z0-9]{30,}|ATATT3[A-Za-z0-9_=-]{30,}` +
	`|lin_api_[A-Za-z0-9]{30,}|wandb_v1_[A-Za-z0-9_]{20,}|AccountKey=[A-Za-z0-9+/=]{20,}|[0-9]{8,10}:AA[A-Za-z0-9_-]{33}`

var vendorLiterals = lits(`sk- nvapi- hf_ api_org_ ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- glptt- glrt- gldt- glsoat- xox xapp- hooks.slack.com
	akia asia abia acca aiza ya29. gocspx- eyj npm_ pypi- _v1_ sg. _live_ _test_ tskey- r8_ gsk_ xai- pplx- dckr_pat_ hvs. hvb.
	age-secret-key-1 atatt3 lin_api_ accountkey= :aa`)
