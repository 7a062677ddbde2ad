package plantedtest

import (
	"fmt"

	"assay/collect/record"
)

// identityFaults are drifts of what an engine is. An empty list of rules means
// that the facts still agree.
var identityFaults = []struct {
	name  string
	plant func(before, after *identity)
	fails bool
}{
	{"served_id_changed", func(_, a *identity) { a.served += "-r12" }, true},
	{"version_changed", func(_, a *identity) { a.version = "0.9.2" }, true},
	{"length_changed", func(_, a *identity) { a.length = 32768 }, true},
	{"answers_lost_after", func(_, a *identity) { a.silent = true }, true},
	{"version_never_stated", func(b, a *identity) { b.version, a.version = "", "" }, false},
	{"identity_stop", nil, true},
	{"protocol_stop", nil, true},
	{"other_stop", nil, false},
	{"http_version_drift", nil, true},
	{"reasoning_field_drift", nil, true},
}

type identity struct {
	served, version string
	length          int64
	silent          bool
}

// identify puts the identity answers of an attempt down and says whether its
// facts agree, those of its pages included: each fact known on one side is
// known and equal on the other.
func (c *Campaign) identify(x *cell, a *attempt) {
	before := identity{served: "model-" + x.arm, version: "0.9.1", length: 327680}
	after := before
	a.identity = true
	for _, f := range identityFaults {
		if f.name != x.identityFault {
			continue
		}
		if f.plant != nil {
			f.plant(&before, &after)
			a.identity = !f.fails
		}
	}
	switch x.engineFault { // a process start that is known on one side alone, or moved
	case "process_restart", "no_page_before", "no_page_after", "page_before_failed":
		a.identity = false
	}
	a.answer("before", a.startNs, before)
	a.answer("after", a.endNs, after)
}

func (a *attempt) answer(phase string, at int64, i identity) {
	ok := int64(200)
	add := func(path, body string) {
		answer := record.Answer{Phase: phase, Path: path, AtNs: at, AtUnixNs: anchorUnixNs + at, HTTPStatus: &ok, Body: []byte(body)}
		if i.silent {
			answer.HTTPStatus, answer.Error, answer.Body = nil, "refused", nil
		}
		a.answers = append(a.answers, answer)
	}
	add("/v1/models", fmt.Sprintf(`{"object":"list","data":[{"id":%s,"object":"model","max_model_len":%d}]}`, quote(i.served), i.length))
	if i.version == "" {
		add("/version", `{}`)
		return
	}
	add("/version", `{"version":`+quote(i.version)+`}`)
}
