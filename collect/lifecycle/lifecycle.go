package lifecycle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"time"

	"assay/collect/campaign"
	"assay/collect/engine"
	"assay/collect/plan"
	"assay/collect/record"
)

// Config says where the arms are.
type Config struct {
	Plan       *plan.Plan
	BaseURLs   map[string]string // by arm; the plan's own where absent
	Token      string            // bearer token of the arms, "" for none
	Getenv     func(string) string
	Containers map[string]string // by arm
	Socket     string            // of the Docker Engine
}

// Host runs a lifecycle file. It implements campaign.Lifecycle.
type Host struct {
	Config
	file   File
	anchor record.Anchor
	poll   time.Duration
}

// New returns a Host that has done nothing yet.
func New(f File, c Config) *Host {
	if c.Getenv == nil {
		c.Getenv = os.Getenv
	}
	if c.Socket == "" {
		c.Socket = campaign.DefaultDockerSocket
	}
	return &Host{file: f, Config: c, anchor: record.NewAnchor(), poll: time.Second}
}

// ErrRefused: a step of the plan's order did not come out as it must.
var ErrRefused = errors.New("the lifecycle was stopped")

type noteFunc = func(record.Entry) error

// Load implements campaign.Lifecycle. The order is the plan's: verify identity
// and hashes; preview, which must refuse while the incumbent runs; stop the
// incumbent and keep its container; preview again, which must accept; load.
func (h *Host) Load(ctx context.Context, arm string, changes func(map[string]string) error, note noteFunc) error {
	if h.serves(ctx, arm) {
		return nil
	}
	if h.serves(ctx, h.file.Incumbent) {
		if err := h.stopIncumbent(ctx, changes, note); err != nil {
			return err
		}
	} else if err := h.unloadOthers(ctx, arm, note); err != nil {
		return err
	}
	load := h.file.Arms[arm].Load
	if load == nil {
		load = &h.file.Restore
	}
	if err := h.must(ctx, *load, "load "+arm, note); err != nil {
		return err
	}
	return h.await(ctx, arm, load.BoundSeconds)
}

func (h *Host) stopIncumbent(ctx context.Context, changes func(map[string]string) error, note noteFunc) error {
	if changed := h.changedFiles(); len(changed) > 0 {
		return fmt.Errorf("%w: %d files that the plan names do not have the digest of the lifecycle file; nothing was changed", ErrRefused, len(changed))
	}
	start := h.identity(ctx, h.file.Incumbent)
	if start[engine.FactServedID] != h.model(h.file.Incumbent) {
		return fmt.Errorf("%w: the incumbent does not serve what the plan says; nothing was changed", ErrRefused)
	}
	if err := h.preview(ctx, "preview while the incumbent runs", false, note); err != nil {
		return err
	}
	if err := changes(start); err != nil {
		return err
	}
	if err := h.must(ctx, *h.file.Arms[h.file.Incumbent].Unload, "unload "+h.file.Incumbent, note); err != nil {
		return err
	}
	return h.preview(ctx, "preview after the incumbent was stopped", true, note)
}

func (h *Host) unloadOthers(ctx context.Context, arm string, note noteFunc) error {
	for _, other := range h.Plan.Arms() {
		if other != arm && h.answers(ctx, other) {
			if err := h.must(ctx, *h.file.Arms[other].Unload, "unload "+other, note); err != nil {
				return err
			}
		}
	}
	return nil
}

// preview runs the preview command, which must accept or must refuse.
func (h *Host) preview(ctx context.Context, name string, accept bool, note noteFunc) error {
	if h.file.Preview == nil {
		return nil
	}
	e := h.file.Preview.run(ctx, name, h.Token)
	if err := note(e); err != nil {
		return err
	}
	switch {
	case accept && e.Outcome != outcomeOK:
		return fmt.Errorf("%w: the preview does not accept although the incumbent is stopped (%s)", ErrRefused, e.Outcome)
	case !accept && (e.Outcome != outcomeFailed || e.Figures["exit_code"] == 0):
		return fmt.Errorf("%w: the preview must refuse while the incumbent runs (%s); nothing was changed", ErrRefused, e.Outcome)
	}
	return nil
}

// must runs a command that has to succeed.
func (h *Host) must(ctx context.Context, c Command, name string, note noteFunc) error {
	e := c.run(ctx, name, h.Token)
	if err := note(e); err != nil {
		return err
	}
	if e.Outcome != outcomeOK {
		return fmt.Errorf("%w: %s: %s; its output is in the journal", ErrRefused, name, e.Outcome)
	}
	return nil
}

// await waits until an arm serves its model.
func (h *Host) await(ctx context.Context, arm string, boundSeconds int64) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(boundSeconds)*time.Second)
	defer cancel()
	for !h.serves(ctx, arm) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: arm %s does not serve its model within the bound", ErrRefused, arm)
		case <-time.After(h.poll):
		}
	}
	return nil
}

func (h *Host) cell(arm string) plan.Cell {
	for _, c := range h.Plan.Cells {
		if c.Arm == arm {
			return c
		}
	}
	return plan.Cell{}
}

func (h *Host) model(arm string) string { return h.cell(arm).Request.Model }

func (h *Host) baseURL(arm string) string {
	if url, ok := h.BaseURLs[arm]; ok {
		return url
	}
	return h.cell(arm).Request.BaseURL
}

func (h *Host) ask(ctx context.Context, baseURL, token, path string) record.Answer {
	client, err := engine.NewClient(engine.ClientOptions{BaseURL: baseURL, Token: token})
	if err != nil {
		return record.Answer{Path: path, Error: engine.ErrProtocol}
	}
	return client.Ask(ctx, h.anchor, "lifecycle", path)
}

// answers says whether anything answers at an arm's endpoint.
func (h *Host) answers(ctx context.Context, arm string) bool {
	return h.ask(ctx, h.baseURL(arm), h.Token, "/v1/models").HTTPStatus != nil
}

// serves says whether an arm's endpoint serves the arm's model.
func (h *Host) serves(ctx context.Context, arm string) bool {
	return lists(h.ask(ctx, h.baseURL(arm), h.Token, "/v1/models"), h.model(arm))
}

func lists(a record.Answer, model string) bool {
	models, reason := engine.Models(a.Body)
	if a.Error != "" || reason != "" {
		return false
	}
	for _, m := range models {
		if m.ID == model {
			return true
		}
	}
	return false
}

// identity is what the restored service is compared with: what the engine says,
// and its container where one is named. Process start is left out: a restored
// service is another process.
func (h *Host) identity(ctx context.Context, arm string) map[string]string {
	found := map[string]string{}
	ask := func(path string) record.Answer { return h.ask(ctx, h.baseURL(arm), h.Token, path) }
	for _, a := range engine.AskIdentity(ask) {
		for _, f := range engine.AnswerFacts(a) {
			if f.Value != nil {
				found[f.Fact] = *f.Value
			}
		}
	}
	if name := h.Containers[arm]; name != "" {
		if facts, err := campaign.ContainerFacts(h.Socket, name); err == nil {
			delete(facts, campaign.FactRestartCount)
			maps.Copy(found, facts)
		}
	}
	return found
}

// changedFiles lists the positions of the named files that do not have their
// digest.
func (h *Host) changedFiles() (changed []int) {
	for i, f := range h.file.Files {
		if sum, err := fileSHA256(f.Path); err != nil || sum != f.SHA256 {
			changed = append(changed, i)
		}
	}
	return changed
}

func fileSHA256(path string) (sum string, err error) {
	in, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	hash := sha256.New()
	if _, err := io.Copy(hash, in); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
