package campaign

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"assay/collect/engine"
	"assay/collect/plan"
	"assay/collect/record"
	"assay/collect/sample"
)

// armState is what a campaign knows of one arm.
type armState struct {
	// answered is set once the arm has given a response head: from then on a
	// refused connection means that its engine is gone.
	answered atomic.Bool
	entered  bool // smoke check done in this process
	noted    bool // the identity is in the journal
	identity identity
	protocol protocol

	container *container // nil when none was named
	log       *engineLog // nil when none was named
	group     sample.Group
	cgroup    *sample.Cgroup // reads group; nil before the first attempt
}

func (p protocol) facts() map[string]string {
	facts := map[string]string{}
	for name, value := range map[string]string{"reasoning_field": p.reasoning, "http_version": p.http, "usage": p.usage} {
		if value != "" {
			facts[name] = value
		}
	}
	return facts
}

func protocolOf(facts map[string]string) protocol {
	return protocol{reasoning: facts["reasoning_field"], http: facts["http_version"], usage: facts["usage"]}
}

// newArms makes the state of every arm; seen is what an earlier process knew.
func (r *run) newArms(seen history) {
	r.arms = map[string]*armState{}
	for _, arm := range r.Plan.Arms() {
		a := &armState{identity: identity{factPlanDigest: r.digest}, protocol: seen.protocol[arm]}
		if known, ok := seen.identity[arm]; ok {
			a.identity.merge(known)
			a.noted = true
		}
		if name := r.Containers[arm]; name != "" {
			a.container = &container{socket: r.DockerSocket, name: name}
		}
		if path := r.EngineLogs[arm]; path != "" {
			a.log = &engineLog{path: path}
		}
		r.arms[arm] = a
	}
}

// readersOf are the samplers for an arm. With a container its control group is
// looked up again before each attempt, since a container that was started anew
// has another.
func (r *run) readersOf(arm string) *readers {
	a := r.arms[arm]
	group := sample.NoGroup(sample.ReasonNotConfigured)
	if a.container != nil {
		group = a.container.group(r.proc)
	}
	if a.cgroup == nil || !reflect.DeepEqual(group, a.group) {
		a.group, a.cgroup = group, sample.NewCgroup(sample.MountsOf(r.proc, r.cgroupBase), group)
	}
	return &readers{gpu: r.gpu, host: r.host, cgroup: a.cgroup}
}

// containerFacts are what the Docker Engine says about the arm's container;
// nothing where none was named or it is not visible.
func (a *attempt) containerFacts() identity {
	if a.arm.container == nil {
		return nil
	}
	facts, err := ContainerFacts(a.arm.container.socket, a.arm.container.name)
	if err != nil {
		a.monitor.problem("container_not_visible", "docker", err.Error())
		return nil
	}
	return facts
}

// containerDeaths are the signs of death that only the container shows.
func (a *attempt) containerDeaths() []string {
	if a.arm.container == nil {
		return nil
	}
	state, err := a.arm.container.inspect()
	switch {
	case err != nil:
		return nil
	case state.State.OOMKilled:
		return []string{"the engine's container was killed for memory"}
	case state.State.Status == "exited" || state.State.Status == "dead":
		return []string{fmt.Sprintf("the engine's container has exited with code %d", state.State.ExitCode)}
	}
	return nil
}

// serves says whether an endpoint's model list has the cell's model. A list
// that says nothing clear is no objection: the requests will show.
func serves(a record.Answer, model string) (ok bool, others string) {
	if a.Error != "" {
		return true, ""
	}
	models, reason := engine.Models(a.Body)
	if reason != "" || len(models) == 0 || slices.ContainsFunc(models, func(m engine.Model) bool { return m.ID == model }) {
		return true, ""
	}
	return false, models[0].ID
}

// reach asks the cell's arm for its models.
func (o Options) reach(ctx context.Context, c plan.Cell, anchor record.Anchor) error {
	client, err := o.client(c)
	if err != nil {
		return err
	}
	answer := client.Ask(ctx, anchor, phaseBefore, "/v1/models")
	if answer.HTTPStatus == nil {
		return fmt.Errorf("%w: arm %s, /v1/models: %s; start its engine, or name another with --base-url %s=URL",
			ErrUnreachable, c.Arm, answer.Error, c.Arm)
	}
	if ok, others := serves(answer, c.Request.Model); !ok {
		return fmt.Errorf("%w: arm %s serves %s, the plan wants %s; load it, or name another endpoint with --base-url %s=URL",
			ErrWrongModel, c.Arm, others, c.Request.Model, c.Arm)
	}
	return nil
}

// awaitArm waits until an arm's endpoint serves its model, since the arms may
// share one GPU and be loaded one after the other. It gives up at the request
// cutoff.
func (r *run) awaitArm(ctx context.Context, c plan.Cell) {
	for ctx.Err() == nil && r.Clock().UnixNs < r.clock.CutoffUnixNs {
		if r.reach(ctx, c, r.anchor) == nil {
			return
		}
		r.Progress.Waiting(fmt.Sprintf("arm %s to be loaded: it must serve %s", c.Arm, c.Request.Model))
		pause(ctx, 2*time.Second)
	}
}
