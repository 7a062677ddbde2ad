package plan

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecodeReadsTheRealPlan(t *testing.T) {
	p := seedPlan(t)
	if len(p.Cells) != 48 || p.TotalRequests() != 534 || len(p.Extra) != 0 || len(p.unknown) != 0 {
		t.Errorf("%d cells, %d requests, extra %v, unknown %v", len(p.Cells), p.TotalRequests(), p.Extra, p.unknown)
	}
	if p.CampaignID != "glm53-serving-performance-20261017" || *p.Controls.MaxTokens != 16384 || p.Models["candidate"].Port != 31843 {
		t.Errorf("campaign %s, controls %+v, models %+v", p.CampaignID, p.Controls, p.Models)
	}
	if len(p.QualityLedger) != 7 || p.QualityLedger[0].Key != "SWE" || len(p.Restoration.Postconditions) != 6 || len(p.Stops) != 6 {
		t.Errorf("ledger %v, restoration %v, stops %v", p.QualityLedger, p.Restoration, p.Stops)
	}
	c, ok := p.Cell("candidate-controlled-ctx163840-c4")
	if !ok || c.Request.ResponseWords != 128 || c.Request.ControlledOutputPolicy != PolicyStrict || !c.Request.Confirm ||
		c.Request.Temperature.String() != "0.6" || c.Request.TopP.String() != "0.95" || c.Request.BaseURL != "http://127.0.0.1:31843/v1" {
		t.Errorf("cell %+v", c.Request)
	}
}

func TestDecodeRefusesWhatIsNotOneJSONValue(t *testing.T) {
	example := string(exampleJSON(t))
	for _, x := range []struct{ name, data, code, detail string }{
		{"empty", "", "not_json", "line 1 column 1"},
		{"text", "hello", "not_json", "line 1 column 1"},
		{"cut", example[:len(example)/2], "not_json", "ends in the middle"},
		{"trailing comma", `{"a": 1,}`, "not_json", "line 1 column 9"},
		{"bad literal", "{\n \"a\": nil}", "not_json", "line 2 column"},
		{"array in the wrong brackets", `[1}`, "not_json", "line 1 column 3"},
		{"byte order mark", "\xef\xbb\xbf" + example, "byte_order_mark", "UTF-8"},
		{"bad UTF-8", "{\"a\": \"\xff\"}", "bad_utf8", "UTF-8"},
		{"deep nesting", strings.Repeat("[", 100_000), "too_deep", "64"},
		{"deep objects", strings.Repeat(`{"a":`, 100), "too_deep", "64"},
		{"too large", strings.Repeat(" ", maxBytes+1), "too_large", "bytes"},
	} {
		t.Run(x.name, func(t *testing.T) {
			p, problems := Decode([]byte(x.data))
			if p != nil {
				t.Error("there is a plan")
			}
			if len(problems) != 1 || problems[0].Code != x.code || !strings.Contains(problems[0].Detail, x.detail) {
				t.Errorf("problems = %v, want one %s with %q", problems, x.code, x.detail)
			}
		})
	}
	for _, value := range []string{"null", "1", `"x"`, "[]"} {
		if p, problems := Decode([]byte(value)); p != nil || len(problems) != 1 || problems[0].Code != "wrong_type" {
			t.Errorf("%s: plan %v, problems %v", value, p, problems)
		}
	}
}

func TestDecodeListsEveryProblemAtOnce(t *testing.T) {
	data := mutate(t, func(m anyMap) {
		delete(m, "campaign_id")
		m["status"] = 7
		m["created_at"] = "yesterday"
		m["request_cutoff_seconds"] = 1.5
		m["metrics"] = []any{"a", 1}
		m["controls"].(anyMap)["max_tokens"] = "many"
		m["models"].(anyMap)["baseline"].(anyMap)["port"] = 70000
		cellAt(m, 3)["requests"] = -8
		cellAt(m, 3)["excluded_warmup"] = "no"
		cellAt(m, 4)["argv"] = "python"
		cellAt(m, 5)["seed"] = nil
		m["matrix"].([]any)[6] = "a cell"
	})
	p, got := Decode(data)
	if p == nil {
		t.Fatal("no plan")
	}
	for _, want := range []Problem{
		{Code: "missing_key", Pointer: "/campaign_id"},
		{Code: "wrong_type", Pointer: "/status"},
		{Code: "bad_time", Pointer: "/created_at"},
		{Code: "number_out_of_range", Pointer: "/request_cutoff_seconds"},
		{Code: "wrong_type", Pointer: "/metrics/1"},
		{Code: "wrong_type", Pointer: "/controls/max_tokens"},
		{Code: "number_out_of_range", Pointer: "/models/baseline/port"},
		{Code: "number_out_of_range", Pointer: "/matrix/3/requests"},
		{Code: "wrong_type", Pointer: "/matrix/3/excluded_warmup"},
		{Code: "wrong_type", Pointer: "/matrix/4/argv"},
		{Code: "wrong_type", Pointer: "/matrix/5/seed"},
		{Code: "wrong_type", Pointer: "/matrix/6"},
	} {
		if !hasProblem(got, want.Code, want.Pointer) {
			t.Errorf("no %s at %s", want.Code, want.Pointer)
		}
	}
	if len(got) != 12 {
		t.Errorf("%d problems, want 12: %v", len(got), got)
	}
	Check(p, exampleNow) // a plan with holes must not stop it
}

func TestDecodeFindsWhatOtherDecodersDrop(t *testing.T) {
	example := string(exampleJSON(t))
	for _, x := range []struct{ name, data, code, pointer string }{
		{"repeated key", strings.Replace(example, `"status":`, `"status": "draft", "status":`, 1), "duplicate_key", "/status"},
		{"repeated key in a cell", strings.Replace(example, `"seed": 482001`, `"seed": 1, "seed": 482001`, 1), "duplicate_key", "/matrix/2/seed"},
		{"escaped repeated key", strings.Replace(example, `"status":`, `"st\u0061tus": 1, "status":`, 1), "duplicate_key", "/status"},
		{"trailing value", example + "{}", "trailing_data", ""},
		{"trailing text", example + "x", "trailing_data", ""},
		{"half a surrogate pair", strings.Replace(example, `"owner": "`, `"owner": "\ud800`, 1), "bad_text", "/owner"},
		{"huge exponent", strings.Replace(example, `"temperature": 0.6`, `"temperature": 1e999999999`, 1), "number_out_of_range", "/controls/temperature"},
		{"past int64", strings.Replace(example, `"total_bound_seconds": 21600`, `"total_bound_seconds": 9223372036854775808`, 1), "number_out_of_range", "/total_bound_seconds"},
	} {
		t.Run(x.name, func(t *testing.T) {
			if x.data == example {
				t.Fatal("the example no longer has what this test replaces")
			}
			if _, problems := Decode([]byte(x.data)); !hasProblem(problems, x.code, x.pointer) {
				t.Errorf("problems = %v, want %s at %s", problems, x.code, x.pointer)
			}
		})
	}
}

func TestDecodeKeepsExactBytesAndUnknownKeys(t *testing.T) {
	data := mutate(t, func(m anyMap) { m["later_key"] = anyMap{"b": 1, "a/~": "x"} })
	p := mustDecode(t, data)
	if !bytes.Equal(p.Bytes, data) {
		t.Error("Bytes is not the file")
	}
	data[0] = 'x'
	if p.Bytes[0] == 'x' {
		t.Error("Bytes shares the caller's memory")
	}
	if got := string(p.Extra["later_key"]); got != `{"a/~":"x","b":1}` {
		t.Errorf("extra = %s", got)
	}
}

func TestArgvProblems(t *testing.T) {
	for _, x := range []struct {
		name   string
		change func(m anyMap)
		code   string
	}{
		{"unknown flag", func(m anyMap) { setFlag(m, 2, "--top-k", "20") }, "argv_unknown_flag"},
		{"unknown switch", func(m anyMap) { cellAt(m, 2)["argv"] = append(cellAt(m, 2)["argv"].([]any), "--fast") }, "argv_unknown_flag"},
		{"credential", func(m anyMap) { setFlag(m, 2, "--api-key", "hunter2hunter2") }, "argv_secret"},
		{"credential with =", func(m anyMap) { cellAt(m, 2)["argv"] = append(cellAt(m, 2)["argv"].([]any), "--hf-token=hunter2") }, "argv_secret"},
		{"stray word", func(m anyMap) { cellAt(m, 2)["argv"] = append(cellAt(m, 2)["argv"].([]any), "hunter2") }, "argv_stray_word"},
		{"repeated flag", func(m anyMap) { cellAt(m, 2)["argv"] = append(cellAt(m, 2)["argv"].([]any), "--seed", "482001") }, "argv_repeated_flag"},
		{"missing flag", func(m anyMap) { dropFlag(m, 2, "--base-url") }, "argv_missing_flag"},
		{"no value at the end", func(m anyMap) {
			dropFlag(m, 2, "--output")
			cellAt(m, 2)["argv"] = append(cellAt(m, 2)["argv"].([]any), "--output")
		}, "argv_missing_value"},
		{"no value before a flag", func(m anyMap) {
			dropFlag(m, 2, "--gpu")
			cellAt(m, 2)["argv"] = append(cellAt(m, 2)["argv"].([]any), "--gpu", "--confirm")
		}, "argv_missing_value"},
		{"empty value", func(m anyMap) { setFlag(m, 2, "--model", "") }, "argv_bad_value"},
		{"not whole", func(m anyMap) { setFlag(m, 2, "--requests", "8.0") }, "argv_bad_value"},
		{"too many requests", func(m anyMap) { setFlag(m, 2, "--requests", "100001") }, "argv_bad_value"},
		{"past int64", func(m anyMap) { setFlag(m, 2, "--seed", "99999999999999999999") }, "argv_bad_value"},
		{"not a JSON number", func(m anyMap) { setFlag(m, 2, "--temperature", ".6") }, "argv_bad_value"},
		{"number with white space", func(m anyMap) { setFlag(m, 2, "--temperature", "0.6 ") }, "argv_bad_value"},
		{"not finite", func(m anyMap) { setFlag(m, 2, "--temperature", "NaN") }, "argv_bad_value"},
		{"above the range", func(m anyMap) { setFlag(m, 2, "--top-p", "1.5") }, "argv_bad_value"},
		{"unknown cache mode", func(m anyMap) { setFlag(m, 2, "--prompt-cache-mode", "shared") }, "argv_bad_value"},
		{"unknown policy", func(m anyMap) { setFlag(m, 2, "--controlled-output-policy", "lenient") }, "argv_bad_value"},
		{"value for a switch", func(m anyMap) {
			dropFlag(m, 2, "--confirm")
			cellAt(m, 2)["argv"] = append(cellAt(m, 2)["argv"].([]any), "--confirm=yes")
		}, "argv_bad_value"},
		{"no flags at all", func(m anyMap) { cellAt(m, 2)["argv"] = []any{"python"} }, "argv_missing_flag"},
		{"empty argv", func(m anyMap) { cellAt(m, 2)["argv"] = []any{} }, "argv_missing_flag"},
	} {
		t.Run(x.name, func(t *testing.T) {
			_, problems := Decode(mutate(t, x.change))
			found := false
			for _, p := range problems {
				found = found || p.Code == x.code && strings.HasPrefix(p.Pointer, "/matrix/2/argv")
				if strings.Contains(p.Detail, "hunter2") {
					t.Errorf("a problem quotes a secret: %s", p.Code)
				}
			}
			if !found {
				t.Errorf("problems = %v, want %s", problems, x.code)
			}
		})
	}
}

func TestArgvTakesFlagsWithAnEqualsSign(t *testing.T) {
	d := &decoder{}
	spaced := d.requestControls([]string{"python", "--model", "m", "--seed", "5", "--top-p", "0.950", "--request-canaries"}, "")
	joined := d.requestControls([]string{"python", "--model=m", "--seed=5", "--top-p=0.950", "--request-canaries"}, "")
	if diff := cmp.Diff(spaced, joined); diff != "" {
		t.Error(diff)
	}
	if spaced.TopP.String() != "0.950" || spaced.MaxTokens != nil || spaced.Temperature != nil || spaced.ReasoningEffort != nil {
		t.Errorf("controls = %+v; want argv's own text, and nil for what argv does not give", spaced)
	}
}

func TestLoadNamesAFileThatCannotBeRead(t *testing.T) {
	_, _, err := Load(filepath.Join(t.TempDir(), "none.json"))
	if !os.IsNotExist(unwrapAll(err)) {
		t.Errorf("error = %v", err)
	}
	path := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(path, exampleJSON(t), 0o600); err != nil {
		t.Fatal(err)
	}
	p, problems, err := Load(path)
	if err != nil || len(problems) > 0 || len(p.Cells) != 48 {
		t.Errorf("error %v, problems %v", err, problems)
	}
}

func unwrapAll(err error) error {
	for {
		inner, ok := err.(interface{ Unwrap() error })
		if !ok || os.IsNotExist(err) {
			return err
		}
		err = inner.Unwrap()
	}
}

func FuzzDecode(f *testing.F) {
	// Three cells, because the fuzzer spends its time on shrinking a large input.
	example := mutate(f, func(m anyMap) { m["matrix"] = m["matrix"].([]any)[:3] })
	f.Add(example)
	f.Add(example[:len(example)/3])
	for _, s := range []string{
		"", "{}", "[]", "null", `{"matrix":[{}]}`, `{"matrix":[{"argv":["--seed"]}]}`, `{"matrix":[{"argv":["--=","=",""]}]}`,
		`{"a":1,"a":2}`, `{"a":"\ud800"}`, `{"models":{"a":{}},"controls":{"x":1e400}}`, "{\"a\":1}\x00", strings.Repeat(`[`, 70),
		`{"authorization":"x","restoration":{"retained_container_id":"abc"},"owner":"/home/a/b http://u:p@h/ x@y.zz 10.0.0.1"}`,
		`{"matrix":[{"arm":"a","id":"b","argv":["--base-url","http://host-a:1/v1","--api-key","k"]}],"models":{"a":{"port":1}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, problems := Decode(data)
		if p == nil {
			if len(problems) == 0 {
				t.Fatal("neither a plan nor a problem")
			}
			return
		}
		Check(p, exampleNow)
		if p.Digest() == "" {
			t.Fatal("a decoded plan has no digest")
		}
		root, _, parsed := parseJSON(data)
		if len(parsed) > 0 {
			return // repeated keys and the like: the tree is not the file
		}
		if again, _ := Decode(pretty(root)); again == nil || again.Digest() != p.Digest() {
			t.Fatal("writing the plan again changes its digest")
		}
		once, _, err := Redact(p)
		if err != nil {
			return // two keys became one
		}
		twice, _, err := Redact(once)
		if err != nil || !bytes.Equal(once.Bytes, twice.Bytes) {
			t.Fatalf("redacting twice differs: %v\n%s\n%s", err, once.Bytes, twice.Bytes)
		}
	})
}
