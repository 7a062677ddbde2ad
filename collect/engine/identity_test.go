package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/collect/record"
)

func text1(s string) *string { return &s }

func TestAnswerFacts(t *testing.T) {
	id := func(v *string, reason string) Fact { return Fact{"served_id", v, "/v1/models", reason} }
	length := func(v *string, reason string) Fact { return Fact{"max_model_len", v, "/v1/models", reason} }
	version := func(v *string, reason string) Fact { return Fact{"engine_version", v, "/version", reason} }
	build := func(v *string, reason string) Fact { return Fact{"engine_version", v, "/props", reason} }
	slots := func(v *string, reason string) Fact { return Fact{"max_num_seqs", v, "/props", reason} }
	for _, tt := range []struct {
		name, path, code, body string
		want                   []Fact
	}{
		{"vLLM models", "/v1/models", "", `{"object":"list","data":[{"id":"m","object":"model","owned_by":"vllm","root":"/x","parent":null,"max_model_len":327680},{"id":"lora","parent":"m","max_model_len":null}]}`,
			[]Fact{id(text1("m"), ""), length(text1("327680"), "")}},
		{"no length", "/v1/models", "", `{"data":[{"id":"m","owned_by":"tensorrt_llm"}]}`, []Fact{id(text1("m"), ""), length(nil, "absent")}},
		{"llama.cpp models", "/v1/models", "", `{"models":[{"name":"m"}],"data":[{"id":"m","owned_by":"llamacpp","meta":{"n_ctx":4096,"n_ctx_train":8192,"n_vocab":3072}}]}`,
			[]Fact{id(text1("m"), ""), length(text1("4096"), "")}},
		{"a length that the server does not state comes before the trained one", "/v1/models", "", `{"data":[{"id":"m","owned_by":"llamacpp","meta":{"n_ctx_train":8192}}]}`,
			[]Fact{id(text1("m"), ""), length(nil, "absent")}},
		{"meta is no object", "/v1/models", "", `{"data":[{"id":"m","meta":7}]}`, []Fact{id(text1("m"), ""), length(nil, "absent")}},
		{"both lengths", "/v1/models", "", `{"data":[{"id":"m","max_model_len":9,"meta":{"n_ctx":4096}}]}`, []Fact{id(text1("m"), ""), length(text1("9"), "")}},
		{"length null", "/v1/models", "", `{"data":[{"id":"m","max_model_len":null}]}`, []Fact{id(text1("m"), ""), length(nil, "absent")}},
		{"length as text", "/v1/models", "", `{"data":[{"id":"m","max_model_len":"4096"}]}`, []Fact{id(text1("m"), ""), length(nil, "bad_value")}},
		{"length below 1", "/v1/models", "", `{"data":[{"id":"m","max_model_len":-1}]}`, []Fact{id(text1("m"), ""), length(nil, "bad_value")}},
		{"length beyond int64", "/v1/models", "", `{"data":[{"id":"m","max_model_len":99999999999999999999}]}`, []Fact{id(text1("m"), ""), length(nil, "bad_value")}},
		{"length with a fraction", "/v1/models", "", `{"data":[{"id":"m","max_model_len":1.5}]}`, []Fact{id(text1("m"), ""), length(nil, "bad_value")}},
		{"two models", "/v1/models", "", `{"data":[{"id":"a"},{"id":"b"}]}`, []Fact{id(nil, "several"), length(nil, "several")}},
		{"no model", "/v1/models", "", `{"data":[]}`, []Fact{id(nil, "absent"), length(nil, "absent")}},
		{"data null", "/v1/models", "", `{"data":null}`, []Fact{id(nil, "bad_shape"), length(nil, "bad_shape")}},
		{"other case", "/v1/models", "", `{"DATA":[{"ID":"m"}]}`, []Fact{id(nil, "bad_shape"), length(nil, "bad_shape")}},
		{"id a number", "/v1/models", "", `{"data":[{"id":7}]}`, []Fact{id(nil, "bad_shape"), length(nil, "bad_shape")}},
		{"list of texts", "/v1/models", "", `{"data":["m"]}`, []Fact{id(nil, "bad_shape"), length(nil, "bad_shape")}},
		{"top level list", "/v1/models", "", `[1]`, []Fact{id(nil, "bad_shape"), length(nil, "bad_shape")}},
		{"null", "/v1/models", "", `null`, []Fact{id(nil, "bad_shape"), length(nil, "bad_shape")}},
		{"HTML", "/v1/models", "", `<html>`, []Fact{id(nil, "not_json"), length(nil, "not_json")}},
		{"empty", "/v1/models", "", ``, []Fact{id(nil, "not_json"), length(nil, "not_json")}},
		{"cut", "/v1/models", "torn", `{"data":[{"id":"m"`, []Fact{id(nil, "torn"), length(nil, "torn")}},
		{"refused", "/v1/models", "http_401", `{"data":[{"id":"m"}]}`, []Fact{id(nil, "http_401"), length(nil, "http_401")}},
		{"version", "/version", "", `{"version":"0.31.0.dev7+gabc"}`, []Fact{version(text1("0.31.0.dev7+gabc"), "")}},
		{"no version", "/version", "", `{}`, []Fact{version(nil, "absent")}},
		{"version null", "/version", "", `{"version":null}`, []Fact{version(nil, "absent")}},
		{"version a number", "/version", "", `{"version":1}`, []Fact{version(nil, "bad_value")}},
		{"version blank", "/version", "", `{"version":" "}`, []Fact{version(nil, "bad_value")}},
		{"version not there", "/version", "http_404", `{"detail":"Not Found"}`, []Fact{version(nil, "http_404")}},
		{"llama.cpp properties", "/props", "", `{"total_slots":2,"model_path":"m.gguf","build_info":"b11434-abcdef0"}`, []Fact{build(text1("b11434-abcdef0"), ""), slots(text1("2"), "")}},
		{"properties of another server", "/props", "", `{}`, []Fact{build(nil, "absent"), slots(nil, "absent")}},
		{"slots as text", "/props", "", `{"total_slots":"2","build_info":" "}`, []Fact{build(nil, "bad_value"), slots(nil, "bad_value")}},
		{"properties not there", "/props", "http_404", `{}`, []Fact{build(nil, "http_404"), slots(nil, "http_404")}},
		{"health says nothing", "/health", "", ``, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := AnswerFacts(record.Answer{Path: tt.path, Error: tt.code, Body: []byte(tt.body)})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error("facts (-want +got):\n", diff)
			}
		})
	}
}

func TestModelsNamesTheEngineFamily(t *testing.T) {
	models, reason := Models([]byte(`{"data":[{"id":"m","owned_by":"sglang","max_model_len":9},{"id":"n","owned_by":5,"parent":"m"}]}`))
	if reason != "" || len(models) != 2 {
		t.Fatalf("%d models, reason %q", len(models), reason)
	}
	if m := models[0]; m.ID != "m" || m.OwnedBy != "sglang" || m.Adapter || m.MaxModelLen == nil || *m.MaxModelLen != 9 {
		t.Errorf("first model: %+v", m)
	}
	if m := models[1]; m.OwnedBy != "" || !m.Adapter || m.MaxModelLen != nil {
		t.Errorf("second model: %+v", m)
	}
}

func TestPageFacts(t *testing.T) {
	for _, tt := range []struct {
		name, page string
		want       Fact
	}{
		{"one process", "process_start_time_seconds 1.79312345678e+09\n", Fact{"process_start", text1("1793123456.78"), "/metrics", ""}},
		{"none", "vllm:num_requests_running 0\n", Fact{"process_start", nil, "/metrics", "absent"}},
		{"several", "process_start_time_seconds{p=\"1\"} 1\nprocess_start_time_seconds{p=\"2\"} 2\n", Fact{"process_start", nil, "/metrics", "several"}},
		{"not a number", "process_start_time_seconds NaN\n", Fact{"process_start", nil, "/metrics", "bad_value"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			page, _ := ParsePage([]byte(tt.page))
			if diff := cmp.Diff([]Fact{tt.want}, PageFacts(page)); diff != "" {
				t.Error("facts (-want +got):\n", diff)
			}
		})
	}
}

// Where an engine says its version is told by who says it owns the model: a
// question that it does not know would be a fact without a value.
func TestAskIdentity(t *testing.T) {
	for body, want := range map[string][]string{
		`{"data":[{"id":"m","owned_by":"llamacpp"}]}`: {"/v1/models", "/props", "/health"},
		`{"data":[{"id":"m","owned_by":"vllm"}]}`:     {"/v1/models", "/version", "/health"},
		`{"data":[{"id":"m"}]}`:                       {"/v1/models", "/version", "/health"},
		`{"data":[]}`:                                 {"/v1/models", "/version", "/health"},
		``:                                            {"/v1/models", "/version", "/health"},
	} {
		var asked, answered []string
		answers := AskIdentity(func(path string) record.Answer {
			asked = append(asked, path)
			a := record.Answer{Path: path}
			if path == "/v1/models" {
				a.Body = []byte(body)
			}
			return a
		})
		for _, a := range answers {
			answered = append(answered, a.Path)
		}
		if diff := cmp.Diff([][]string{want, want}, [][]string{asked, answered}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	}
}
