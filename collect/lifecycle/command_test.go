package lifecycle

import (
	"strings"
	"testing"
)

// TestOutputIsRedactedBeforeItIsKept: a load command prints what it starts, its
// environment and the engine's log.
func TestOutputIsRedactedBeforeItIsKept(t *testing.T) {
	t.Setenv("BENCH_API_KEY", "correct-horse-battery")
	id := strings.Repeat("0f1e2d3c", 8)
	output := strings.Join([]string{
		"+ docker run --name engine -e HF_TOKEN=swordfish -v /home/jane/models:/models vllm serve --api-key swordfish2",
		id,
		"LD_LIBRARY_PATH=/opt/jane/lib", "VLLM_HOST=rig7", "PASSPHRASE=open sesame", "NVIDIA_VISIBLE_DEVICES=GPU-8f6c2f4e-1c6b-4f0a-9d3e-0123456789ab",
		"INFO 10-17 11:00:00 [api_server.py:1] args: Namespace(api_key='swordfish3', host='rig7', model='/home/jane/models/x')",
		`INFO: 192.168.7.9:5123 - "POST /v1/chat/completions HTTP/1.1" 200 OK`,
		"ERROR token correct-horse-battery and xyzzy-as-given were refused; \xff mail jane@example.org",
		"INFO GPU KV cache size: 327,680 tokens",
	}, "\n")
	got := sanitise([]byte(output), "xyzzy-as-given")
	for _, leak := range []string{"swordfish", "jane", "rig7", "sesame", "8f6c2f4e", "192.168", id, "correct-horse", "xyzzy"} {
		if strings.Contains(got, leak) {
			t.Errorf("%q is still there:\n%s", leak, got)
		}
	}
	for _, kept := range []string{"GPU KV cache size: 327,680 tokens", "POST /v1/chat/completions", "200 OK", "[container-1]", "[email-1]"} {
		if !strings.Contains(got, kept) {
			t.Errorf("%q is gone:\n%s", kept, got)
		}
	}
	if again := sanitise([]byte(got), "xyzzy-as-given"); again != got {
		t.Errorf("a second pass changes it:\n%s", again)
	}
	if long := sanitise([]byte(strings.Repeat("a line of the log\n", 5000))); len(long) > maxOutput {
		t.Errorf("%d bytes are kept", len(long))
	}
}
