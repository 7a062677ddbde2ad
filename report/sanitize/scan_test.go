package sanitize

import (
	"os"
	"strings"
	"testing"
)

func TestScanFindsPrivateTexts(t *testing.T) {
	hex64 := strings.Repeat("0123456789abcdef", 4)
	rows := []struct {
		class Class
		text  string
	}{
		{"pem_block", "-----BEGIN OPENSSH PRIVATE KEY-----"},
		{"authorization_header", "Authorization: Basic dXNlcjpwYXNz"},
		{"bearer_token", "sent with bearer abcdef0123456789"},
		{"url_token", "https://example.com/x?token=abcdef"},
		{"url_user_info", "https://user:pass@example.com/"},
		{"vendor_token", "key sk-abcdefghijklmnopqrstu"},
		{"vendor_token", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"},
		{"vendor_token", "nvapi-abcdefghijklmnopqrstuvwxyz"},
		{"email", "mail jane.doe@example.org please"},
		{"gpu_uuid", "GPU-8f6c2f4e-1c6b-4f0a-9d3e-0123456789ab"},
		{"pci_address", "device 0000:3b:00.0 lost"},
		{"mac_address", "3c:ec:ef:12:34:56"},
		{"private_address", "dial 192.168.1.7: refused"},
		{"private_address", "10.0.0.12"},
		{"private_address", "peer 100.101.102.103"},
		{"private_address", "fe80::1ff:fe23:4567:890a"},
		{"private_address", "[fd12:3456:789a::1]"},
		{"private_host", "gpu-box.tail1234.ts.net"},
		{"private_host", "rig.local"},
		{"machine_path", "open /home/jane/x: no such file"},
		{"machine_path", "/mnt/models/glm"},
		{"machine_path", "cwd=/workspace"},
		{"machine_path", `C:\Users\jane`},
		{"container_id", "container " + hex64},
	}
	for _, row := range rows {
		found := Scan(row.text)
		if len(found) == 0 || found[0] != row.class {
			t.Errorf("Scan(%q) = %v, want %s first", row.text, found, row.class)
		}
	}
}

func TestScanLetsLookAlikesPass(t *testing.T) {
	for _, text := range []string{
		"", "/v1/models", "/metrics", "GET /health answered 200", "http://127.0.0.1:31841/v1", "tok/s", "prompt_tokens/TTFO",
		"a5fee929cf4888b1824323e33e8a19b60129e025", "sha256:" + strings.Repeat("ab", 32), "C1/2/4", "candidate17/18",
		"[PRIVATE_OPERATOR_ROOT]/.venv/bin/python", "docs/findings/2026-10-17-x.md", "10.2.0", "version 192.168.1",
		"vllm:request_success_total", "12:30:45", "two RTX PRO 6000 Blackwell Max-Q", "canary_or_loss", "risk-averse sk-1", "</script>",
	} {
		if found := Scan(text); len(found) > 0 {
			t.Errorf("Scan(%q) = %v, want nothing", text, found)
		}
	}
}

func TestCheckNamesPlaceAndClassButNotTheValue(t *testing.T) {
	err := Check("problems", "detail", "open /home/jane/notes")
	if err == nil {
		t.Fatal("a home path passed")
	}
	if text := err.Error(); !strings.Contains(text, "problems.detail") || !strings.Contains(text, "machine_path") || strings.Contains(text, "jane") {
		t.Errorf("error text %q", text)
	}
	digest := strings.Repeat("0123456789abcdef", 4)
	if err := Check("request_facts", "prompt_sha256", digest); err != nil {
		t.Errorf("a digest column was refused: %v", err)
	}
	if err := Check("problems", "detail", digest); err == nil {
		t.Error("64 hex digits outside a digest column passed")
	}
}

func TestTheSeedPlanHasNothingPrivateLeft(t *testing.T) {
	text, err := os.ReadFile("../../../shared/seeds/000_444b2f82a3a4a8f3.json")
	if err != nil {
		t.Skip("the seed plan is not beside this checkout")
	}
	if found := Scan(string(text)); len(found) > 0 {
		t.Errorf("Scan(seed plan) = %v, want nothing", found)
	}
}

func TestRulesDigestIsStable(t *testing.T) {
	if a, b := RulesSHA256(), RulesSHA256(); a != b || len(a) != 64 {
		t.Errorf("digests %q and %q", a, b)
	}
}
