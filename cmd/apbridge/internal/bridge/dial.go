package bridge

import (
	"fmt"
	"reflect"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/proxy/engine"
	"go.uber.org/zap"
)

// dialer creates the agents of a configuration.
type dialer struct {
	dialects adapter.Dialects
	log      *zap.Logger
	hop      string         // name of this process in mapping.HopsHeader
	calls    adapter.Meter  // receives the results of calls to agents
	tracer   adapter.Tracer // may be nil
	record   recording
}

// staying returns a function that reports whether a configuration leaves an agent unchanged, in its keys and its files.
func staying(cfg, before *config.Config, renewed func(name string) bool) func(name string) bool {
	same := sameForAgents(cfg.Limits, before.Limits)
	return func(name string) bool {
		return same && reflect.DeepEqual(cfg.Agents[name], before.Agents[name]) && !renewed(name)
	}
}

// dialAll creates the agents of a configuration. Those of before are kept if they stay.
func (d *dialer) dialAll(cfg *config.Config, before map[string]*engine.Agent, stays func(name string) bool) (map[string]*engine.Agent, error) {
	next := make(map[string]*engine.Agent, len(cfg.Agents))
	for name := range cfg.Agents {
		if agent := before[name]; agent != nil && stays(name) {
			next[name] = agent
			continue
		}
		agent, err := d.dial(name, cfg)
		if err != nil {
			return nil, err
		}
		next[name] = agent
	}
	return next, nil
}

// sameForAgents reports whether the limits for calls to agents are equal.
func sameForAgents(a, b config.Limits) bool {
	a.Tenant, a.Tenants, b.Tenant, b.Tenants = config.Allowance{}, nil, config.Allowance{}, nil
	return reflect.DeepEqual(a, b)
}

func (d *dialer) dial(name string, cfg *config.Config) (*engine.Agent, error) {
	up, err := d.upstream(name, cfg, d.calls)
	if err == nil {
		up, err = Replayed(d.record.of(up))
	}
	if err != nil {
		return nil, err
	}
	backend, err := d.dialects.Dial(up)
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", name, err)
	}
	return engine.NewAgent(name, cfg.Agents[name], backend), nil
}

// upstream describes an agent for its backend. calls receives the results of calls to the agent.
func (d *dialer) upstream(name string, cfg *config.Config, calls adapter.Meter) (adapter.Upstream, error) {
	c := cfg.Agents[name]
	secure, err := c.TLS.Load()
	if err != nil {
		return adapter.Upstream{}, fmt.Errorf("agents.%s.tls: %w", name, err)
	}
	return adapter.Upstream{
		Name: name, Config: c, Limits: cfg.Limits, TLS: secure, Log: d.log.Named("agent").With(zap.String("agent", name)),
		UserAgent: userAgent(), Hop: d.hop, Meter: calls, Tracer: d.tracer,
	}, nil
}
