package memory

import (
	"encoding/json"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/item"
)

// Memory is the long-term store for agents. Safe for concurrent use.
type Memory struct {
	items   *item.Table
	threads *store.Threads
	runs    *store.Runs
	auth    func() config.Auth
	signer  signer
}

// New returns a Memory over the parts of a store. auth returns the current callers.
func New(items *item.Table, threads *store.Threads, runs *store.Runs, secrets *store.Secrets, auth func() config.Auth) *Memory {
	return &Memory{items: items, threads: threads, runs: runs, auth: auth, signer: signer{secrets: secrets}}
}

// Scope is a run whose agent uses the store. The run may not be stored yet.
type Scope struct {
	Config   config.Memory // of the agent
	Run      *mapping.Run
	Metadata json.RawMessage // of the run's thread
}

// principal returns the agent's principal in the store. It may use the namespaces of its memory that the key of the
// run's caller may use.
func (m *Memory) principal(s Scope) mapping.Principal {
	who := mapping.Principal{ID: s.Run.Owner, Tenant: s.Run.Tenant, Namespaces: [][]string{}, ReadOnly: !s.Config.AllowWrites}
	if len(s.Config.Namespaces) == 0 {
		return who
	}
	maker := m.maker(s.Run)
	values := rule.TemplateValues{Metadata: s.Metadata, Configurable: rule.GivenConfigurable(s.Run.Kwargs), Principal: s.Run.Owner}
	for _, template := range s.Config.Namespaces {
		if ns, ok := rule.ExpandNamespace(template, values); ok {
			who.Namespaces = append(who.Namespaces, maker.Below(ns)...)
		}
	}
	return who
}

// maker returns the current principal of the key that created a run. A key that no longer exists may use nothing.
// Without keys no caller is limited.
func (m *Memory) maker(r *mapping.Run) mapping.Principal {
	callers := m.auth()
	switch who, known := callers.Principal(r.Owner, r.Tenant, time.Now()); {
	case known:
		return mapping.Principal{Namespaces: who.Namespaces}
	case callers.On():
		return mapping.Principal{Namespaces: [][]string{}}
	}
	return mapping.Principal{}
}
