package engine

import (
	"context"
	"sync/atomic"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
)

// Agent is one configured agent: its settings, its backend, its slots. Safe for concurrent use.
type Agent struct {
	Name   string
	Config config.Agent

	dialled adapter.Backend
	found   atomic.Pointer[found]
	slots   *slots // shared with the Agent that it replaces (Engine.Reconfigure)
}

// found is a backend whose dialect is known.
type found struct {
	backend adapter.Backend
	traits  adapter.Traits
}

// resolver is a backend that has to ask which dialect the agent speaks.
type resolver interface {
	Resolve(ctx context.Context) (adapter.Backend, error)
}

// NewAgent returns an Agent of a dialled backend.
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

// Known returns the backend's traits if they are known without asking the agent.
func (a *Agent) Known() (adapter.Traits, bool) {
	if f := a.found.Load(); f != nil {
		return f.traits, true
	}
	return adapter.Traits{}, false
}

// Dialect returns the dialect that the agent speaks; "" while that has to be asked.
func (a *Agent) Dialect() string {
	if auto, asks := a.dialled.(interface{ Dialect() string }); asks {
		return auto.Dialect()
	}
	return a.Config.Dialect
}

// Backend returns the agent's backend and traits, asking the agent for its dialect at first use. It fails with
// upstream_unreachable while it is away.
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

func (a *Agent) tryAcquire() bool { return a.slots.tryAcquire() }

func (a *Agent) release() { a.slots.release() }

// Slots returns how many runs of the agent this process executes, and how many it may.
func (a *Agent) Slots() (used, all int) { return a.slots.state() }
