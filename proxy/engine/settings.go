package engine

import (
	"maps"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
)

// settings are replaced by Reconfigure as one value. Code that needs several of them loads them once.
type settings struct {
	cfg    *config.Config
	agents map[string]*Agent
	// slots are those of all agents so far, by name. An agent that is configured again may still have earlier runs.
	slots map[string]*slots
}

func newSettings(cfg *config.Config, agents map[string]*Agent, before map[string]*slots) *settings {
	s := &settings{cfg: cfg, agents: agents, slots: map[string]*slots{}}
	maps.Copy(s.slots, before)
	for name, a := range agents {
		if taken := s.slots[name]; taken != nil && taken != a.slots {
			a.slots = taken
			a.slots.resize(a.Config.Concurrency)
		}
		s.slots[name] = a.slots
	}
	return s
}

// Config returns the current configuration. It is never modified, but may be replaced. Code that needs several of its
// keys calls Config once.
func (e *Engine) Config() *config.Config { return e.settings.Load().cfg }

// Agent returns a configured agent, or false if there is none with that name.
func (e *Engine) Agent(name string) (*Agent, bool) {
	a, ok := e.settings.Load().agents[name]
	return a, ok
}

// agent is like Agent, but returns nil if there is none.
func (e *Engine) agent(name string) *Agent { return e.settings.Load().agents[name] }

// agentOf returns the agent that executes r, or nil if there is none. An execution keeps the agent with which it began.
func (e *Engine) agentOf(r *mapping.Run) *Agent {
	if x := e.runs.find(r.ID); x != nil {
		return x.agent
	}
	return e.agent(r.Agent)
}

// Agents returns the configured agents by name.
func (e *Engine) Agents() map[string]*Agent { return maps.Clone(e.settings.Load().agents) }

// Reconfigure replaces the configuration and the agents. A new agent takes over the slots of the previous agent with
// its name. Executions keep the agent with which they began. Runs that wait for a removed agent end as agent_not_found.
func (e *Engine) Reconfigure(cfg *config.Config, agents map[string]*Agent) {
	e.settings.Store(newSettings(cfg, agents, e.settings.Load().slots))
	e.wakeup.send()
}
