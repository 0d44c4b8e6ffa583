package remote

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/api"
	"github.com/apbridge/apbridge/mapping/rule"
	"golang.org/x/sync/errgroup"
)

// States of a run that its status does not tell.
const (
	stateQueued  = "queued"
	stateRunning = "running"
	stateParked  = "parked"
	stateWaiting = "waiting"
)

// states are all that a run may be in, each with its status in api.RunFilter.
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

// stateOf is the state of a run that was explained.
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
	why   string // in a sentence, of one that waits
}

// MarshalJSON returns the run as the bridge shows it, with its state.
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

// explainedAtOnce is how many runs of a list are explained at a time.
const explainedAtOnce = 8

// withStates asks for what the statuses of a list do not tell.
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
			if api.NotFound(err) { // removed meanwhile
				err = nil
			}
			return err
		})
	}
	return all, g.Wait()
}

// whyOf is the question that a run waits with, else why it is where it is.
func whyOf(e api.Explanation) string {
	if list, _ := e.Questions(); len(list) > 0 {
		return rule.QuestionText(list[0].Value)
	}
	return e.Message
}

// runSearch is which runs are listed.
type runSearch struct {
	thread, agent, state string
	limit                int
}

// pageOfRuns is how many runs are asked for at a time where not all of them are wanted.
const pageOfRuns = 100

// runs are the newest runs that the search finds.
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
