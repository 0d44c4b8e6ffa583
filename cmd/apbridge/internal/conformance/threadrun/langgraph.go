package threadrun

import (
	"net/http"
	"slices"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
	"github.com/google/uuid"
)

const langGraphDoc check.Document = "LangGraph SDK reference (JavaScript, @langchain/langgraph-sdk 1.12.0)"

// LangGraph returns the checks of assistants, threads, states, runs and the store of a LangGraph server. They cite the
// reference of the JavaScript SDK, which defines the requests and responses of its clients but not the status of a
// refusal. Any status from 400 to 499 therefore passes, and no check of a refusal is a Must.
func LangGraph() check.Suite {
	return check.Suite{
		Name: "langgraph", Title: "LangGraph server, as its SDKs call it", Begin: beginLangGraph,
		Speaks: func(t *check.Talk) bool { return answersList(t, "/assistants/search") },
	}
}

type langGraph struct {
	assistants check.Once[check.Answer]
	thread     check.Once[check.Answer] // without runs
	ran        check.Once[streamedRun]
	item       check.Once[lgItemRef]
	key        string // in the metadata of everything that is created
}

func beginLangGraph() []check.Check {
	s := &langGraph{key: uuid.NewString()}
	return slices.Concat(s.assistantChecks(), s.threadChecks(), s.stateChecks(), s.streamChecks(), s.runChecks(), s.storeChecks())
}

// Types of the SDK, without members that it does not read.
var (
	lgAssistant = check.Object(check.Members{"assistant_id": check.Text, "graph_id": check.Text, "config": check.AnObject, "metadata": check.OrNull(check.AnObject)}, nil)
	lgThread    = check.Object(
		check.Members{
			"thread_id": check.Text, "created_at": check.Time, "updated_at": check.Time, "metadata": check.OrNull(check.AnObject),
			"status": check.OneOf("idle", "busy", "interrupted", "error"),
		},
		check.Members{"values": check.OrNull(check.Any), "interrupts": check.OrNull(check.AnObject)})
	lgRun = check.Object(check.Members{
		"run_id": check.Text, "thread_id": check.Text, "assistant_id": check.Text, "created_at": check.Time, "updated_at": check.Time,
		"metadata": check.OrNull(check.AnObject), "status": check.OneOf("pending", "running", "error", "success", "timeout", "interrupted"),
	}, nil)
	lgCheckpoint = check.Object(check.Members{"thread_id": check.Text, "checkpoint_ns": check.Text}, check.Members{"checkpoint_id": check.OrNull(check.Text)})
	lgState      = check.Object(
		check.Members{"values": check.Any, "next": check.List(check.Text), "checkpoint": lgCheckpoint, "tasks": check.List(check.AnObject)},
		check.Members{"metadata": check.OrNull(check.AnObject), "parent_checkpoint": check.OrNull(check.Object(nil, nil))})
)

func (s *langGraph) list(t *check.Talk) check.Answer {
	return t.Post("/assistants/search", map[string]any{}).Is(http.StatusOK).Fits(check.List(lgAssistant))
}

// assistant returns the id of the assistant to run.
func (s *langGraph) assistant(t *check.Talk) string {
	if name := t.Agent(); name != "" {
		return name
	}
	list := s.assistants.Need(t, "assistant", s.list).List("")
	if len(list) == 0 {
		t.Skip("the server lists no assistants, and --agent is not set")
		return ""
	}
	id := check.TextAt(list[0], "assistant_id")
	return id
}

func (s *langGraph) assistantChecks() []check.Check {
	return []check.Check{
		{ID: "langgraph.assistants.search", Level: check.Must, Says: "Assistants can be listed.", Cites: langGraphDoc.At("AssistantsClient.search; type Assistant"),
			Run: func(t *check.Talk) { s.assistants.Own(t, s.list) }},
		{ID: "langgraph.assistants.count", Level: check.Must, Says: "Assistants can be counted.", Cites: langGraphDoc.At("AssistantsClient.count"),
			Run: func(t *check.Talk) {
				s.assistant(t)
				t.Post("/assistants/count", map[string]any{}).Is(http.StatusOK).Fits(check.Integer)
			}},
		{ID: "langgraph.assistants.get", Level: check.Must, Says: "An assistant can be fetched by its id.", Cites: langGraphDoc.At("AssistantsClient.get; type Assistant"),
			Run: func(t *check.Talk) {
				t.Get("/assistants/" + s.assistant(t)).Is(http.StatusOK).Fits(lgAssistant)
			}},
		{ID: "langgraph.assistants.get.unknown", Level: check.Should, Says: "Fetching an unknown assistant is refused.", Cites: langGraphDoc.At("AssistantsClient.get"),
			Run: func(t *check.Talk) { s.assistant(t); t.Get("/assistants/" + uuid.NewString()).Refused() }},
		{ID: "langgraph.assistants.schemas", Level: check.Must, Says: "An assistant returns its graph's schemas.", Cites: langGraphDoc.At("AssistantsClient.getSchemas; type GraphSchema"),
			Run: func(t *check.Talk) {
				t.Get("/assistants/" + s.assistant(t) + "/schemas").Is(http.StatusOK).Fits(check.Object(check.Members{"graph_id": check.Text}, nil))
			}},
		{ID: "langgraph.assistants.graph", Level: check.Must, Says: "An assistant returns its graph's nodes and edges.", Cites: langGraphDoc.At("AssistantsClient.getGraph; type AssistantGraph"),
			Run: func(t *check.Talk) {
				t.Get("/assistants/" + s.assistant(t) + "/graph").Is(http.StatusOK).
					Fits(check.Object(check.Members{"nodes": check.List(check.AnObject), "edges": check.List(check.AnObject)}, nil))
			}},
	}
}
