// Package threadrun provides the conformance checks for protocols with threads and runs: LangChain's Agent Protocol,
// the LangGraph API as its SDKs use it, and the Agent Streaming Protocol. Package conformance runs these checks. Each
// suite's file names begin with the name of the suite. Start reading at AgentProtocol, LangGraph and Streaming.
package threadrun

import (
	"net/http"
	"slices"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
	"github.com/google/uuid"
)

const (
	agentProtocolDoc check.Document = "LangChain Agent Protocol 0.1.6 (openapi.json)"

	// prompt is cheap to process and gives the agent no reason to ask a question.
	prompt = "Write the word Washington to a file with the ending .txt"
)

// AgentProtocol returns the checks of agents, threads, runs and the store. They use no feature that only LangGraph
// servers have.
func AgentProtocol() check.Suite {
	return check.Suite{
		Name: "agentprotocol", Title: "LangChain Agent Protocol 0.1.6", Begin: beginAgentProtocol,
		Speaks: func(t *check.Talk) bool { return answersList(t, "/agents/search") },
	}
}

func answersList(t *check.Talk, path string) bool {
	a := t.Post(path, map[string]any{"limit": 1})
	_, list := a.Value().([]any)
	return a.Status == http.StatusOK && list
}

type agentProtocol struct {
	agents check.Once[check.Answer]
	thread check.Once[check.Answer] // without runs
	run    check.Once[check.Answer] // of POST /runs/wait, on a new thread
	back   check.Once[check.Answer] // of POST /runs
	item   check.Once[apItemRef]
	key    string // in the metadata of everything that is created
}

func beginAgentProtocol() []check.Check {
	s := &agentProtocol{key: uuid.NewString()}
	return slices.Concat(s.agentChecks(), s.threadChecks(), s.threadChangeChecks(), s.runChecks(), s.backgroundChecks(), s.streamChecks(), s.storeChecks())
}

// Schemas of the document.
var (
	apAgent = check.Object(
		check.Members{"agent_id": check.Text, "name": check.Text, "capabilities": check.Object(nil, check.Members{"ap.io.messages": check.Flag, "ap.io.streaming": check.Flag})},
		check.Members{"description": check.Text, "metadata": check.AnObject})
	apMessage = check.Object(check.Members{"role": check.Text, "content": check.Either(check.Text, check.List(check.AnObject))}, check.Members{"id": check.Text})
	apThread  = check.Object(
		check.Members{
			"thread_id": check.UUID, "created_at": check.Time, "updated_at": check.Time, "metadata": check.AnObject,
			"status": check.OneOf("idle", "busy", "interrupted", "error"),
		},
		check.Members{"values": check.AnObject, "messages": check.List(apMessage)})
	apState = check.Object(
		check.Members{"checkpoint": check.Object(check.Members{"checkpoint_id": check.UUID}, nil), "values": check.AnObject},
		check.Members{"messages": check.List(apMessage), "metadata": check.AnObject})
	apRun = check.Object(
		check.Members{
			"run_id": check.UUID, "created_at": check.Time, "updated_at": check.Time, "metadata": check.AnObject,
			"status": check.OneOf("pending", "error", "success", "timeout", "interrupted"),
		},
		check.Members{"thread_id": check.UUID, "agent_id": check.Text})
	apWait = check.Object(nil, check.Members{"run": apRun, "values": check.AnObject, "messages": check.List(apMessage)})
	apItem = check.Object(check.Members{
		"namespace": check.List(check.Text), "key": check.Text, "value": check.AnObject, "created_at": check.Time, "updated_at": check.Time,
	}, nil)
	apError = check.Object(nil, check.Members{"code": check.Text, "message": check.Text, "metadata": check.AnObject})
)

func (s *agentProtocol) list(t *check.Talk) check.Answer {
	return t.Post("/agents/search", map[string]any{}).Is(http.StatusOK).Fits(check.List(apAgent))
}

// agent returns the listed agent to run, or only the id of the agent from the command line.
func (s *agentProtocol) agent(t *check.Talk) map[string]any {
	if name := t.Agent(); name != "" {
		return map[string]any{"agent_id": name}
	}
	list := s.agents.Need(t, "agent", s.list).List("")
	if len(list) == 0 {
		t.Skip("the server lists no agents, and --agent is not set")
		return nil
	}
	first, _ := list[0].(map[string]any)
	return first
}

// input returns a request for a run, with messages or an input as the agent declares.
func (s *agentProtocol) input(t *check.Talk) map[string]any {
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

func (s *agentProtocol) agentChecks() []check.Check {
	first := func(t *check.Talk) string { id, _ := s.agent(t)["agent_id"].(string); return id }
	return []check.Check{
		{ID: "agentprotocol.agents.search", Level: check.Must, Says: "Agents can be listed.", Cites: agentProtocolDoc.At("search_agents, 200; schema Agent"),
			Run: func(t *check.Talk) { s.agents.Own(t, s.list) }},
		{ID: "agentprotocol.agents.search.limit", Level: check.Must, Says: "A search returns at most limit agents.", Cites: agentProtocolDoc.At("search_agents, limit"),
			Run: func(t *check.Talk) {
				s.agents.Need(t, "agent", s.list)
				if n := len(t.Post("/agents/search", map[string]any{"limit": 1}).Is(http.StatusOK).List("")); n > 1 {
					t.Fail("limit 1: there are %d agents", n)
				}
			}},
		{ID: "agentprotocol.agents.get", Level: check.Must, Says: "An agent can be fetched by its id.", Cites: agentProtocolDoc.At("get_agent, 200; schema Agent"),
			Run: func(t *check.Talk) {
				id := first(t)
				if a := t.Get("/agents/" + id).Is(http.StatusOK).Fits(apAgent); a.Text("agent_id") == "" {
					t.Fail("the agent has no agent_id")
				}
			}},
		{ID: "agentprotocol.agents.get.unknown", Level: check.Must, Says: "Fetching an unknown agent returns 404.", Cites: agentProtocolDoc.At("get_agent, 404; schema ErrorResponse"),
			Run: func(t *check.Talk) { t.Get("/agents/" + uuid.NewString()).Is(http.StatusNotFound).Fits(apError) }},
		{ID: "agentprotocol.agents.schemas", Level: check.Must, Says: "An agent returns the schemas of its input and output.", Cites: agentProtocolDoc.At("get_agent_schemas, 200; schema AgentSchema"),
			Run: func(t *check.Talk) {
				t.Get("/agents/" + first(t) + "/schemas").Is(http.StatusOK).
					Fits(check.Object(check.Members{"agent_id": check.Text, "input_schema": check.AnObject, "output_schema": check.AnObject}, nil))
			}},
	}
}
