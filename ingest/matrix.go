package ingest

import (
	"encoding/json"

	"assay/collect/plan"
	"assay/collect/record"
	"assay/ingest/store"
)

// writeArms adds the arms in the order of the matrix. What serves an arm is
// the plan's word; what the endpoint is called is the run's.
func (l *loader) writeArms(tx *store.Tx) error {
	endpoints := map[string]record.RunArm{}
	if l.campaign.run != nil {
		for _, a := range l.campaign.run.Arms {
			endpoints[a.Arm] = a
		}
	}
	return tx.Append("arms", func(add func(...any) error) error {
		for i, arm := range l.campaign.plan.Arms() {
			m := l.campaign.plan.Models[arm]
			var endpoint, loopback any
			if e, ok := endpoints[arm]; ok {
				endpoint, loopback = e.Endpoint, e.Loopback
			}
			if err := add(l.campaign.plan.CampaignID, arm, int64(i), textOrNull(m.Model), textOrNull(m.Engine), textOrNull(m.Repository),
				textOrNull(m.Revision), endpoint, loopback); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeCells adds the planned cells in plan order.
func (l *loader) writeCells(tx *store.Tx) error {
	return tx.Append("cells", func(add func(...any) error) error {
		for i, c := range l.campaign.plan.Cells {
			r := c.Request
			if err := add(l.campaign.plan.CampaignID, c.Arm, c.ID, int64(i), c.Workload, c.PlannedContextTokens, c.Concurrency, c.Requests,
				c.Seed, c.ExcludedWarmup, c.OuterTimeoutSeconds, r.TimeoutSeconds, store.Null(r.MaxTokens), maxModelLen(r), r.ResponseWords,
				textOrNull(r.ControlledOutputPolicy), store.Null(r.ReasoningEffort), numberText(r.Temperature), numberText(r.TopP),
				textOrNull(r.PromptCacheMode), r.RequestCanaries); err != nil {
				return err
			}
		}
		return nil
	})
}

func maxModelLen(r plan.RequestControls) any {
	if r.MaxModelLen == 0 {
		return nil
	}
	return r.MaxModelLen
}

func numberText(n *json.Number) any {
	if n == nil {
		return nil
	}
	return n.String()
}
