package a2a

import (
	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/a2a/backend"
	"github.com/apbridge/apbridge/adapter/a2a/face"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
)

// Dialect returns the A2A dialect.
func Dialect() adapter.Dialect {
	return adapter.Dialect{
		Name:        "a2a",
		Paths:       []string{"/a2a", "/.well-known/agent-card.json", "/.well-known/agent.json"},
		PublicPaths: face.PublicPaths(),
		Section:     func(cfg *config.Config) any { return cfg.A2A },
		Private:     func(cfg *config.Config) bool { return !cfg.A2A.PublicCard },
		Mount:       face.Mount,
		Effect:      face.Effect,
		Refusal:     face.Refusal,
		Fields:      face.RequestFields(),
		Documents:   documents(),
		Speaks:      "A2A (Agent2Agent), versions 1.0 and 0.3",
		Chooses:     "in the path /a2a/NAME",
		Flavours:    flavours(),
		Hook:        face.Hook,
		Snippets:    code,
		Clients:     "A2A",
		Observe:     face.Observe,

		Dial:         backend.Dial,
		Detect:       backend.Detect,
		Capabilities: backend.Capabilities(),
	}
}

// flavours are those of the two versions. A message to a busy context waits.
func flavours() []adapter.Flavour {
	return []adapter.Flavour{
		{Name: face.FlavourV1, Request: face.RequestForTask, Strategy: mapping.StrategyEnqueue},
		{Name: face.FlavourV03, Request: face.RequestForTask, Strategy: mapping.StrategyEnqueue},
	}
}
