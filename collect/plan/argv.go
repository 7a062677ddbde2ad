package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/collect/private"
)

// flag is one request control of a cell's argv.
type flag struct {
	name     string
	presence presence
	// set is nil for a switch. It stores the value and returns what is wrong
	// with it, or "".
	set func(r *RequestControls, value string) string
	// on is called for a switch.
	on func(r *RequestControls)
}

// flags is every flag a cell's argv may carry. One that is not here would be a
// request control that Assay does not carry out, so it is a problem.
var flags = []flag{
	{name: "--base-url", presence: required, set: text(func(r *RequestControls) *string { return &r.BaseURL })},
	{name: "--model", presence: required, set: text(func(r *RequestControls) *string { return &r.Model })},
	{name: "--engine", set: text(func(r *RequestControls) *string { return &r.Engine })},
	{name: "--gpu", set: text(func(r *RequestControls) *string { return &r.GPU })},
	{name: "--requests", presence: required, set: whole(indexCount, func(r *RequestControls) *int64 { return &r.Requests })},
	{name: "--concurrency", presence: required, set: whole(positive, func(r *RequestControls) *int64 { return &r.Concurrency })},
	{name: "--ctx-tokens", presence: required, set: whole(tokenCount, func(r *RequestControls) *int64 { return &r.CtxTokens })},
	{name: "--seed", presence: required, set: whole(seedRange, func(r *RequestControls) *int64 { return &r.Seed })},
	{name: "--max-model-len", presence: required, set: whole(tokenCount, func(r *RequestControls) *int64 { return &r.MaxModelLen })},
	{name: "--timeout", presence: required, set: whole(secondCount, func(r *RequestControls) *int64 { return &r.TimeoutSeconds })},
	{name: "--response-words", set: whole(bounds{0, 1 << 20}, func(r *RequestControls) *int64 { return &r.ResponseWords })},
	{name: "--max-tokens", set: whole(tokenCount, func(r *RequestControls) *int64 { r.MaxTokens = new(int64); return r.MaxTokens })},
	{name: "--prompt-cache-mode", presence: required, set: oneOf(func(r *RequestControls) *string { return &r.PromptCacheMode }, CacheUnique)},
	{name: "--request-canaries", on: func(r *RequestControls) { r.RequestCanaries = true }},
	{name: "--controlled-output-policy", set: oneOf(func(r *RequestControls) *string { return &r.ControlledOutputPolicy }, PolicyStrict, PolicyObserve)},
	{name: "--reasoning-effort", set: text(func(r *RequestControls) *string { r.ReasoningEffort = new(string); return r.ReasoningEffort })},
	{name: "--temperature", set: number(0, 100, func(r *RequestControls, n *json.Number) { r.Temperature = n })},
	{name: "--top-p", set: number(0, 1, func(r *RequestControls, n *json.Number) { r.TopP = n })},
	{name: "--output", set: text(func(r *RequestControls) *string { return &r.Output })},
	{name: "--confirm", on: func(r *RequestControls) { r.Confirm = true }},
}

func text(field func(*RequestControls) *string) func(*RequestControls, string) string {
	return func(r *RequestControls, value string) string {
		if value == "" {
			return "the value is empty"
		}
		*field(r) = value
		return ""
	}
}

func oneOf(field func(*RequestControls) *string, allowed ...string) func(*RequestControls, string) string {
	return func(r *RequestControls, value string) string {
		if !slices.Contains(allowed, value) {
			return fmt.Sprintf("%q is not one of: %s", value, strings.Join(allowed, ", "))
		}
		*field(r) = value
		return ""
	}
}

func whole(b bounds, field func(*RequestControls) *int64) func(*RequestControls, string) string {
	return func(r *RequestControls, value string) string {
		v, err := strconv.ParseInt(value, 10, 64)
		if err != nil || v < b.low || v > b.high {
			return fmt.Sprintf("expected a whole number from %d to %d", b.low, b.high)
		}
		*field(r) = v
		return ""
	}
}

// number keeps argv's own text, because that is what is sent; so the text must
// be a JSON number.
func number(low, high float64, store func(*RequestControls, *json.Number)) func(*RequestControls, string) string {
	return func(r *RequestControls, value string) string {
		n := json.Number(value)
		v, err := n.Float64()
		root, ok, problems := parseJSON([]byte(value))
		if err != nil || !ok || len(problems) > 0 || root.text != value || v < low || v > high {
			return fmt.Sprintf("expected a JSON number from %g to %g", low, high)
		}
		store(r, &n)
		return ""
	}
}

// requestControls reads a cell's argv. The words before the first flag name the
// program and its command; they are not looked at.
func (d *decoder) requestControls(argv []string, pointer string) RequestControls {
	var r RequestControls
	seen := map[string]bool{}
	first := slices.IndexFunc(argv, func(a string) bool { return strings.HasPrefix(a, "--") })
	if first < 0 {
		first = len(argv)
	}
	for i := first; i < len(argv); {
		name, value, inline := strings.Cut(argv[i], "=")
		here := at(pointer, i)
		i++
		f, ok := findFlag(name)
		if !ok {
			d.unknownFlag(name, here)
			if !inline && i < len(argv) && !strings.HasPrefix(argv[i], "--") {
				i++ // its value, or one stray word; either way the one problem says enough
			}
			continue
		}
		if seen[name] {
			d.add("argv_repeated_flag", here, "%s is given more than once", name)
		}
		seen[name] = true
		if f.set != nil && !inline && i < len(argv) && !strings.HasPrefix(argv[i], "--") {
			value, inline = argv[i], true
			i++
		}
		d.applyFlag(f, &r, flagValue{text: value, given: inline, pointer: here})
	}
	for _, f := range flags {
		if f.presence == required && !seen[f.name] {
			d.add("argv_missing_flag", pointer, "argv must give %s", f.name)
		}
	}
	return r
}

type flagValue struct {
	text    string
	given   bool
	pointer string
}

func (d *decoder) applyFlag(f flag, r *RequestControls, v flagValue) {
	switch {
	case f.on != nil && v.given:
		d.add("argv_bad_value", v.pointer, "%s takes no value", f.name)
	case f.on != nil:
		f.on(r)
	case !v.given:
		d.add("argv_missing_value", v.pointer, "%s has no value", f.name)
	default:
		if detail := f.set(r, v.text); detail != "" {
			d.add("argv_bad_value", v.pointer, "%s: %s", f.name, detail)
		}
	}
}

func findFlag(name string) (flag, bool) {
	i := slices.IndexFunc(flags, func(f flag) bool { return f.name == name })
	if i < 0 {
		return flag{}, false
	}
	return flags[i], true
}

// unknownFlag never quotes a word that is not a flag: it could be a secret.
func (d *decoder) unknownFlag(name, pointer string) {
	switch {
	case private.SecretFlag(name):
		d.add("argv_secret", pointer, "%s puts a credential into the plan; remove it and give its environment variable to collect with --api-key-env", name)
	case strings.HasPrefix(name, "--"):
		d.add("argv_unknown_flag", pointer, "%s is no request control that can be carried out", name)
	default:
		d.add("argv_stray_word", pointer, "a word that belongs to no flag")
	}
}
