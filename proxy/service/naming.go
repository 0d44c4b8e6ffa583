package service

import (
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
)

// naming is what the agents of a configuration are called as assistants.
type naming struct {
	of   *config.Config
	byID map[string]string // assistant id → config name
}

// byID maps assistant ids to the names of the agents that are configured now. Read only.
func (c *core) byID() map[string]string {
	cfg := c.engine.Config()
	if n := c.called.Load(); n != nil && n.of == cfg {
		return n.byID
	}
	n := &naming{of: cfg, byID: make(map[string]string, len(cfg.Agents))}
	for name := range cfg.Agents {
		n.byID[mapping.AssistantID(name)] = name
	}
	c.called.Store(n)
	return n.byID
}
