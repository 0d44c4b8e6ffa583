package engine

import (
	"maps"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
)

// settings are what Reconfigure replaces, as one value. Code that needs several of them loads them once.
type settings struct {
	cfg    *config.Config
	agents map[string]*Agent
	// slots are those of all agents so far, by name. An agent that comes back may still have runs from before.
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

// Config returns the configuration in force. It is never changed, but may be replaced. Code that needs several of its
// keys calls Config once.
func (e *Engine) Config() *config.Config { return e.settings.Load().cfg }

// Agent returns a configured agent, or false if there is none of that name.
func (e *Engine) Agent(name string) (*Agent, bool) {
	a, ok := e.settings.Load().agents[name]
	return a, ok
}

// agent is like Agent, but returns nil if there is none.
func (e *Engine) agent(name string) *Agent { return e.settings.Load().agents[name] }

// agentOf returns the agent that carries out r, or nil if there is none. An execution keeps the agent that it began
// with.
func (e *Engine) agentOf(r *mapping.Run) *Agent {
	if x := e.runs.find(r.ID); x != nil {
		return x.agent
	}
	return e.agent(r.Agent)
}

// Agents returns the configured agents by name.
func (e *Engine) Agents() map[string]*Agent { return maps.Clone(e.settings.Load().agents) }

// Reconfigure replaces the configuration and the agents. A new agent takes over the slots of the agent that had its
// name. Executions keep the agent that they began with. Runs that wait for an agent which is gone end as
// agent_not_found.
func (e *Engine) Reconfigure(cfg *config.Config, agents map[string]*Agent) {
	e.settings.Store(newSettings(cfg, agents, e.settings.Load().slots))
	e.wakeup.send()
}
