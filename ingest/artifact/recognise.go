package artifact

import "strings"

// importer is one format. To add one: a file beside vllm.go and a row in
// importers. inference-perf (per_request_lifecycle_metrics.json and the stage
// files), AIPerf's server_metrics_export.json and the llm-d benchmark report
// are not there yet; each becomes one row.
type importer struct {
	tool string
	// recognises looks at a file's first value. version is what the file says
	// of itself; read is false when that version is not read.
	recognises func(first value) (is bool, version string, read bool)
	lines      bool // a file may hold one value a line
	load       func(d *document, o *output)
}

// importers is every format that is read, in the order they are asked. Each
// asks for members that no other format has.
var importers = []importer{
	{tool: toolAnvil, recognises: isAnvilBenchmark, load: loadAnvil},
	{tool: toolAnvil, recognises: isAnvilAggregate, load: loadAnvilAggregate},
	{tool: toolAnvil, recognises: isAnvilComparison, load: loadAnvilComparison},
	{tool: toolAnvil, recognises: isAnvilCounters, load: loadAnvilCounters},
	{tool: toolGuideLLM, recognises: isGuideLLM, load: loadGuideLLM},
	{tool: toolAIPerf, recognises: isAIPerfSummary, load: loadAIPerfSummary},
	{tool: toolAIPerf, recognises: isAIPerfRecords, lines: true, load: loadAIPerfRecords},
	{tool: toolVLLM, recognises: isVLLM, lines: true, load: loadVLLM},
	{tool: toolSGLang, recognises: isSGLang, lines: true, load: loadSGLang},
}

// named are schemas that hold no benchmark run. Their kind is noted and
// nothing in them is read.
var named = []struct {
	schema, tool string
	kind         Kind
}{
	{"anvil-serving.context-hardware-sampling/v1", toolAnvil, KindHardware},
	{"anvil-serving.fast-tier-bakeoff/v1", toolAnvil, KindQuality},
	{"anvil-serving.deepseek-r33-batch-token-ab/v1", toolAnvil, KindComparison},
	{"anvil-serving.qwen38-tp-mtp-context-matrix-summary/v1", toolAnvil, KindSummary},
}

// Read takes one file's bytes, finds the importer, and sends its rows. name is
// the path below the source. An error is one of send.
func Read(sum, name string, data []byte, send func(Batch) error) error {
	o := newOutput(sum, name, int64(len(data)), send)
	read(data, o)
	return o.end()
}

func read(data []byte, o *output) {
	called := hasJSONName(o.path)
	if len(data) == 0 {
		if called {
			o.notes.add(CodeEmpty, "", "the file is empty")
		}
		o.artifact(Artifact{Kind: unread(called), State: stateOf(called)})
		return
	}
	text, marked, wrong := encoding(data)
	if marked {
		o.notes.add(CodeByteOrderMark, "", "the file starts with a byte order mark; the rest is read")
	}
	if wrong == nil && !begins(text) && !called {
		o.artifact(Artifact{Kind: KindOther, State: stateNamed})
		return
	}
	d := &document{text: text, notes: &o.notes}
	if wrong == nil {
		wrong = d.first()
	}
	if wrong != nil {
		refuse(o, wrong, data, called)
		return
	}
	d.dispatch(o)
}

// States of an artifact.
const (
	stateLoaded  = "loaded"  // an importer read it
	stateNamed   = "named"   // only its kind is known
	stateRefused = "refused" // it cannot be used; there is a problem
)

// unread is the kind of a file that is no JSON.
func unread(called bool) Kind {
	if called {
		return KindUnknown
	}
	return KindOther
}

func stateOf(called bool) string {
	if called {
		return stateRefused
	}
	return stateNamed
}

func hasJSONName(path string) bool {
	for _, suffix := range []string{".json", ".jsonl", ".ndjson"} {
		if strings.HasSuffix(strings.ToLower(path), suffix) {
			return true
		}
	}
	return false
}

// begins says that a text begins like a JSON object or list.
func begins(text []byte) bool {
	for _, b := range text {
		if !isSpace(b) {
			return b == '{' || b == '['
		}
	}
	return false
}

func refuse(o *output, wrong *fault, data []byte, called bool) {
	if called || begins(data) {
		o.notes.add(wrong.code, position(data, wrong.at), "%s", wrong.detail)
		called = true
	}
	o.artifact(Artifact{Kind: unread(called), State: stateOf(called)})
}

// dispatch finds the importer of a checked document.
func (d *document) dispatch(o *output) {
	for _, i := range importers {
		is, version, read := i.recognises(d.head)
		switch {
		case !is:
		case !read:
			o.notes.add(CodeOtherVersion, "", "a file of %s in version %q, which is not read", i.tool, version)
			o.artifact(Artifact{Kind: KindUnknown, State: stateRefused, Schema: version, Tool: i.tool})
			return
		case !i.lines && !d.single():
			o.notes.add(CodeNotJSON, position(d.text, d.next), "text follows the end of the JSON value")
			o.artifact(Artifact{Kind: KindUnknown, State: stateRefused, Tool: i.tool})
			return
		default:
			i.load(d, o)
			return
		}
	}
	schema, _ := d.head.get("schema").text()
	for _, n := range named {
		if n.schema == schema {
			o.artifact(Artifact{Kind: n.kind, State: stateNamed, Schema: schema, Tool: n.tool})
			return
		}
	}
	if schema == "" {
		o.notes.add(CodeUnknownSchema, "", "no importer knows what this JSON is")
	} else {
		o.notes.add(CodeUnknownSchema, "/schema", "no importer knows the schema %q", cut(schema, 100))
	}
	o.artifact(Artifact{Kind: KindUnknown, State: stateRefused, Schema: schema})
}
