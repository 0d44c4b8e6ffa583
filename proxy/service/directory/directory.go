package directory

import (
	"sync/atomic"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/store"
)

// Engine has the configured agents; engine.Engine implements it.
type Engine interface {
	Config() *config.Config
	Agent(name string) (*engine.Agent, bool)
}

// Directory finds the agents and the assistants over them that a caller may name.
type Directory struct {
	table  *store.Assistants // of assistants
	said   *store.Agents     // what agents said of themselves
	engine Engine
	called atomic.Pointer[naming]
}

// New returns a Directory of the agents of an engine and the assistants that are kept.
func New(table *store.Assistants, said *store.Agents, e Engine) *Directory {
	return &Directory{table: table, said: said, engine: e}
}

// naming is what the agents of a configuration are called as assistants.
type naming struct {
	of   *config.Config
	byID map[string]string // assistant id → config name
}

// byID maps assistant ids to the names of the agents that are configured now. Read only.
func (dir *Directory) byID() map[string]string {
	cfg := dir.engine.Config()
	if n := dir.called.Load(); n != nil && n.of == cfg {
		return n.byID
	}
	n := &naming{of: cfg, byID: make(map[string]string, len(cfg.Agents))}
	for name := range cfg.Agents {
		n.byID[mapping.AssistantID(name)] = name
	}
	dir.called.Store(n)
	return n.byID
}
