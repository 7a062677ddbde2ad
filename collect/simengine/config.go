package simengine

import (
	"errors"
	"fmt"
	"time"
)

// DefaultMaxModelLen is the model length of the plan's two recipes, in tokens.
const DefaultMaxModelLen = 327680

// Config says what an Engine pretends to be. The zero value of every field but
// Profile is usable.
type Config struct {
	// Profile holds the engine's speeds, sizes and habits.
	Profile Profile
	// Model is the served model id; requests for another one get 404. "" means
	// the profile's.
	Model string
	// MaxModelLen is the longest prompt plus output in tokens; 0 means
	// DefaultMaxModelLen.
	MaxModelLen int64
	// Seed goes into every drawn text, length and pause.
	Seed uint64

	// TimeScale divides every simulated wait: 1 is real time, 50 is fifty
	// times as fast. 0 means 1.
	TimeScale float64
	// OutputScale multiplies the drawn numbers of reasoning and summary tokens;
	// 0 means 1. A controlled answer keeps its exact length.
	OutputScale float64
	// PrefillScale multiplies the profile's prefill speed; 0 means 1.
	PrefillScale float64
	// DecodeScale multiplies the profile's decode speed; 0 means 1. Under a large
	// TimeScale a value below 1 keeps chunks far enough apart to be told apart.
	DecodeScale float64
	// ChunkInterval, when above 0, replaces the decode pace: every output
	// event follows the one before by exactly this time (TimeScale applies).
	ChunkInterval time.Duration
	// Chunks, when above 0, is the exact number of output events of a request.
	Chunks int

	// Faults are fault specifications, see ParseFault.
	Faults []string

	// DiscardLogs keeps Arrivals and Sends empty, for an engine that runs long.
	// The two functions below are called all the same.
	DiscardLogs bool
	// ArrivalLog, when set, receives every request once it has been read. It is
	// called from many goroutines.
	ArrivalLog func(Arrival)
	// SendLog, when set, receives every event after it has been written. It is
	// called from many goroutines and delays the stream that calls it.
	SendLog func(Send)
}

// withDefaults returns c with every 0 replaced by its meaning, or all that is
// wrong with it.
func (c Config) withDefaults() (Config, error) {
	if c.MaxModelLen == 0 {
		c.MaxModelLen = DefaultMaxModelLen
	}
	if c.Model == "" {
		c.Model = c.Profile.Model
	}
	for _, scale := range []*float64{&c.TimeScale, &c.OutputScale, &c.PrefillScale, &c.DecodeScale} {
		if *scale == 0 {
			*scale = 1
		}
	}
	var errs []error
	if c.Model == "" {
		errs = append(errs, errors.New("the served model id is empty"))
	}
	if c.MaxModelLen < 1 {
		errs = append(errs, fmt.Errorf("max model len %d is below 1", c.MaxModelLen))
	}
	if !(c.TimeScale > 0 && c.OutputScale > 0 && c.PrefillScale > 0 && c.DecodeScale > 0) {
		errs = append(errs, fmt.Errorf("scales must be above 0, got time %g, output %g, prefill %g, decode %g",
			c.TimeScale, c.OutputScale, c.PrefillScale, c.DecodeScale))
	}
	if c.ChunkInterval < 0 || c.Chunks < 0 {
		errs = append(errs, fmt.Errorf("chunk interval %s and chunks %d must not be negative", c.ChunkInterval, c.Chunks))
	}
	if err := c.Profile.check(); err != nil {
		errs = append(errs, err)
	}
	return c, errors.Join(errs...)
}

// scaled turns simulated nanoseconds into nanoseconds to wait.
func (c Config) scaled(ns float64) int64 { return int64(ns / c.TimeScale) }
