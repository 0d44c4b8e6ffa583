package service

import (
	"context"
	"encoding/json"
	"sort"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
)

// agents describes the configured agents.
type agents struct{ *core }

// agent finds a configured agent by name or assistant id; "" is the default
// one. An agent the principal may not use does not exist for it.
func (c *core) agent(ctx context.Context, idOrName string) (*engine.Agent, error) {
	name := idOrName
	if name == "" {
		name = c.cfg.DefaultAgent
	}
	if name == "" {
		return nil, mapping.Errorf(mapping.Invalid, mapping.CodeAgentNotFound,
			"No agent was named and there is no default one. Name one of: %s (or set default_agent in the bridge's configuration).", c.names(ctx))
	}
	if known, ok := c.byID[name]; ok {
		name = known
	}
	a, ok := c.engine.Agent(name)
	if !ok || !mapping.PrincipalOf(ctx).May(name) {
		return nil, mapping.Errorf(mapping.NotFound, mapping.CodeAgentNotFound,
			"There is no agent %q. Known agents: %s.", idOrName, c.names(ctx))
	}
	return a, nil
}

func (c *core) names(ctx context.Context) string {
	var list []string
	for name := range c.cfg.Agents {
		if mapping.PrincipalOf(ctx).May(name) {
			list = append(list, name)
		}
	}
	sort.Strings(list)
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

func (s *agents) Resolve(ctx context.Context, idOrName string) (mapping.Agent, error) {
	a, err := s.agent(ctx, idOrName)
	if err != nil {
		return mapping.Agent{}, err
	}
	return s.describe(ctx, a)
}

func (s *agents) describe(ctx context.Context, a *engine.Agent) (mapping.Agent, error) {
	seen, err := s.st.AgentSeen(ctx, a.Name)
	if err != nil {
		return mapping.Agent{}, err
	}
	traits, known := a.Known()
	return mapping.Agent{
		ID: mapping.AssistantID(a.Name), Graph: a.Name, Name: a.Name, Version: 1, Configured: true,
		Metadata: json.RawMessage(`{"created_by":"system"}`), Config: json.RawMessage(`{}`), Context: json.RawMessage(`{}`),
		CreatedAt: seen, UpdatedAt: seen, Opaque: known && traits.Opaque,
	}, nil
}

func (s *agents) Search(ctx context.Context, q adapter.AgentQuery) ([]mapping.Agent, int, error) {
	var list []mapping.Agent
	for name := range s.cfg.Agents {
		a, ok := s.engine.Agent(name)
		if !ok || !mapping.PrincipalOf(ctx).May(name) {
			continue
		}
		d, err := s.describe(ctx, a)
		if err != nil {
			return nil, 0, err
		}
		if matches(d, q) {
			list = append(list, d)
		}
	}
	sortAgents(list, q)
	total := len(list)
	return page(list, q.Offset, q.Limit), total, nil
}

func matches(a mapping.Agent, q adapter.AgentQuery) bool {
	if q.Graph != "" && q.Graph != a.Graph {
		return false
	}
	if q.Exact && q.Name != "" && q.Name != a.Name {
		return false
	}
	if !strings.Contains(strings.ToLower(a.Name), strings.ToLower(q.Name)) {
		return false
	}
	return len(q.Metadata) == 0 || mapping.Contains(a.Metadata, q.Metadata)
}

func sortAgents(list []mapping.Agent, q adapter.AgentQuery) {
	less := func(a, b mapping.Agent) bool {
		switch q.SortBy {
		case "name", "graph_id":
			return a.Name < b.Name
		case "assistant_id":
			return a.ID < b.ID
		case "updated_at", "created_at", "":
			if !a.CreatedAt.Equal(b.CreatedAt) {
				return a.CreatedAt.Before(b.CreatedAt)
			}
		}
		return a.Name > b.Name
	}
	sort.Slice(list, func(i, j int) bool {
		if q.Asc {
			return less(list[i], list[j])
		}
		return less(list[j], list[i])
	})
}

// page cuts a list; a limit of 0 is all.
func page[T any](list []T, offset, limit int) []T {
	if offset >= len(list) {
		return nil
	}
	list = list[offset:]
	if limit > 0 && limit < len(list) {
		list = list[:limit]
	}
	return list
}

func (s *agents) Schemas(ctx context.Context, idOrName string) (mapping.Schemas, error) {
	a, err := s.agent(ctx, idOrName)
	if err != nil {
		return mapping.Schemas{}, err
	}
	if d, ok := s.describer(ctx, a); ok {
		if schemas, err := d.Schemas(ctx); err == nil {
			return schemas, nil
		}
	}
	return bridgeSchemas(), nil
}

func (s *agents) Graph(ctx context.Context, idOrName string) (json.RawMessage, error) {
	a, err := s.agent(ctx, idOrName)
	if err != nil {
		return nil, err
	}
	if d, ok := s.describer(ctx, a); ok {
		if g, err := d.Graph(ctx); err == nil {
			return g, nil
		}
	}
	return json.RawMessage(bridgeGraph), nil
}

func (s *agents) describer(ctx context.Context, a *engine.Agent) (adapter.Describer, bool) {
	b, _, err := a.Backend(ctx)
	if err != nil {
		return nil, false
	}
	d, ok := b.(adapter.Describer)
	return d, ok
}

const (
	bridgeState = `{"type":"object","properties":{"messages":{"type":"array","items":{"type":"object"}},"files":{"type":"object"}}}`
	bridgeEmpty = `{"type":"object","properties":{}}`
	bridgeGraph = `{"nodes":[{"id":"__start__","type":"schema","data":"__start__"},{"id":"step","type":"runnable","data":{"id":["step"],"name":"step"}},{"id":"__end__","type":"schema","data":"__end__"}],` +
		`"edges":[{"source":"__start__","target":"step"},{"source":"step","target":"step","conditional":true},{"source":"step","target":"__end__","conditional":true}]}`
)

// bridgeSchemas describes the one-node graph that the bridge is before a
// task/step agent.
func bridgeSchemas() mapping.Schemas {
	state, empty := json.RawMessage(bridgeState), json.RawMessage(bridgeEmpty)
	return mapping.Schemas{Input: state, Output: state, State: state, Config: empty, Context: empty}
}
