package simengine

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Range is an inclusive range of whole numbers; draws from it are uniform.
type Range struct{ Min, Max int }

// Profile is one simulated engine recipe. The built-in profiles are shaped like
// the two recipes of the GLM-5.3 plan; their figures are assumptions that give
// plausible proportions, not measurements.
type Profile struct {
	// Name is what LookupProfile finds it by.
	Name string
	// Model is the id it serves where Config names none: the model id of the
	// plan's arm.
	Model string
	// Version is the answer of GET /version.
	Version string
	// ReasoningField is the delta member that carries reasoning text:
	// "reasoning" (vLLM since late 2025) or "reasoning_content" (before).
	ReasoningField string

	// PrefillTokPerS is the prompt tokens prefilled per second; one prompt at a
	// time.
	PrefillTokPerS float64
	// BaseLatency is added to every prefill: scheduling, templating, sampling.
	BaseLatency time.Duration
	// StepsPerS is the decode steps per second of a request that runs alone on
	// an empty context. Without speculation a step is a token.
	StepsPerS float64
	// BatchSlowdown is the share by which a step grows for each further running
	// request.
	BatchSlowdown float64
	// ContextSlowdown is the share by which a step grows at 300,000 prompt
	// tokens; in between it grows linearly.
	ContextSlowdown float64
	// StepJitter is the largest share by which a drawn step time differs from
	// its mean.
	StepJitter float64
	// Acceptance is, for each draft position, the chance that its token is
	// accepted given that the one before was. Empty means no speculation.
	Acceptance []float64

	// MaxRunning is the largest number of running requests (max_num_seqs).
	MaxRunning int
	// KVPoolTokens is the KV pool in tokens, the kv_cache_size_tokens label.
	KVPoolTokens int64
	// BlockSize and NumGPUBlocks are the labels of the same names. Their product
	// may be below the pool, as it is for real hybrid models.
	BlockSize, NumGPUBlocks int64
	// CacheDtype is the label cache_dtype.
	CacheDtype string
	// WeightsBytes is the gauge vllm:model_weights_memory_bytes.
	WeightsBytes int64

	// NaturalReasoning is the reasoning tokens of a natural answer at full
	// effort, ControlledReasoning those of a controlled one.
	NaturalReasoning, ControlledReasoning Range
	// SummaryWords is the number of words of a natural answer after the marker.
	SummaryWords Range
}

// profiles are the built-in recipes.
var profiles = []Profile{
	{
		Name: "glm53-baseline", Model: "glm53-flash-exl3-4bpw-v84-fp8-tp2-dcp1-c4-327k-r11-vision8-apc-nospec",
		Version: "0.29.1.dev0+sim.baseline", ReasoningField: "reasoning",
		PrefillTokPerS: 7800, BaseLatency: 60 * time.Millisecond,
		StepsPerS: 62, BatchSlowdown: 0.12, ContextSlowdown: 0.15, StepJitter: 0.06,
		MaxRunning: 4, KVPoolTokens: 917504, BlockSize: 64, NumGPUBlocks: 14336,
		CacheDtype: "fp8", WeightsBytes: 66_214_428_672,
		NaturalReasoning: Range{900, 2600}, ControlledReasoning: Range{250, 700}, SummaryWords: Range{18, 36},
	},
	{
		Name: "glm53-candidate", Model: "glm53-nvidia-fp4-local-tp2-327k-c4-mtp3-r2",
		Version: "0.30.0.dev2+sim.candidate", ReasoningField: "reasoning",
		PrefillTokPerS: 10500, BaseLatency: 45 * time.Millisecond,
		StepsPerS: 52, BatchSlowdown: 0.10, ContextSlowdown: 0.12, StepJitter: 0.10,
		Acceptance: []float64{0.86, 0.74, 0.62},
		MaxRunning: 4, KVPoolTokens: 786432, BlockSize: 64, NumGPUBlocks: 11264,
		CacheDtype: "fp8_e4m3", WeightsBytes: 71_940_702_208,
		NaturalReasoning: Range{900, 2600}, ControlledReasoning: Range{250, 700}, SummaryWords: Range{18, 36},
	},
}

// LookupProfile returns the built-in profile of that name.
func LookupProfile(name string) (Profile, bool) {
	for _, p := range profiles {
		if p.Name == name {
			p.Acceptance = slices.Clone(p.Acceptance)
			return p, true
		}
	}
	return Profile{}, false
}

// ProfileNames lists the built-in profiles.
func ProfileNames() []string {
	names := make([]string, len(profiles))
	for i, p := range profiles {
		names[i] = p.Name
	}
	return names
}

// check refuses a profile that could not run.
func (p Profile) check() error {
	if !(p.PrefillTokPerS > 0 && p.StepsPerS > 0) || p.MaxRunning < 1 || p.KVPoolTokens < 1 || p.BlockSize < 1 {
		return fmt.Errorf("profile %q lacks a speed, a batch size, a block size or a KV pool; take one of %s",
			p.Name, strings.Join(ProfileNames(), ", "))
	}
	if p.ReasoningField != "reasoning" && p.ReasoningField != "reasoning_content" {
		return fmt.Errorf("profile %q: reasoning field %q is neither reasoning nor reasoning_content", p.Name, p.ReasoningField)
	}
	for _, r := range []Range{p.NaturalReasoning, p.ControlledReasoning, p.SummaryWords} {
		if r.Min < 0 || r.Max < r.Min {
			return fmt.Errorf("profile %q: range %d to %d is empty or negative", p.Name, r.Min, r.Max)
		}
	}
	return nil
}
