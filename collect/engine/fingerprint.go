package engine

import (
	"slices"
	"strings"

	"assay/collect/record"
)

// owners are what engines write as owned_by in their model list.
var owners = map[string]string{
	"vllm": "vllm", "sglang": "sglang", "llamacpp": "llamacpp", "tensorrt_llm": "tensorrt_llm", "nvidia": "dynamo", "lmdeploy": "lmdeploy",
}

// prefixes are how the series of engines begin. Behind a Dynamo frontend the
// backend's own families may stand on the same page, so it comes first.
var prefixes = []struct{ prefix, engine string }{
	{"dynamo_frontend_", "dynamo"}, {"dynamo_component_", "dynamo"},
	{"vllm:", "vllm"}, {"sglang:", "sglang"}, {"sglang_", "sglang"}, {"llamacpp:", "llamacpp"},
	{"trtllm_", "tensorrt_llm"}, {"tgi_", "tgi"}, {"lmdeploy:", "lmdeploy"},
}

// Fingerprint says which engine answers: by its model list, else by the names on
// its page, else by a path that only it has. ok is false when nothing tells.
// Forks keep the names of their base; it is the family, not the build.
func Fingerprint(answers []record.Answer, page Page) (r Report, ok bool) {
	r = Report{Fact: ReportEngine, Confidence: Reported}
	for _, a := range answers {
		if a.Path != pathModels || a.Error != "" {
			continue
		}
		models, _ := Models(a.Body)
		for _, m := range models {
			if family, known := owners[strings.ToLower(m.OwnedBy)]; known {
				r.Value, r.Source, r.Place = family, pathModels+" owned_by", 1
				return r, true
			}
		}
	}
	for _, p := range prefixes {
		if slices.ContainsFunc(page.Series, func(s Series) bool { return strings.HasPrefix(s.Name, p.prefix) }) {
			r.Value, r.Source, r.Place = p.engine, pathMetrics+" "+p.prefix, 2
			return r, true
		}
	}
	for _, only := range []struct{ path, member, engine string }{
		{PathProps, "total_slots", "llamacpp"}, {PathInfo, "max_concurrent_requests", "tgi"},
		{PathServerInfo, "max_total_num_tokens", "sglang"}, {PathServerInfoOld, "max_total_num_tokens", "sglang"}, {PathServerInfo, "vllm_config", "vllm"},
	} {
		for _, a := range answers {
			if a.Path == only.path && a.Error == "" && present(membersOf(a.Body)[only.member]) {
				r.Value, r.Source, r.Place = only.engine, only.path, 3
				return r, true
			}
		}
	}
	return Report{}, false
}
