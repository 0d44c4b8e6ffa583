package backend

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
)

// target is what runs are made of: an assistant of a LangGraph server, or an
// agent of a plain Agent Protocol server.
type target struct {
	id    string // assistant_id or agent_id
	graph string // graph_id; "" on a plain server
	plain bool   // Agent Protocol: /agents and /runs, no thread-scoped runs
	entry string // node a state may be written as; found when first needed
}

// graphCache keeps the answer to "which graph", asked once per process and
// again after a call that failed for it.
type graphCache struct {
	mu    sync.Mutex
	known *target
}

func (g *graphCache) get() *target {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.known
}

func (g *graphCache) set(t *target) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.known = t
}

// target finds the graph that is called: the configured one, else that of the
// agent's own name, else the only one there is. Otherwise the error names them.
func (b *backend) target(ctx context.Context) (target, error) {
	if t := b.graph.get(); t != nil {
		return *t, nil
	}
	t, err := b.findTarget(ctx)
	if err != nil {
		return target{}, err
	}
	b.graph.set(&t)
	return t, nil
}

func (b *backend) findTarget(ctx context.Context) (target, error) {
	list, err := pages(func(offset, limit int) (page []assistantWire, err error) {
		return page, b.http.askJSON(ctx, "/assistants/search", map[string]int{"limit": limit, "offset": offset}, &page)
	}, func(a assistantWire) string { return a.ID })
	switch upstream.Status(err) {
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return b.findAgent(ctx)
	case 0:
		if err != nil {
			return target{}, err
		}
		return b.pickAssistant(list)
	default:
		return target{}, err
	}
}

func (b *backend) pickAssistant(list []assistantWire) (target, error) {
	for i, a := range list {
		if a.ID == "" || a.Graph == "" {
			return target{}, b.http.bad(http.MethodPost, "/assistants/search", "an entry has no assistant_id or graph_id")
		}
		list[i].Name = cmp.Or(a.Name, a.Graph)
	}
	// Assistants that the server made for its graphs come before those that
	// people made over them.
	slices.SortStableFunc(list, func(x, y assistantWire) int { return rank(x) - rank(y) })
	for _, want := range b.wanted() {
		for _, a := range list {
			if a.ID == want || a.Graph == want || a.Name == want {
				return target{id: a.ID, graph: a.Graph}, nil
			}
		}
	}
	if len(list) == 1 && b.up.Config.Assistant == "" {
		return target{id: list[0].ID, graph: list[0].Graph}, nil
	}
	names := make([]string, len(list))
	for i, a := range list {
		names[i] = a.Name
	}
	return target{}, b.noGraph(names)
}

func rank(a assistantWire) int {
	if a.Metadata.CreatedBy == "system" {
		return 0
	}
	return 1
}

// wanted are the names to look for, best first.
func (b *backend) wanted() []string {
	if b.up.Config.Assistant != "" {
		return []string{b.up.Config.Assistant}
	}
	return []string{b.up.Name}
}

func (b *backend) noGraph(names []string) error {
	have := "It has none."
	if len(names) > 0 {
		slices.Sort(names)
		have = "It has " + strings.Join(slices.Compact(names), ", ") + "."
	}
	return mapping.Errorf(mapping.Upstream, mapping.CodeUpstreamError,
		"Which graph of agent %q at %s to call is not clear: none is called %q. %s Name one as the agent's assistant in the configuration.",
		b.up.Name, b.http.host, b.wanted()[0], have)
}

// findAgent is findTarget for a plain Agent Protocol server.
func (b *backend) findAgent(ctx context.Context) (target, error) {
	list, err := pages(func(offset, limit int) (page []agentWire, err error) {
		return page, b.http.askJSON(ctx, "/agents/search", map[string]int{"limit": limit, "offset": offset}, &page)
	}, func(a agentWire) string { return a.ID })
	if err != nil {
		return target{}, err
	}
	names := make([]string, len(list))
	for i, a := range list {
		names[i] = cmp.Or(a.Name, a.ID)
		if slices.Contains(b.wanted(), a.ID) || slices.Contains(b.wanted(), a.Name) {
			return target{id: a.ID, plain: true}, nil
		}
	}
	if len(list) == 1 && b.up.Config.Assistant == "" {
		return target{id: list[0].ID, plain: true}, nil
	}
	return target{}, b.noGraph(names)
}

// Schemas asks for the graph's JSON schemas. Some servers cannot tell (version
// 1.4.6 of the JavaScript one answers 500 for compiled graphs): an error.
func (b *backend) Schemas(ctx context.Context) (mapping.Schemas, error) {
	var s struct {
		Input   json.RawMessage `json:"input_schema"`
		Output  json.RawMessage `json:"output_schema"`
		State   json.RawMessage `json:"state_schema"`
		Config  json.RawMessage `json:"config_schema"`
		Context json.RawMessage `json:"context_schema"`
	}
	err := b.describe(ctx, "schemas", nil, &s)
	return mapping.Schemas{Input: s.Input, Output: s.Output, State: s.State, Config: s.Config, Context: s.Context}, err
}

// Graph asks for the graph's nodes and edges.
func (b *backend) Graph(ctx context.Context, xray string) (json.RawMessage, error) {
	query := url.Values{}
	if xray != "" {
		query.Set("xray", xray)
	}
	var raw json.RawMessage
	err := b.describe(ctx, "graph", query, &raw)
	return raw, err
}

// Subgraphs asks for the schemas of the graphs within the graph.
func (b *backend) Subgraphs(ctx context.Context, namespace string, recurse bool) (json.RawMessage, error) {
	what, query := "subgraphs", url.Values{}
	if namespace != "" {
		what += "/" + url.PathEscape(namespace)
	}
	if recurse {
		query.Set("recurse", "true")
	}
	var raw json.RawMessage
	err := b.describe(ctx, what, query, &raw)
	return raw, err
}

func (b *backend) describe(ctx context.Context, what string, query url.Values, v any) error {
	t, err := b.target(ctx)
	if err != nil {
		return err
	}
	root := "/assistants/"
	if t.plain {
		root = "/agents/"
	}
	if len(query) > 0 {
		what += "?" + query.Encode()
	}
	return b.told.read(ctx, b.http, root+url.PathEscape(t.id)+"/"+what, v)
}

// entry is the node a whole state is written as: one that leads to the end, so
// that nothing is pending afterwards; else the graph's start, which every
// graph has.
func (b *backend) entry(ctx context.Context, t target) string {
	if t.entry != "" {
		return t.entry
	}
	t.entry = "__start__"
	if raw, err := b.Graph(ctx, ""); err == nil {
		t.entry = lastNode(raw)
		b.graph.set(&t)
	}
	return t.entry
}

func lastNode(graph json.RawMessage) string {
	var g struct {
		Edges []struct {
			Source      string `json:"source"`
			Target      string `json:"target"`
			Conditional bool   `json:"conditional"`
		} `json:"edges"`
	}
	node := "__start__"
	if json.Unmarshal(graph, &g) != nil {
		return node
	}
	for _, e := range g.Edges {
		if e.Target != "__end__" || e.Source == "__start__" {
			continue
		}
		if !e.Conditional {
			return e.Source
		}
		node = e.Source
	}
	return node
}
