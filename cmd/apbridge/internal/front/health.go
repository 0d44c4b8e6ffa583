package front

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"golang.org/x/sync/errgroup"
)

const (
	// fresh is how long an agent's health is cached.
	fresh = 30 * time.Second
	// patience bounds the checks of all agents for one visitor.
	patience = 2 * time.Second
	// atOnce bounds the concurrent checks for a visitor.
	atOnce = 8
)

// State is the state of an agent.
type State string

const (
	Answers State = "answers"
	Silent  State = "does not answer"
	Unfit   State = "cannot be used" // a server answers, but not like the agent
	Unknown State = "not known yet"
)

// Health is the last known state of an agent.
type Health struct {
	State   State
	Message string    // readable reason, or a description of the agent
	Asked   time.Time // zero if never
	Took    time.Duration
}

// Checkups checks the health of agents. It checks each agent at most once in fresh for all visitors together, so many
// visitors do not burden an agent. It is safe for concurrent use.
type Checkups struct {
	now   func() time.Time
	mu    sync.Mutex
	known map[string]*checkup
}

// checkup is the newest check of an agent.
type checkup struct {
	agent Agent // a new agent with the same name is checked again
	begun time.Time
	found Health
}

// NewCheckups returns Checkups without any results.
func NewCheckups() *Checkups { return &Checkups{now: time.Now, known: map[string]*checkup{}} }

// Of returns the health of agents by name. It waits for necessary checks, at most for patience. For an agent that
// another visitor is checking, it returns the previous result.
func (h *Checkups) Of(ctx context.Context, agents map[string]Agent) map[string]Health {
	// The checks continue if the visitor leaves.
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer stop()
	var asking errgroup.Group
	asking.SetLimit(atOnce)
	for _, c := range h.due(agents) {
		asking.Go(func() error {
			begun := time.Now()
			found := ask(ctx, c.agent)
			found.Took = time.Since(begun)
			h.mu.Lock()
			defer h.mu.Unlock()
			found.Asked = h.now()
			c.found = found
			return nil
		})
	}
	_ = asking.Wait() // none of them returns an error
	return h.found(agents)
}

// due returns the agents to check now and marks them as checked.
func (h *Checkups) due(agents map[string]Agent) (list []*checkup) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	for name, agent := range agents {
		c := h.known[name]
		if c == nil || c.agent != agent {
			c = &checkup{agent: agent, found: Health{State: Unknown, Message: "It is being checked. Reload in a moment."}}
			h.known[name] = c
		}
		if c.begun.IsZero() || now.Sub(c.begun) >= fresh {
			c.begun = now
			list = append(list, c)
		}
	}
	return list
}

func (h *Checkups) found(agents map[string]Agent) map[string]Health {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make(map[string]Health, len(agents))
	for name := range agents {
		all[name] = h.known[name].found
	}
	return all
}

// ask checks an agent once, as doctor does.
func ask(ctx context.Context, agent Agent) Health {
	b, _, err := agent.Backend(ctx)
	if err != nil {
		return silent(ctx, err)
	}
	if probe, ok := b.(adapter.Prober); ok {
		if err := probe.Probe(ctx); err != nil {
			return silent(ctx, err)
		}
	}
	about, ok := b.(adapter.Profiled)
	if !ok {
		return Health{State: Answers}
	}
	if about.Profile() == "" {
		return Health{State: Unfit, Message: "A server answers at the agent's URL, but not like such an agent. Run apbridge doctor for details."}
	}
	return Health{State: Answers, Message: about.Profile()}
}

// silent describes a failure for callers that may use the agent.
func silent(ctx context.Context, err error) Health {
	if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) {
		return Health{State: Silent, Message: "It did not answer within " + patience.String() + "."}
	}
	e := mapping.Classify(err)
	switch {
	case e.Class == mapping.Upstream && e.Code != mapping.CodeUpstreamUnreachable:
		return Health{State: Unfit, Message: e.Message}
	case e.Class != mapping.Internal:
		return Health{State: Silent, Message: e.Message}
	}
	return Health{State: Silent, Message: "It could not be checked; the log of the bridge may have the reason."}
}
