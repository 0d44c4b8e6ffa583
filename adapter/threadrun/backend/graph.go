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

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
)

// target identifies the assistant of a LangGraph server, or the agent of an Agent Protocol server, for which runs are
// created.
type target struct {
	id    string // assistant_id or agent_id
	graph string // graph_id; "" on a plain server
	plain bool   // Agent Protocol: /agents and /runs, no thread-scoped runs
	entry string // node for writing a state; determined on first use
	lacks string // a stream mode that the server does not know, or ""
	bare  bool   // the server only has threads and run streams, and cannot report the status of a run
}

// graphCache holds the target. It is determined once per process, and again after a call has failed because of it.
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

// graphs determines the target on a server and reads the server's descriptions of it. It only caches data that can be
// read again. Safe for concurrent use.
type graphs struct {
	up    adapter.Upstream
	http  *client
	known graphCache
	told  descriptions
}

func newGraphs(up adapter.Upstream, c *client) *graphs {
	return &graphs{up: up, http: c, told: descriptions{age: descriptionAge}}
}

// forget makes the next run determine the graph again.
func (g *graphs) forget() { g.known.set(nil) }

// lacks records a stream mode that the server does not know.
func (g *graphs) lacks(t target, mode string) {
	t.lacks = mode
	g.known.set(&t)
}

// target returns the configured graph, the graph with the agent's name, or the only graph. If there is none of these,
// the error lists the graphs.
func (g *graphs) target(ctx context.Context) (target, error) {
	if t := g.known.get(); t != nil {
		return *t, nil
	}
	t, err := g.findTarget(ctx)
	if err != nil {
		return target{}, err
	}
	g.known.set(&t)
	return t, nil
}

func (g *graphs) findTarget(ctx context.Context) (target, error) {
	list, err := pages(func(offset, limit int) (page []assistantWire, err error) {
		return page, g.http.askJSON(ctx, "/assistants/search", map[string]int{"limit": limit, "offset": offset}, &page)
	}, func(a assistantWire) string { return a.ID })
	switch upstream.Status(err) {
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return g.findAgent(ctx)
	case 0:
		if err != nil {
			return target{}, err
		}
		return g.pickAssistant(list)
	default:
		return target{}, err
	}
}

func (g *graphs) pickAssistant(list []assistantWire) (target, error) {
	for i, a := range list {
		if a.ID == "" || a.Graph == "" {
			return target{}, g.http.bad(http.MethodPost, "/assistants/search", "an entry has no assistant_id or graph_id")
		}
		list[i].Name = cmp.Or(a.Name, a.Graph)
	}
	// Assistants that the server created for its graphs precede those created by users.
	slices.SortStableFunc(list, func(x, y assistantWire) int { return rank(x) - rank(y) })
	for _, want := range g.wanted() {
		for _, a := range list {
			if a.ID == want || a.Graph == want || a.Name == want {
				return target{id: a.ID, graph: a.Graph}, nil
			}
		}
	}
	if len(list) == 1 && g.up.Config.Assistant == "" {
		return target{id: list[0].ID, graph: list[0].Graph}, nil
	}
	names := make([]string, len(list))
	for i, a := range list {
		names[i] = a.Name
	}
	return target{}, g.noGraph(names)
}

func rank(a assistantWire) int {
	if a.Metadata.CreatedBy == "system" {
		return 0
	}
	return 1
}

// wanted returns the names to look for, best first.
func (g *graphs) wanted() []string {
	if g.up.Config.Assistant != "" {
		return []string{g.up.Config.Assistant}
	}
	return []string{g.up.Name}
}

func (g *graphs) noGraph(names []string) error {
	have := "It has none."
	if len(names) > 0 {
		slices.Sort(names)
		have = "It has " + strings.Join(slices.Compact(names), ", ") + "."
	}
	e := mapping.Errorf(mapping.Upstream, mapping.CodeUpstreamError,
		"It is not clear which graph of agent %q at %s to call: none is named %q. %s Set the agent's assistant in the configuration to one of them.",
		g.up.Name, g.http.host, g.wanted()[0], have)
	e.Err = adapter.ErrNoSuchGraph
	return e
}

// noServer returns the error for a server that has neither assistants nor agents.
func (g *graphs) noServer(err error) error {
	e := mapping.Errorf(mapping.Upstream, mapping.CodeBadUpstream,
		"Agent %q at %s does not look like a thread/run agent: it has neither /assistants/search nor /agents/search. %s.", g.up.Name, g.http.host, g.up.URLAdvice())
	e.Err = err
	return e
}

// findAgent is findTarget for an Agent Protocol server.
func (g *graphs) findAgent(ctx context.Context) (target, error) {
	list, err := pages(func(offset, limit int) (page []agentWire, err error) {
		return page, g.http.askJSON(ctx, "/agents/search", map[string]int{"limit": limit, "offset": offset}, &page)
	}, func(a agentWire) string { return a.ID })
	switch upstream.Status(err) {
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return g.unlisted(ctx, err)
	}
	if err != nil {
		return target{}, err
	}
	names := make([]string, len(list))
	for i, a := range list {
		names[i] = cmp.Or(a.Name, a.ID)
		if slices.Contains(g.wanted(), a.ID) || slices.Contains(g.wanted(), a.Name) {
			return target{id: a.ID, plain: true}, nil
		}
	}
	if len(list) == 1 && g.up.Config.Assistant == "" {
		return target{id: list[0].ID, plain: true}, nil
	}
	return target{}, g.noGraph(names)
}

// unlisted returns the configured graph of a server that has threads but does not list graphs, such as one created by
// createEmbedServer of @langchain/langgraph-api. The server itself refuses runs of unknown graphs. It responds with 422
// if the embedding program did not make its threads searchable.
func (g *graphs) unlisted(ctx context.Context, missing error) (target, error) {
	var threads []json.RawMessage
	err := g.http.askJSON(ctx, "/threads/search", map[string]int{"limit": 1}, &threads)
	switch upstream.Status(err) {
	case http.StatusUnprocessableEntity:
		err = nil
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		err = g.noServer(missing)
	}
	if err != nil {
		return target{}, err
	}
	name := g.up.Config.Assistant
	if name == "" {
		return target{}, g.noGraph(nil)
	}
	return target{id: name, graph: name, bare: true}, nil
}

// Schemas requests the graph's JSON schemas. The error is not_supported if the server has none (version 1.5.1 of the
// JavaScript server responds with 500 for graphs without types).
func (g *graphs) Schemas(ctx context.Context) (mapping.Schemas, error) {
	var s struct {
		Input   json.RawMessage `json:"input_schema"`
		Output  json.RawMessage `json:"output_schema"`
		State   json.RawMessage `json:"state_schema"`
		Config  json.RawMessage `json:"config_schema"`
		Context json.RawMessage `json:"context_schema"`
	}
	err := g.describe(ctx, "schemas", nil, &s)
	return mapping.Schemas{Input: s.Input, Output: s.Output, State: s.State, Config: s.Config, Context: s.Context}, err
}

// Graph requests the graph's nodes and edges.
func (g *graphs) Graph(ctx context.Context, xray string) (json.RawMessage, error) {
	query := url.Values{}
	if xray != "" {
		query.Set("xray", xray)
	}
	var raw json.RawMessage
	err := g.describe(ctx, "graph", query, &raw)
	return raw, err
}

// Subgraphs requests the schemas of the graphs within the graph.
func (g *graphs) Subgraphs(ctx context.Context, namespace string, recurse bool) (json.RawMessage, error) {
	what, query := "subgraphs", url.Values{}
	if namespace != "" {
		what += "/" + url.PathEscape(namespace)
	}
	if recurse {
		query.Set("recurse", "true")
	}
	var raw json.RawMessage
	err := g.describe(ctx, what, query, &raw)
	return raw, err
}

func (g *graphs) describe(ctx context.Context, what string, query url.Values, v any) error {
	t, err := g.target(ctx)
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
	return g.told.read(ctx, g.http, root+url.PathEscape(t.id)+"/"+what, v)
}

// entry returns the node in whose name a whole state is written. It is a node that leads to the end, so that nothing is
// pending afterwards. If there is none, it is the graph's start.
func (g *graphs) entry(ctx context.Context, t target) string {
	if t.entry != "" {
		return t.entry
	}
	t.entry = "__start__"
	if raw, err := g.Graph(ctx, ""); err == nil {
		t.entry = lastNode(raw)
		g.known.set(&t)
	}
	return t.entry
}

func lastNode(graph json.RawMessage) string {
	var described struct {
		Edges []struct {
			Source      string `json:"source"`
			Target      string `json:"target"`
			Conditional bool   `json:"conditional"`
		} `json:"edges"`
	}
	node := "__start__"
	if json.Unmarshal(graph, &described) != nil {
		return node
	}
	for _, e := range described.Edges {
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
