package inspect

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

var agentRoutes = []route{
	{"GET", "/agents", looking, adapter.Effect{Verb: mapping.Read, Kind: "assistant"}, func(s *server) serve { return s.agents.serve }},
	{"POST", "/agents/{agent}/try", acting, adapter.Effect{Verb: mapping.Created, Kind: "run"}, func(s *server) serve { return s.try.serve }},
}

var agentsHTML = newPage("agents", "agents")

// AgentInfo is what the bridge knows of a configured agent.
type AgentInfo struct {
	Dialect  string        // that it speaks; "" while that is not known
	State    string        // how it is, in a few words
	Good     bool          // it can be used
	Known    bool          // that is known
	Profile  string        // what it is like, or why it cannot be used
	Kind     string        // "a task/step agent"; "" while that is not known
	Stateful bool          // its state can be read
	Asked    time.Time     // how it is
	Took     time.Duration // that question
	Settings []Setting     // that clients of it notice
	Calls    *AgentCalls   // of all callers; nil: the caller may not know
}

// Setting is a key of an agent's configuration.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// AgentCalls is how the newest calls of an agent went.
type AgentCalls struct {
	Calls    int       `json:"calls"`
	Failed   int       `json:"failed"`
	Median   string    `json:"median"`
	Slow     string    `json:"slow"` // one in twenty took longer
	Answered time.Time `json:"answered_at"`
}

// agentRow is one agent.
type agentRow struct {
	Name     string            `json:"name"`
	Default  bool              `json:"default"`
	Dialect  string            `json:"dialect,omitempty"`
	State    string            `json:"state"`
	Profile  string            `json:"profile,omitempty"`
	Kind     string            `json:"kind,omitempty"`
	Stateful bool              `json:"stateful"`
	AskedAt  time.Time         `json:"asked_at"`
	Took     string            `json:"took"`
	Settings []Setting         `json:"settings"`
	Calls    *AgentCalls       `json:"calls,omitempty"`
	Lost     []mapping.LossRow `json:"lost"` // what it cannot be told of clients' requests, or only approximately
	Mark     string            `json:"-"`
	Path     string            `json:"-"` // of its playground
}

type agentList struct {
	Agents []agentRow `json:"agents"`
	MayTry bool       `json:"-"`
}

// agentsPage shows the agents that the caller may use.
type agentsPage struct {
	*renderer
	names     *agentNames
	dialects  adapter.Dialects
	about     About
	byDefault func() string // the name of the one that is meant where none is named
}

// agentNames are the configured agents that the caller may use.
type agentNames struct{ agents agentFinder }

// agentFinder is part of adapter.Assistants.
type agentFinder interface {
	SearchAssistants(ctx context.Context, q adapter.AgentQuery) (agents []mapping.Assistant, total int, err error)
}

// all returns their names, and that of one which is meant already: it may not be configured any more.
func (n *agentNames) all(ctx context.Context, meant string) ([]string, error) {
	names := []string{}
	list, _, err := n.agents.SearchAssistants(ctx, adapter.AgentQuery{SortBy: mapping.SortByName, Asc: true, Configured: true})
	for _, a := range list {
		names = append(names, a.Graph)
	}
	if meant != "" && !slices.Contains(names, meant) {
		names = append(names, meant)
	}
	return names, err
}

func (p *agentsPage) serve(w http.ResponseWriter, r *http.Request) error {
	names, err := p.names.all(r.Context(), "")
	if err != nil {
		return err
	}
	list := agentList{Agents: []agentRow{}, MayTry: mapping.PrincipalOf(r.Context()).Need(acting...) == nil}
	losses := p.dialects.LossTable()
	infos := p.about(r.Context(), names)
	for _, name := range names {
		if info, there := infos[name]; there {
			list.Agents = append(list.Agents, agentRowOf(name, info, losses))
		}
	}
	def := p.byDefault()
	for n := range list.Agents {
		list.Agents[n].Default = list.Agents[n].Name == def
	}
	return p.show(w, r, agentsHTML, "Agents", list)
}

func agentRowOf(name string, a AgentInfo, losses []mapping.LossRow) agentRow {
	row := agentRow{
		Name: name, Dialect: a.Dialect, State: a.State, Profile: a.Profile, Kind: a.Kind, Stateful: a.Stateful, AskedAt: a.Asked,
		Took: Span(a.Took), Settings: a.Settings, Calls: a.Calls, Mark: "unsure", Path: "inspect/agents/" + url.PathEscape(name) + "/try",
		Lost: []mapping.LossRow{},
	}
	switch {
	case a.Good:
		row.Mark = "good"
	case a.Known:
		row.Mark = "bad"
	}
	for _, l := range losses {
		if l.To == a.Dialect && l.Fate != mapping.Exact {
			row.Lost = append(row.Lost, l)
		}
	}
	slices.SortStableFunc(row.Lost, func(x, y mapping.LossRow) int {
		return cmp.Or(strings.Compare(x.From, y.From), strings.Compare(string(y.Fate), string(x.Fate)))
	})
	return row
}

// About describes agents that the caller may use, by their names.
type About func(ctx context.Context, names []string) map[string]AgentInfo
