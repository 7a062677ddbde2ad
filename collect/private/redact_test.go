package private

import (
	"strings"
	"testing"
)

// redactions are texts and what becomes of them.
var redactions = map[string]string{
	// machine paths
	"/home/op/x":                     "[PRIVATE_OPERATOR_ROOT]/x",
	"/home/op":                       "[PRIVATE_OPERATOR_ROOT]",
	"/home/jürgen/a b":               "[PRIVATE_OPERATOR_ROOT]/a b",
	"/opt/serve/x":                   "[PRIVATE_OPERATOR_ROOT]/x",
	"/srv/x":                         "[PRIVATE_OPERATOR_ROOT]/x",
	"/root/x/y":                      "[PRIVATE_OPERATOR_ROOT]/x/y",
	"/workspace/x":                   "[PRIVATE_OPERATOR_ROOT]/x",
	"/mnt/disk/models/":              "[PRIVATE_OPERATOR_ROOT]/models/",
	`C:\Users\op\x`:                  `[PRIVATE_OPERATOR_ROOT]/x`,
	`C:\\Users\\op\\x`:               `[PRIVATE_OPERATOR_ROOT]/x`,
	`D:\models\a.gguf`:               `[PRIVATE_OPERATOR_ROOT]/a.gguf`,
	`see \\nas\share\a.gguf`:         `see [PRIVATE_OPERATOR_ROOT]/share/a.gguf`,
	"file:///srv/op/x":               "file://[PRIVATE_OPERATOR_ROOT]/x",
	"-v /home/op/m:/data/m/x":        "-v [PRIVATE_OPERATOR_ROOT]/m:[PRIVATE_OPERATOR_ROOT]/x",
	"--config=/home/op/c.toml":       "--config=[PRIVATE_OPERATOR_ROOT]/c.toml",
	"$HOME/x and ~op/y":              "[PRIVATE_OPERATOR_ROOT]/x and [PRIVATE_OPERATOR_ROOT]/y",
	"[PRIVATE_OPERATOR_ROOT]/home/x": "[PRIVATE_OPERATOR_ROOT]/home/x",
	// no machine paths
	"and /proc/meminfo, /usr/bin/env": "and /proc/meminfo, /usr/bin/env",
	"/v1/chat/completions":            "/v1/chat/completions",
	"/":                               "/",
	"p50/p95 at C1/2/4 and 18/18":     "p50/p95 at C1/2/4 and 18/18",
	"nvidia/GLM-5.3-Flash-FP4-Local":  "nvidia/GLM-5.3-Flash-FP4-Local",
	"native/baseline/x.json":          "native/baseline/x.json",
	"http://127.0.0.1:31841/v1":       "http://127.0.0.1:31841/v1",
	"docs/findings/2026-10-17.md":     "docs/findings/2026-10-17.md",
	"prompt_tokens/TTFO":              "prompt_tokens/TTFO",
	// secrets
	"Authorization: Bearer sk-x":               "Authorization: [REDACTED]",
	"curl -H 'bearer abcdefghijklmnop1'":       "curl -H 'bearer [REDACTED]'",
	"http://u:p@127.0.0.1:1/v1?key=abc&x=1":    "http://127.0.0.1:1/v1?key=[REDACTED]&x=1",
	"HF_TOKEN=abc run":                         "HF_TOKEN=[REDACTED] run",
	"run --api-key abc --seed 1":               "run --api-key [REDACTED] --seed 1",
	"run --api-key=abc":                        "run --api-key=[REDACTED]",
	"sk-abcdefghijklmnop1234":                  "[REDACTED]",
	"nvapi-abcdefghijklmnop1234":               "[REDACTED]",
	"-----BEGIN PRIVATE KEY-----\nx\n-----END": "[REDACTED]",
	// no secrets
	"run --max-tokens 16384 --api-key-env NAME":       "run --max-tokens 16384 --api-key-env NAME",
	"76348ddb2be2e35e39ecfc00e75dc07703f4f3d5":        "76348ddb2be2e35e39ecfc00e75dc07703f4f3d5",
	"sha256:" + strings.Repeat("ab", 32):              "sha256:" + strings.Repeat("ab", 32),
	"direct JSON and authenticated checks":            "direct JSON and authenticated checks",
	"version 10.15.20.26 of 127.0.0.1, not 8.8.8.8":   "version [host-a] of 127.0.0.1, not 8.8.8.8",
	"100.64.1.2 169.254.0.1 box.tail1.ts.net a.local": "[host-a] [host-b] [host-c] [host-d]",
	strings.Repeat("0f", 32):                          "[container-1]",
}

func TestRedactedTexts(t *testing.T) {
	for in, want := range redactions {
		var r Redactor
		got := r.Text(in)
		if got != want {
			t.Errorf("%q\n = %q\nwant %q", in, got, want)
		}
		var again Redactor
		if twice := again.Text(got); twice != got || again.Counts.Total() != 0 {
			t.Errorf("%q redacted twice is %q", in, twice)
		}
	}
}
