package directory

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/proxy/store"
)

// Agents describes the configured agents, and the assistants made over them.
type Agents struct {
	facts
	directory *Directory
	engine    Engine
	table     *store.Assistants
}

// NewAgents returns Agents that describe what a directory finds.
func NewAgents(d *Directory) *Agents {
	return &Agents{facts: facts{directory: d, said: d.said}, directory: d, engine: d.engine, table: d.table}
}

// Resolve returns the assistant of that id, or the one that a configured agent is, with the time when this database
// first saw it. NotFound: there is none, or its agent is one that the principal may not use.
func (s *Agents) Resolve(ctx context.Context, idOrName string) (mapping.Assistant, error) {
	return s.directory.resolve(ctx, idOrName)
}

// Search returns a page of the assistants and configured agents that q wants and the principal may use, and how many
// there are on all pages.
func (s *Agents) Search(ctx context.Context, q adapter.AgentQuery) ([]mapping.Assistant, int, error) {
	all, err := s.all(ctx)
	if err != nil {
		return nil, 0, err
	}
	var list []mapping.Assistant
	for _, a := range all {
		if matches(a, q) {
			list = append(list, a)
		}
	}
	sortAgents(list, q)
	total := len(list)
	return adapter.PageOf(list, q.Offset, q.Limit), total, nil
}

// all are the configured agents and the assistants made over them, as far as the principal may use them.
func (s *Agents) all(ctx context.Context) (list []mapping.Assistant, err error) {
	for name := range s.engine.Config().Agents {
		a, ok := s.engine.Agent(name)
		if !ok || !mapping.PrincipalOf(ctx).May(name) {
			continue
		}
		d, err := s.directory.describe(ctx, a)
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	made, err := s.table.List(ctx)
	for _, a := range made {
		if mapping.PrincipalOf(ctx).May(a.Graph) {
			list = append(list, *s.directory.traits(&a))
		}
	}
	return list, err
}

func matches(a mapping.Assistant, q adapter.AgentQuery) bool {
	if q.Configured && !a.Configured {
		return false
	}
	if q.Graph != "" && q.Graph != a.Graph {
		return false
	}
	if q.Exact && q.Name != "" && q.Name != a.Name {
		return false
	}
	if !strings.Contains(strings.ToLower(a.Name), strings.ToLower(q.Name)) {
		return false
	}
	return len(q.Metadata) == 0 || rawjson.Contains(a.Metadata, q.Metadata)
}

// sortAgents sorts by what is asked for, then by name and id: newest first, where nothing is said.
func sortAgents(list []mapping.Assistant, q adapter.AgentQuery) {
	slices.SortFunc(list, func(a, b mapping.Assistant) (n int) {
		switch q.SortBy {
		case mapping.SortByName:
			n = strings.Compare(a.Name, b.Name)
		case mapping.SortByAgent:
			n = strings.Compare(a.Graph, b.Graph)
		case mapping.SortByID:
			n = strings.Compare(a.ID, b.ID)
		case mapping.SortByUpdated:
			n = a.UpdatedAt.Compare(b.UpdatedAt)
		default:
			n = a.CreatedAt.Compare(b.CreatedAt)
		}
		if !q.Asc {
			n = -n
		}
		return cmp.Or(n, strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID))
	})
}
