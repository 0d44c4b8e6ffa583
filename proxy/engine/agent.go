package engine

import (
	"context"
	"iter"
	"sync/atomic"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
)

// Agent is one configured agent with its backend and slots. Safe for concurrent use.
type Agent struct {
	Name   string
	Config config.Agent

	dialled adapter.Backend
	found   atomic.Pointer[found]
	slots   *slots // shared with the Agent that this one replaces (Engine.Reconfigure)
}

// found is a backend of a known dialect.
type found struct {
	backend adapter.Backend
	traits  adapter.Traits
}

// resolver is a backend that has to query the agent for its dialect.
type resolver interface {
	Resolve(ctx context.Context) (adapter.Backend, error)
}

// NewAgent returns an Agent for a connected backend.
func NewAgent(name string, cfg config.Agent, b adapter.Backend) *Agent {
	a := &Agent{Name: name, Config: cfg, dialled: b, slots: newSlots(cfg.Concurrency)}
	if _, asks := b.(resolver); !asks {
		a.found.Store(&found{b, traitsOf(b)})
	}
	return a
}

func traitsOf(b adapter.Backend) adapter.Traits {
	if t, ok := b.(adapter.Traited); ok {
		return t.Traits()
	}
	return adapter.Traits{Stepping: mapping.SteppingFree}
}

// Known returns the backend's traits if they are known without querying the agent.
func (a *Agent) Known() (adapter.Traits, bool) {
	if f := a.found.Load(); f != nil {
		return f.traits, true
	}
	return adapter.Traits{}, false
}

// Dialect returns the dialect of the agent, or "" if it is not known yet.
func (a *Agent) Dialect() string {
	if auto, asks := a.dialled.(interface{ Dialect() string }); asks {
		return auto.Dialect()
	}
	return a.Config.Dialect
}

// Backend returns the agent's backend and traits. The first call may query the agent for its dialect. It fails with
// upstream_unreachable if the agent is not reachable.
func (a *Agent) Backend(ctx context.Context) (adapter.Backend, adapter.Traits, error) {
	if f := a.found.Load(); f != nil {
		return f.backend, f.traits, nil
	}
	b, err := a.dialled.(resolver).Resolve(ctx)
	if err != nil {
		return nil, adapter.Traits{}, err
	}
	f := &found{b, traitsOf(b)}
	a.found.Store(f)
	return f.backend, f.traits, nil
}

// Stepping returns the mode in which v1 clients pull this agent's steps.
func (a *Agent) Stepping(t adapter.Traits) mapping.Stepping {
	if m := a.Config.Stepping.Mode; m != "" && m != "auto" {
		return mapping.Stepping(m)
	}
	return t.Stepping
}

// excludes reports whether files at a path never become artifacts (agents.*.artifacts.exclude).
func (a *Agent) excludes(path string) bool { return rule.Excluded(path, a.Config.Artifacts.Exclude) }

// Slots returns how many runs of the agent this process executes, and how many it may.
func (a *Agent) Slots() (used, all int) { return a.slots.state() }

// acquireIn takes a slot. It returns false if none became free within most.
func (a *Agent) acquireIn(ctx context.Context, most time.Duration) bool {
	ctx, stop := context.WithTimeout(ctx, most)
	defer stop()
	return a.slots.acquire(ctx) == nil
}

// comparesFiles reports whether the agent is known to have files that can be compared.
func (a *Agent) comparesFiles() bool {
	f := a.found.Load()
	if f == nil {
		return false
	}
	_, ok := f.backend.(adapter.FileComparer)
	return ok
}

// missing returns a stand-in for an agent that is no longer configured, so that its runs end like any other.
func missing(name string) *Agent { return NewAgent(name, config.DefaultAgent(), absent(name)) }

// gone returns the error for an agent that is no longer in the configuration.
func gone(name string) error {
	return mapping.Errorf(mapping.NotFound, mapping.CodeAgentNotFound, "Agent %s is no longer in the configuration.", name)
}

// absent is the backend of missing.
type absent string

func (name absent) Run(context.Context, *adapter.Assignment) iter.Seq2[mapping.Event, error] {
	return func(yield func(mapping.Event, error) bool) {
		yield(mapping.Event{}, mapping.Errorf(mapping.NotFound, mapping.CodeAgentNotFound,
			"Agent %s is no longer in the configuration, so this run cannot continue.", string(name)))
	}
}
