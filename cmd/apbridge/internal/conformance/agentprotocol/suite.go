// Package agentprotocol has the checks of LangChain's Agent Protocol: agents, threads, runs and the store, by its
// openapi.json. Package conformance runs it. Its streaming protocol is package streaming. It never asks for what only a
// LangGraph server has.
package agentprotocol

import (
	"net/http"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
	"github.com/google/uuid"
)

const (
	document = "LangChain Agent Protocol 0.1.6 (openapi.json)"
	prompt   = "Write the word Washington to a file with the ending .txt"
)

// Suite returns the checks of the Agent Protocol.
func Suite() check.Suite {
	return check.Suite{Name: "agentprotocol", Title: "LangChain Agent Protocol 0.1.6", Speaks: speaks, Begin: begin}
}

func speaks(t *check.Talk) bool {
	a := t.Post("/agents/search", map[string]any{"limit": 1})
	_, list := a.Value().([]any)
	return a.Status == http.StatusOK && list
}

type suite struct {
	agents check.Once[check.Answer]
	thread check.Once[check.Answer] // without runs
	run    check.Once[check.Answer] // POST /runs/wait, on a thread of its own
	back   check.Once[check.Answer] // POST /runs
	item   check.Once[store]
	key    string // of the metadata of what is made here
}

func begin() []check.Check {
	s := &suite{key: uuid.NewString()}
	var all []check.Check
	for _, group := range [][]check.Check{s.agentChecks(), s.threadChecks(), s.threadChangeChecks(), s.runChecks(), s.backgroundChecks(), s.streamChecks(), s.storeChecks()} {
		all = append(all, group...)
	}
	return all
}

func cites(section string) check.Citation {
	return check.Citation{Document: document, Section: section}
}

// The schemas of the document.
var (
	agentShape = check.Object(
		check.Members{"agent_id": check.Text, "name": check.Text, "capabilities": check.Object(nil, check.Members{"ap.io.messages": check.Flag, "ap.io.streaming": check.Flag})},
		check.Members{"description": check.Text, "metadata": check.AnObject})
	message     = check.Object(check.Members{"role": check.Text, "content": check.Either(check.Text, check.List(check.AnObject))}, check.Members{"id": check.Text})
	threadShape = check.Object(
		check.Members{
			"thread_id": check.UUID, "created_at": check.Time, "updated_at": check.Time, "metadata": check.AnObject,
			"status": check.OneOf("idle", "busy", "interrupted", "error"),
		},
		check.Members{"values": check.AnObject, "messages": check.List(message)})
	stateShape = check.Object(
		check.Members{"checkpoint": check.Object(check.Members{"checkpoint_id": check.UUID}, nil), "values": check.AnObject},
		check.Members{"messages": check.List(message), "metadata": check.AnObject})
	runShape = check.Object(
		check.Members{
			"run_id": check.UUID, "created_at": check.Time, "updated_at": check.Time, "metadata": check.AnObject,
			"status": check.OneOf("pending", "error", "success", "timeout", "interrupted"),
		},
		check.Members{"thread_id": check.UUID, "agent_id": check.Text})
	waitShape = check.Object(nil, check.Members{"run": runShape, "values": check.AnObject, "messages": check.List(message)})
	itemShape = check.Object(check.Members{
		"namespace": check.List(check.Text), "key": check.Text, "value": check.AnObject, "created_at": check.Time, "updated_at": check.Time,
	}, nil)
	errorShape = check.Object(nil, check.Members{"code": check.Text, "message": check.Text, "metadata": check.AnObject})
)

// unknown is an id that nothing has.
func unknown() string { return uuid.NewString() }

func (s *suite) list(t *check.Talk) check.Answer {
	return t.Post("/agents/search", map[string]any{}).Is(http.StatusOK).Fits(check.List(agentShape))
}

// agent is the one to run, as the list has it, or by the name of the command line.
func (s *suite) agent(t *check.Talk) map[string]any {
	if name := t.Agent(); name != "" {
		return map[string]any{"agent_id": name}
	}
	list := s.agents.Need(t, "agent", s.list).List("")
	if len(list) == 0 {
		t.Skip("the server lists no agent, and --agent names none")
		return nil
	}
	first, _ := list[0].(map[string]any)
	return first
}

// input is what an agent is asked to do, in the form that it says it takes.
func (s *suite) input(t *check.Talk) map[string]any {
	agent := s.agent(t)
	body := map[string]any{"agent_id": agent["agent_id"], "metadata": map[string]any{"checked": s.key}}
	if t.Agent() != "" {
		known := t.Get("/agents/" + t.Agent())
		agent, _ = known.Value().(map[string]any)
	}
	turn := []any{map[string]any{"role": "user", "content": prompt}}
	if takesMessages(agent) {
		body["messages"] = turn
	} else {
		body["input"] = map[string]any{"messages": turn}
	}
	return body
}

func takesMessages(agent map[string]any) bool {
	capabilities, _ := agent["capabilities"].(map[string]any)
	return capabilities["ap.io.messages"] == true
}

func (s *suite) agentChecks() []check.Check {
	first := func(t *check.Talk) string { id, _ := s.agent(t)["agent_id"].(string); return id }
	return []check.Check{
		{ID: "agentprotocol.agents.search", Level: check.Must, Says: "Agents are listed.", Cites: cites("search_agents, 200; schema Agent"),
			Run: func(t *check.Talk) { s.agents.Own(t, s.list) }},
		{ID: "agentprotocol.agents.search.limit", Level: check.Must, Says: "A search has no more agents than its limit.", Cites: cites("search_agents, limit"),
			Run: func(t *check.Talk) {
				s.agents.Need(t, "agent", s.list)
				if n := len(t.Post("/agents/search", map[string]any{"limit": 1}).Is(http.StatusOK).List("")); n > 1 {
					t.Fail("limit 1: there are %d agents", n)
				}
			}},
		{ID: "agentprotocol.agents.get", Level: check.Must, Says: "An agent is found by its id.", Cites: cites("get_agent, 200; schema Agent"),
			Run: func(t *check.Talk) {
				id := first(t)
				if a := t.Get("/agents/" + id).Is(http.StatusOK).Fits(agentShape); a.Text("agent_id") == "" {
					t.Fail("it has no agent_id")
				}
			}},
		{ID: "agentprotocol.agents.get.unknown", Level: check.Must, Says: "An unknown agent is answered 404.", Cites: cites("get_agent, 404; schema ErrorResponse"),
			Run: func(t *check.Talk) { t.Get("/agents/" + unknown()).Is(http.StatusNotFound).Fits(errorShape) }},
		{ID: "agentprotocol.agents.schemas", Level: check.Must, Says: "An agent tells the schemas of its input and output.", Cites: cites("get_agent_schemas, 200; schema AgentSchema"),
			Run: func(t *check.Talk) {
				t.Get("/agents/" + first(t) + "/schemas").Is(http.StatusOK).
					Fits(check.Object(check.Members{"agent_id": check.Text, "input_schema": check.AnObject, "output_schema": check.AnObject}, nil))
			}},
	}
}
