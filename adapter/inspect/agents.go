package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/inspect/conversation"
	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
)

var agentRoutes = []route{
	{"GET", "/agents", looking, adapter.Effect{Verb: mapping.Read, Kind: "assistant"}, (*inspector).serveAgents},
	{"POST", "/agents/{agent}/try", acting, adapter.Effect{Verb: mapping.Made, Kind: "run"}, (*inspector).tryAgent},
}

var agentsPage = newPage("agents", "agents")

// inputText is what a form says to an agent.
const inputText = "text"

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
	Calls    *AgentCalls   // of all who use it; nil: the caller may not know
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

func (i *inspector) serveAgents(w http.ResponseWriter, r *http.Request) error {
	names, err := i.agentNames(r.Context())
	if err != nil {
		return err
	}
	list := agentList{Agents: []agentRow{}, MayTry: mapping.PrincipalOf(r.Context()).Need(acting...) == nil}
	losses := i.Dialects.LossTable()
	infos := i.About(r.Context(), names)
	for _, name := range names {
		if info, there := infos[name]; there {
			list.Agents = append(list.Agents, agentRowOf(name, info, losses))
		}
	}
	def := i.DefaultAgent()
	for n := range list.Agents {
		list.Agents[n].Default = list.Agents[n].Name == def
	}
	return i.show(w, r, agentsPage, "Agents", list)
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

// tryAgent sends one message to an agent on a thread of its own, and leads to the run, which can be watched.
func (i *inspector) tryAgent(w http.ResponseWriter, r *http.Request) error {
	in, err := form(r)
	if err != nil {
		return err
	}
	agent, text := mux.Vars(r)["agent"], strings.TrimSpace(in.Get(inputText))
	if text == "" {
		return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "There is nothing to send: the text is empty.")
	}
	if in.Get(inputSure) != "yes" {
		return i.askToTry(w, r, agent, text)
	}
	n, err := i.saying(agent, text)
	if err != nil {
		return err
	}
	n.IdempotencyKey = in.Get(inputOnce)
	s, err := i.Service.Runs.Start(r.Context(), n)
	if err != nil {
		return err
	}
	return i.done(w, r, runPath(s.Run.ID), startedOf(s))
}

// askToTry says what is sent to which agent, if there is one.
func (i *inspector) askToTry(w http.ResponseWriter, r *http.Request, agent, text string) error {
	if _, err := i.Service.Agents.Resolve(r.Context(), agent); err != nil {
		return err
	}
	return i.ask(w, r, confirmation{
		Question: "Send this message?", Says: []string{fmt.Sprintf("The agent %q is called with it, on a thread of its own.", agent)},
		Sends: conversation.Cut(text).Text, Button: "Send the message", Back: "inspect/agents",
	}, inputText, text)
}

// saying is a run that says something to an agent, as a client of the first dialect would make it.
func (i *inspector) saying(agent, text string) (n adapter.NewRun, err error) {
	input, err := json.Marshal(map[string]any{"messages": []map[string]string{{"role": "user", "content": text}}})
	if err != nil {
		return n, err
	}
	n = adapter.NewRun{
		Agent: agent, Input: input, Kwargs: json.RawMessage(`{"input":` + string(input) + `}`), HasInput: true, IfNotExists: "create", Flavour: i.flavour(mapping.Run{}),
		Metadata: json.RawMessage(`{"made_by":"inspector"}`), Fields: []string{"input"},
	}
	return n, nil
}

// About tells of agents that the caller may use.
type About func(ctx context.Context, names []string) map[string]AgentInfo
