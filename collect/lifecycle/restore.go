package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"assay/collect/campaign"
	"assay/collect/engine"
	"assay/collect/record"
	"assay/collect/stream"
)

// Outcomes of a check.
const (
	checkPass         = "pass"
	checkFail         = "fail"
	checkNotEvaluable = "not_evaluable"
)

// postconditions are the checks after a restoration, in the order of the plan's
// restoration.postconditions.
var postconditions = []struct {
	name  string
	check func(h *Host, ctx context.Context, start map[string]string) (outcome, detail string)
}{
	{"candidate_absent", (*Host).candidateAbsent},
	{"same_container", (*Host).sameContainer},
	{"health_and_identity", (*Host).sameIdentity},
	{"direct_and_primary_requests", (*Host).requests},
	{"primary_readmitted", (*Host).readmitted},
	{"files_unchanged", (*Host).filesUnchanged},
}

// Restore implements campaign.Lifecycle. start is what the incumbent was before
// the host was changed. A command that fails does not end the work: the checks
// decide.
func (h *Host) Restore(ctx context.Context, start map[string]string, note func(record.Entry) error) (ok bool, err error) {
	for _, arm := range h.Plan.Arms() {
		if arm == h.file.Incumbent || !h.answers(ctx, arm) {
			continue
		}
		if err := note(h.file.Arms[arm].Unload.run(ctx, "unload "+arm, h.Token)); err != nil {
			return false, err
		}
	}
	if !h.serves(ctx, h.file.Incumbent) {
		if err := note(h.file.Restore.run(ctx, "restore "+h.file.Incumbent, h.Token)); err != nil {
			return false, err
		}
		_ = h.await(ctx, h.file.Incumbent, h.file.Restore.BoundSeconds) // the checks say whether it serves
	}
	ok = true
	for i, p := range postconditions {
		outcome, detail := p.check(h, ctx, start)
		e := record.Entry{Kind: record.EntryRestoreCheck, Rule: p.name, Outcome: outcome, Detail: detail}
		if i < len(h.Plan.Restoration.Postconditions) {
			e.Facts = map[string]string{"postcondition": h.Plan.Restoration.Postconditions[i]}
		}
		if err := note(e); err != nil {
			return false, err
		}
		ok = ok && outcome != checkFail
	}
	return ok, nil
}

// verdict is pass or fail with the sentence of the case.
func verdict(pass bool, well, badly string) (string, string) {
	if pass {
		return checkPass, well
	}
	return checkFail, badly
}

func (h *Host) candidateAbsent(ctx context.Context, _ map[string]string) (string, string) {
	var there []string
	for _, arm := range h.Plan.Arms() {
		if arm != h.file.Incumbent && h.answers(ctx, arm) {
			there = append(there, arm)
		}
	}
	return verdict(len(there) == 0, "no other arm answers", "still answering: "+strings.Join(there, ", "))
}

func (h *Host) sameContainer(ctx context.Context, start map[string]string) (string, string) {
	name := h.Containers[h.file.Incumbent]
	if name == "" || start[campaign.FactContainerID] == "" {
		return checkNotEvaluable, "not visible: no container was named with --docker, or it could not be read at the start"
	}
	now, err := campaign.ContainerFacts(h.Socket, name)
	if err != nil {
		return checkFail, "the container cannot be read any more"
	}
	var changed []string
	for _, fact := range []string{campaign.FactContainerID, campaign.FactImage} {
		if now[fact] != start[fact] {
			changed = append(changed, fact)
		}
	}
	return verdict(len(changed) == 0, "container id and image are those of the start", "changed: "+strings.Join(changed, ", "))
}

func (h *Host) sameIdentity(ctx context.Context, start map[string]string) (string, string) {
	if a := h.ask(ctx, h.baseURL(h.file.Incumbent), h.Token, "/health"); a.HTTPStatus == nil || *a.HTTPStatus != 200 {
		return checkFail, "the health check does not pass"
	}
	now := h.identity(ctx, h.file.Incumbent)
	var changed []string
	for _, fact := range slices.Sorted(maps.Keys(start)) {
		if fact != campaign.FactContainerID && fact != campaign.FactImage && now[fact] != start[fact] {
			changed = append(changed, fact)
		}
	}
	if len(start) == 0 && now[engine.FactServedID] != h.model(h.file.Incumbent) {
		changed = append(changed, engine.FactServedID)
	}
	return verdict(len(changed) == 0, "healthy, and what the engine says is as at the start", "changed: "+strings.Join(changed, ", "))
}

func (h *Host) requests(ctx context.Context, _ map[string]string) (string, string) {
	text, reason := h.chat(ctx, h.baseURL(h.file.Incumbent), h.Token, h.model(h.file.Incumbent), true)
	var object map[string]any
	if reason == "" && json.Unmarshal([]byte(text), &object) != nil {
		reason = "the answer is no JSON object"
	}
	if reason != "" {
		return checkFail, "direct JSON request: " + reason
	}
	if h.file.Primary == nil {
		return checkNotEvaluable, "the direct JSON request is answered; the lifecycle file names no primary alias"
	}
	if _, reason := h.chat(ctx, h.file.Primary.BaseURL, h.primaryToken(), h.file.Primary.Model, false); reason != "" {
		return checkFail, "authenticated request to the primary alias: " + reason
	}
	return checkPass, "the direct JSON request and the authenticated one to the primary alias are answered"
}

func (h *Host) readmitted(ctx context.Context, _ map[string]string) (string, string) {
	if h.file.Primary == nil {
		return checkNotEvaluable, "the lifecycle file names no primary alias"
	}
	listed := lists(h.ask(ctx, h.file.Primary.BaseURL, h.primaryToken(), "/v1/models"), h.file.Primary.Model)
	return verdict(listed, "the primary alias is listed", "the primary alias is not listed")
}

func (h *Host) filesUnchanged(context.Context, map[string]string) (string, string) {
	if len(h.file.Files) == 0 {
		return checkNotEvaluable, "the lifecycle file names no files"
	}
	changed := h.changedFiles()
	return verdict(len(changed) == 0, fmt.Sprintf("%d files have their digests", len(h.file.Files)),
		fmt.Sprintf("%d of %d files do not have their digests", len(changed), len(h.file.Files)))
}

func (h *Host) primaryToken() string {
	if h.file.Primary.APIKeyEnv == "" {
		return ""
	}
	return h.Getenv(h.file.Primary.APIKeyEnv)
}

// chatBound is the longest answer that is waited for.
const chatBound = 5 * time.Minute

// chat asks one question without a stream and returns the visible answer, or
// why there is none.
func (h *Host) chat(ctx context.Context, baseURL, token, model string, asJSON bool) (text, reason string) {
	body := map[string]any{"model": model, "messages": []any{map[string]any{"role": "user", "content": "Answer with a JSON object that has the member status with the value ready, and nothing else."}}}
	if asJSON {
		body["response_format"] = map[string]any{"type": "json_object"}
	}
	if n := h.cell(h.file.Incumbent).Request.MaxTokens; n != nil {
		body["max_tokens"] = *n
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		return "", "the question cannot be encoded"
	}
	ctx, cancel := context.WithTimeout(ctx, chatBound)
	defer cancel()
	res := stream.Do(ctx, stream.Request{URL: strings.TrimRight(baseURL, "/") + "/chat/completions", Body: encoded, Token: token, Accept: "application/json", IdleLimit: chatBound})
	if res.HTTPStatus == nil {
		return "", string(res.End)
	}
	if *res.HTTPStatus != 200 {
		return "", fmt.Sprintf("status %d", *res.HTTPStatus)
	}
	var answer struct {
		Choices []struct {
			Message struct {
				Content string `json:"content"`
			} `json:"message"`
		} `json:"choices"`
	}
	if json.Unmarshal(res.Body, &answer) != nil || len(answer.Choices) == 0 || answer.Choices[0].Message.Content == "" {
		return "", "no visible answer"
	}
	return answer.Choices[0].Message.Content, ""
}
