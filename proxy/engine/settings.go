package engine

import (
	"maps"
	"sync/atomic"

	"github.com/apbridge/apbridge/config"
)

// settings are what may change while the engine works. They are replaced as a whole: work that goes by several of them
// takes them once.
type settings struct {
	cfg    *config.Config
	agents map[string]*Agent
	// slots are those of all agents that there were, by name: one that comes back may have runs that it began before.
	slots map[string]*slots
}

// configured has the settings in force.
type configured struct{ inForce atomic.Pointer[settings] }

func configure(cfg *config.Config, agents map[string]*Agent) *configured {
	c := &configured{}
	c.inForce.Store(newSettings(cfg, agents, nil))
	return c
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

// Config returns the configuration in force. It is not changed, but may be replaced by another: work that goes by
// several of its keys takes it once.
func (c *configured) Config() *config.Config { return c.inForce.Load().cfg }

// Agent returns a configured agent; false: there is none of that name.
func (c *configured) Agent(name string) (*Agent, bool) {
	a, ok := c.inForce.Load().agents[name]
	return a, ok
}

// agent is Agent, or nil.
func (c *configured) agent(name string) *Agent { return c.inForce.Load().agents[name] }

// Agents returns the configured agents by name.
func (c *configured) Agents() map[string]*Agent { return maps.Clone(c.inForce.Load().agents) }

// Reconfigure has everything from now on be done by another configuration and with other agents, which take over the
// slots of those that had their names. Executions go on with the agent that they began with. Runs that wait for an
// agent which is not there any more end in agent_not_found.
func (e *Engine) Reconfigure(cfg *config.Config, agents map[string]*Agent) {
	e.inForce.Store(newSettings(cfg, agents, e.inForce.Load().slots))
	e.wake()
}
