package sanitize

import "strings"

// fact is something private and the class it is found by.
type fact struct {
	class Class
	text  string
}

// run is n characters of a token, never twice the same in a row.
func run(n int) string {
	const some = "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z"
	return strings.Repeat(some, n/len(some)+1)[:n]
}

// hex64 looks like the id of a container.
var hex64 = strings.Repeat("0f1e2d3c", 8)

// planted are secrets and private facts, all invented. Tokens are put together
// from two parts, so that no scanner takes this file for a leak.
var planted = []fact{
	// credentials
	{"vendor_token", "OpenAI key sk-" + "proj-" + run(40)},
	{"vendor_token", "sk-" + "ant-api03-" + run(40) + " was refused"},
	{"vendor_token", "nvapi" + "-" + run(48)},
	{"vendor_token", "token hf_" + run(34)},
	{"vendor_token", "ghp_" + run(36)},
	{"vendor_token", "github_" + "pat_" + run(40)},
	{"vendor_token", "glpat" + "-" + run(20)},
	{"vendor_token", "xoxb" + "-123456789012-" + run(16)},
	{"vendor_token", "https://hooks.slack" + ".com/services/T00000000/B00000000/" + run(24)},
	{"vendor_token", "AKIA" + "ABCDEFGHIJKLMNOP"},
	{"vendor_token", "AIza" + run(35)},
	{"vendor_token", "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0." + run(30)},
	{"vendor_token", "npm_" + run(36)},
	{"vendor_token", "pypi-" + "AgEIcHlwaS5vcmc" + run(40)},
	{"vendor_token", "sk_" + "live_" + run(24)},
	{"vendor_token", "tskey" + "-auth-" + run(20)},
	{"vendor_token", "SG." + run(22) + "." + run(43)},
	{"vendor_token", "hvs." + run(24)},
	{"vendor_token", "dckr_" + "pat_" + run(27)},
	{"vendor_token", "gsk_" + run(40)},
	{"authorization_header", "Authorization: Basic dXNlcjpwYXNz"},
	{"authorization_header", "curl -H 'Authorization: Bearer abc' x"},
	{"authorization_header", "Proxy-Authorization: Digest username"},
	{"bearer_token", "sent with bearer a1b2c3d4e5f6a7b8"},
	{"secret_value", "X-API-Key: 5f2c9a"},
	{"secret_value", "Set-Cookie: session=abcdef; Path=/v1"},
	{"secret_value", "run --api-key swordfish --seed 1"},
	{"secret_value", "run --api-key=swordfish"},
	{"secret_value", "HF_TOKEN=swordfish"},
	{"secret_value", "Incorrect API key provided: swordfish2026x"},
	{"url_token", "https://example.com/x?token=swordfish"},
	{"url_token", "see https://example.com/b?a=1&sig=c3dvcmRmaXNo"},
	{"url_user_info", "https://user:swordfish@example.com/v1"},
	{"pem_block", "-----BEGIN OPENSSH " + "PRIVATE KEY-----\nb3BlbnNzaA==\n-----END OPENSSH " + "PRIVATE KEY-----"},
	{"pem_block", "ssh-ed25519 AAAA" + run(64) + " op"},
	// networks and hosts
	{"private_address", "dial 192.168.1.7: refused"},
	{"private_address", "10.0.0.12"},
	{"private_address", "at 172.20.3.4:31841"},
	{"private_address", "link 169.254.9.9 up"},
	{"private_address", "peer 100.101.102.103"},
	{"private_address", "fe80::1ff:fe23:4567:890a"},
	{"private_address", "bound to [fd12:3456:789a::1]:8000"},
	{"private_host", "rig.tail1234.ts.net"},
	{"private_host", "rig.local answered"},
	{"private_host", "build.internal"},
	{"private_host", "HTTPConnectionPool(host='rig', port=31841)"},
	{"private_host", "Get http://rig:31841/v1/models: refused"},
	{"private_host", "lookup rig on 127.0.0.53:53"},
	{"mac_address", "eth0 3c:ec:ef:12:34:56"},
	{"email", "mail jane.doe@example.org please"},
	{"email", "scp jane@rig:/v1 here"},
	// machines
	{"machine_path", "open /home/jane/x: no such file"},
	{"machine_path", "/mnt/models/glm"},
	{"machine_path", "cwd=/workspace"},
	{"machine_path", "/opt/serve/x and /srv/y"},
	{"machine_path", "in /root/.cache"},
	{"machine_path", "macOS /Users/jane/x"},
	{"machine_path", "an unknown one: /zfs7/tank"},
	{"machine_path", `C:\Users\jane\x`},
	{"machine_path", `D:/models/a.gguf`},
	{"machine_path", `\\nas7\share\a.gguf`},
	{"machine_path", "file:///srv/op/x"},
	{"machine_path", "in ~/bench and $HOME/x"},
	{"gpu_uuid", "GPU-8f6c2f4e-1c6b-4f0a-9d3e-0123456789ab"},
	{"gpu_uuid", "MIG-8f6c2f4e-1c6b-4f0a-9d3e-0123456789ab"},
	{"pci_address", "device 00000000:3b:00.0 lost"},
	{"serial_number", "Serial Number: 1324421036552"},
	{"container_id", "container " + hex64},
	{"container_id", "docker-" + hex64 + ".scope"},
	{"container_id", "container 3f1c9ab2d4e5 exited"},
	// dumps and texts
	{"environment", "HOME=jane1"},
	{"environment", "A_ONE=1\nB_TWO=2\nC_THREE=3\nD_FOUR=4\n"},
	{"model_text", "<|im_start|>user hello"},
}

// lookalikes are public although they look like something private.
var lookalikes = []string{
	"a5fee929cf4888b1824323e33e8a19b60129e025",              // revision of a model
	"nvidia/GLM-5.3-Flash-FP4-Local@76348ddb2be2e35e39ec",   // and with its name
	"sha256:" + strings.Repeat("ab", 32),                    // digest of an image
	"vllm/vllm-openai@sha256:" + strings.Repeat("0f1e", 16), // by digest
	"SHA-256 | `" + strings.Repeat("0f1e", 16) + "` |",      // digest in a table
	"golang.org/x/text@v0.3.0-beta.org",
	"github.com/apache/arrow-go/v18 v18.8.0",
	"10.2.0", "version 192.168.1", "CUDA 12.8.1.10.2", "driver 580.95.05", "0.29.1.dev0+sim.baseline", "1.10.0.0.1",
	"127.0.0.1:31841", "http://127.0.0.1:31841/v1", "http://localhost:8000/v1/models", "[::1]:8000", "0.0.0.0", "8.8.8.8",
	"/v1/models", "/v1/chat/completions", "/metrics", "GET /health answered 200", "/version", "/proc/meminfo", "/sys/fs/cgroup/memory.max", "/usr/bin/env", "/dev/nvidia0",
	"tok/s", "prompt_tokens/TTFO", "C1/2/4", "candidate17/18", "p50 / p95 / max", "and/or", "n = 8 /s",
	"[PRIVATE_OPERATOR_ROOT]/.venv/bin/python", "[REDACTED]", "Authorization: [REDACTED]", "http://[host-a]:31841/v1", "[container-1]", "--api-key [REDACTED]",
	"docs/findings/2026-10-17-x.md", "findings/README.md",
	"vllm:request_success_total", "process_start_time_seconds 1796042385.6553185", "12:30:45", "2026-10-17T10:55:51.522595+00:00",
	"two RTX PRO 6000 Blackwell Max-Q", "canary_or_loss", "risk-averse sk-1", "max_tokens=16384", "--max-tokens 16384 --api-key-env NAME", "--ctx-tokens 10240",
	"seed 481001", "direct JSON and authenticated checks", "the bearer authentication failed", "prompt_token_tolerance: 512", "token count: exact", "password: none",
	"CUDA_VISIBLE_DEVICES=0,1", "threading.local()", "settings.local.json", "https://github.com/vllm-project/vllm", "https://in-toto.io/Statement/v1", "http://www.w3.org/2000/svg",
	"image and container", "the hostname is not published", "SELECT a / b, '/' FROM t /* a comment */ -- and another", `\d+\.\d+ and \w`, "GPU-0", "gpu 0000", "serial: false",
	"baseline-natural-ctx10240-c1", "glm53-flash-exl3-4bpw-v84-fp8-tp2-dcp1-c4-327k-r11-vision8-apc-nospec", "MAR-QUARTZ-17", "100 %", "50%25", "a &amp; b",
	"QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo=", // base64 of the alphabet
	"endpoint-1", "host samples", "Host: 128 GiB", "key=value", "x = y", "~100 ms", "$5", "a@b", "2 @ 3.5 GHz",
}
