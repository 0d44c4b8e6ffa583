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

var agentsHTML = newPage("agents", "agents")

// About describes agents that the caller may use, by their names.
type About func(ctx context.Context, names []string) map[string]AgentInfo

// AgentInfo describes a configured agent.
type AgentInfo struct {
	Dialect  string        // "" while unknown
	State    string        // a short description
	Good     bool          // it can be used
	Known    bool          // whether Good is known
	Profile  string        // its traits, or why it cannot be used
	Kind     string        // such as "a task/step agent"; "" while unknown
	Stateful bool          // its state can be read
	Asked    time.Time     // the time of the last check
	Took     time.Duration // the duration of that check
	Settings []Setting     // those that clients notice
	Calls    *AgentCalls   // by all callers; nil if the caller may not see them
}

// Setting is a key of an agent's configuration with its value.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// AgentCalls summarizes the newest calls of an agent.
type AgentCalls struct {
	Calls    int       `json:"calls"`
	Failed   int       `json:"failed"`
	Median   string    `json:"median"`
	Slow     string    `json:"slow"` // the 95th percentile
	Answered time.Time `json:"answered_at"`
}

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
	Lost     []mapping.LossRow `json:"lost"` // request fields that it does not support, or only approximately
	Mark     string            `json:"-"`
	Path     string            `json:"-"` // of the form that sends it a message
}

type agentsView struct {
	Agents []agentRow `json:"agents"`
	MayTry bool       `json:"-"`
}

// agentNames returns the names of the configured agents that the caller may use, and selected, which may no longer be
// configured.
func (s *server) agentNames(ctx context.Context, selected string) ([]string, error) {
	names := []string{}
	list, _, err := s.Service.SearchAssistants(ctx, adapter.AgentQuery{SortBy: mapping.SortByName, Asc: true, Configured: true})
	for _, a := range list {
		names = append(names, a.Graph)
	}
	if selected != "" && !slices.Contains(names, selected) {
		names = append(names, selected)
	}
	return names, err
}

func (s *server) agentsPage(w http.ResponseWriter, r *http.Request) error {
	names, err := s.agentNames(r.Context(), "")
	if err != nil {
		return err
	}
	v := agentsView{Agents: []agentRow{}, MayTry: mayAct(r.Context())}
	losses, infos, byDefault := s.Dialects.LossTable(), s.About(r.Context(), names), s.DefaultAgent()
	for _, name := range names {
		if info, ok := infos[name]; ok {
			row := agentRowOf(name, info, losses)
			row.Default = name == byDefault
			v.Agents = append(v.Agents, row)
		}
	}
	return s.show(w, r, agentsHTML, "Agents", v)
}

// markOfAgent returns the class of an agent's card.
func markOfAgent(a AgentInfo) string {
	switch {
	case a.Good:
		return "good"
	case a.Known:
		return "bad"
	}
	return "unsure"
}

func agentRowOf(name string, a AgentInfo, losses []mapping.LossRow) agentRow {
	row := agentRow{
		Name: name, Dialect: a.Dialect, State: a.State, Profile: a.Profile, Kind: a.Kind, Stateful: a.Stateful, AskedAt: a.Asked,
		Took: mapping.Span(a.Took), Settings: a.Settings, Calls: a.Calls, Mark: markOfAgent(a), Path: "inspect/agents/" + url.PathEscape(name) + "/try",
		Lost: []mapping.LossRow{},
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
