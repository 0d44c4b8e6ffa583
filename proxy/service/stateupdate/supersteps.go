package stateupdate

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/artifact"
)

// Brought is the initial history of a new thread.
type Brought struct {
	Events []mapping.Event
	Files  []artifact.FileWrite
	Links  []mapping.Link // the agent that created the states
}

// Supersteps returns the initial states of a new thread and the files of the newest one, including those in messages
// unless the thread's agent is a graph. If the agent is a graph, it creates the states itself, so that runs continue at
// the right nodes. If it cannot, the bridge creates them.
func (x *Updater) Supersteps(ctx context.Context, t mapping.Thread, agent string, list []adapter.Superstep) (made Brought, err error) {
	if len(list) == 0 {
		return made, nil
	}
	if err := x.checkSupersteps(list); err != nil {
		return made, err
	}
	link, states, refused := x.makeStates(ctx, t.ID, agent, list)
	switch {
	case len(states) > 0:
		if made, err = x.agentStates(t.ID, link, states); err != nil {
			x.Engine.DiscardUpstreamThread(ctx, link)
		}
		return made, err
	case refused != nil && (jumps(list) || !cannotUpdate(refused)):
		return made, refused
	case jumps(list):
		return made, mapping.Errorf(mapping.Invalid, mapping.CodeNotSupported,
			"A superstep's command may contain goto or resume only if metadata.graph_id of the thread names a graph that can execute them. Send only update, or name the graph.")
	}
	return x.reduced(t.ID, agent, list)
}

// makeStates lets the agent create the states of a thread. It returns none if the agent is not a graph that can do so, or
// if the principal may not use it: the name comes from the thread's metadata, which a client may change at any time.
func (x *Updater) makeStates(ctx context.Context, threadID, name string, list []adapter.Superstep) (none mapping.Link, _ []adapter.State, _ error) {
	agent, ok := x.Engine.Agent(name)
	if !ok || !mapping.PrincipalOf(ctx).May(name) {
		return none, nil, nil
	}
	b, _, err := agent.Backend(ctx)
	if err != nil {
		return none, nil, err
	}
	m, ok := b.(adapter.StateMaker)
	if !ok {
		return none, nil, nil
	}
	return m.MakeStates(ctx, copyAt(mapping.Link{Agent: agent.Name}, threadID), list)
}

// copyAt returns the agent's copy of a thread.
func copyAt(link mapping.Link, threadID string) adapter.Copy {
	return adapter.Copy{Link: link, ThreadID: threadID, Agent: link.Agent, AssistantID: mapping.AssistantID(link.Agent)}
}

// jumps reports whether a superstep has a goto or a resume.
func jumps(list []adapter.Superstep) bool {
	return slices.ContainsFunc(list, func(s adapter.Superstep) bool {
		return slices.ContainsFunc(s.Updates, func(u adapter.StateUpdate) bool { return u.Command != nil })
	})
}

func (x *Updater) agentStates(threadID string, link mapping.Link, states []adapter.State) (made Brought, err error) {
	fold, err := state.NewFold(nil)
	if err != nil {
		return made, err
	}
	for _, st := range states {
		ev, next, err := agentEvent(fold, st, link.Remote, st.Step, x.Store.Now())
		if err != nil {
			return made, err
		}
		link.LocalCheckpoint = ev.Head.Checkpoint.ID
		made.Events, fold = append(made.Events, ev), next
	}
	made.Files, made.Links = statedFiles(threadID, nil, fold).writes, []mapping.Link{link}
	return made, nil
}

// reduced returns the states as computed by the bridge.
func (x *Updater) reduced(threadID, agent string, list []adapter.Superstep) (made Brought, err error) {
	fold, err := state.NewFold(nil)
	if err != nil {
		return made, err
	}
	var all []json.RawMessage
	step := -1
	for _, super := range list {
		for _, u := range super.Updates {
			ev, next, said, err := updateEvent(fold, u, step, x.Store.Now())
			if err != nil {
				return made, err
			}
			if err := x.checkStatedFor(agent, u); err != nil {
				return made, err
			}
			made.Events, fold, all = append(made.Events, ev), next, append(all, said...)
			step++
		}
	}
	made.Files = statedFiles(threadID, nil, fold).writes
	if x.isGraph(agent) {
		return made, nil
	}
	attached, err := x.attached(threadID, all, fold, func() ([]mapping.Artifact, error) { return nil, nil })
	made.Files = append(made.Files, attached...)
	return made, err
}

// begin requests the thread's graph to create its first state, so that runs continue after the node.
func (u *attempt) begin(ctx context.Context) (mapping.Checkpoint, error) {
	if len(u.asked.Then) > 0 {
		return u.reduce(ctx)
	}
	one := []adapter.Superstep{{Updates: []adapter.StateUpdate{u.asked}}}
	link, states, err := u.makeStates(ctx, u.thread.ID, rule.AgentNamed(u.thread.Metadata), one)
	switch {
	case err != nil && !cannotUpdate(err):
		return mapping.Checkpoint{}, err
	case len(states) == 0:
		return u.reduce(ctx)
	}
	made, err := u.logAgentState(ctx, link, states[len(states)-1], "", store.StateOptions{})
	if err != nil && !errors.Is(err, store.ErrUnknown) {
		u.Engine.DiscardUpstreamThread(ctx, link)
	}
	return made, err
}

// checkSupersteps refuses a history with too many updates. An update takes as little as 40 bytes of a request, but each
// becomes a checkpoint and an event, all in one transaction.
func (x *Updater) checkSupersteps(list []adapter.Superstep) error {
	states, files := 0, 0
	for _, super := range list {
		for _, u := range super.Updates {
			if err := x.check(u); err != nil {
				return err
			}
			states, files = states+1, files+filesOf(u)
		}
	}
	if most := x.Engine.Config().Limits.MaxSupersteps; most > 0 && states > most {
		return mapping.Errorf(mapping.Invalid, "too_many_states", "The supersteps contain %d updates, but limits.max_supersteps of this bridge allows only %d. Leave out the oldest.", states, most)
	}
	return rule.CheckFileCount(files, x.Engine.Config().Limits.MaxFilesPerRequest)
}

// filesOf counts the files of an update.
func filesOf(u adapter.StateUpdate) (n int) {
	for _, values := range u.All() {
		n += rule.CountFiles(values)
	}
	return n
}
