package remote

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/api"
	"github.com/apbridge/apbridge/mapping/rule"
	"golang.org/x/sync/errgroup"
)

// States of a run that its status does not express.
const (
	stateQueued  = "queued"
	stateRunning = "running"
	stateParked  = "parked"
	stateWaiting = "waiting"
)

// states lists all states of a run, each with its status in api.RunFilter.
var states = []struct{ name, status string }{
	{stateQueued, "pending"}, {stateRunning, "pending"}, {stateParked, "pending"}, {stateWaiting, "interrupted"},
	{"interrupted", "interrupted"}, {"success", "success"}, {"error", "error"}, {"timeout", "timeout"},
}

func stateNames() (names []string) {
	for _, s := range states {
		names = append(names, s.name)
	}
	return names
}

// stateOf returns the state of a run from its explanation.
func stateOf(e api.Explanation) string {
	switch {
	case e.Status == "pending":
		return stateQueued
	case e.Status == "running" && e.Reason == "parked":
		return stateParked
	case e.Status == "interrupted" && e.Reason == "question":
		return stateWaiting
	}
	return e.Status
}

// found is a run with its state.
type found struct {
	api.Run
	state string
	why   string // a sentence, if the run waits
}

// MarshalJSON returns the run in the bridge's form with its state.
func (f found) MarshalJSON() ([]byte, error) {
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(f.Whole, &members); err != nil {
		return nil, err
	}
	state, err := json.Marshal(f.state)
	if err != nil {
		return nil, err
	}
	members["state"] = state
	return json.Marshal(members)
}

// explainedAtOnce is the number of concurrent explanations for a list.
const explainedAtOnce = 8

// withStates adds the states that the statuses of a list do not express.
func withStates(ctx context.Context, c *api.Client, list []api.Run) ([]found, error) {
	all := make([]found, len(list))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(explainedAtOnce)
	for i, r := range list {
		all[i] = found{Run: r, state: r.Status}
		if r.Status != "pending" && r.Status != "running" && r.Status != "interrupted" {
			continue
		}
		g.Go(func() error {
			e, err := c.Explain(ctx, r.ID)
			if err == nil {
				all[i].state, all[i].why = stateOf(e), whyOf(e)
			}
			if api.NotFound(err) { // the run has been deleted
				err = nil
			}
			return err
		})
	}
	return all, g.Wait()
}

// whyOf returns the question that a run asks, or else the reason of its state.
func whyOf(e api.Explanation) string {
	if list, _ := e.Questions(); len(list) > 0 {
		return rule.QuestionText(list[0].Value)
	}
	return e.Message
}

// runSearch selects runs for a list.
type runSearch struct {
	thread, agent, state string
	limit                int
}

// pageOfRuns is the page size if not all runs of a page may match.
const pageOfRuns = 100

// runs returns the newest matching runs.
func (s runSearch) runs(ctx context.Context, c *api.Client) (all []found, err error) {
	f := api.RunFilter{Thread: s.thread, Agent: s.agent, Limit: min(s.limit, pageOfRuns)}
	for _, known := range states {
		if known.name == s.state {
			f.Status, f.Limit = known.status, pageOfRuns
		}
	}
	for len(all) < s.limit {
		list, err := c.Runs(ctx, f)
		if err != nil {
			return nil, err
		}
		page, err := withStates(ctx, c, list)
		if err != nil {
			return nil, err
		}
		for _, r := range page {
			if cmp.Or(s.state, r.state) == r.state && len(all) < s.limit {
				all = append(all, r)
			}
		}
		if f.Offset += len(list); len(list) < f.Limit {
			break
		}
	}
	return all, nil
}
