// Package langgraph has the checks of what LangGraph's SDKs call of a LangGraph server: assistants, threads and their
// states, runs and their streams, and the store. Package conformance runs it. It cites the classes, methods and types
// of the JavaScript SDK's reference, which say what a client sends and reads. They do not say with which status a
// request is refused: any of 400 to 499 will do, and no check of that is a must.
package langgraph

import (
	"net/http"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
	"github.com/google/uuid"
)

const (
	document = "LangGraph SDK reference (JavaScript, @langchain/langgraph-sdk 1.12.0)"
	prompt   = "Write the word Washington to a file with the ending .txt"
)

// Suite returns the checks of what LangGraph's SDKs call.
func Suite() check.Suite {
	return check.Suite{Name: "langgraph", Title: "LangGraph server, as its SDKs call it", Speaks: speaks, Begin: begin}
}

func speaks(t *check.Talk) bool {
	a := t.Post("/assistants/search", map[string]any{"limit": 1})
	_, list := a.Value().([]any)
	return a.Status == http.StatusOK && list
}

type suite struct {
	assistants check.Once[check.Answer]
	thread     check.Once[check.Answer] // without runs
	ran        check.Once[ran]          // a thread with a streamed run
	item       check.Once[item]
	key        string // of the metadata of what is made here
}

func begin() []check.Check {
	s := &suite{key: uuid.NewString()}
	var all []check.Check
	for _, group := range [][]check.Check{s.assistantChecks(), s.threadChecks(), s.stateChecks(), s.streamChecks(), s.runChecks(), s.storeChecks()} {
		all = append(all, group...)
	}
	return all
}

func cites(section string) check.Citation {
	return check.Citation{Document: document, Section: section}
}

// The types of the SDK, without the members that no part of it reads.
var (
	assistantShape = check.Object(check.Members{"assistant_id": check.Text, "graph_id": check.Text, "config": check.AnObject, "metadata": check.OrNull(check.AnObject)}, nil)
	threadShape    = check.Object(
		check.Members{
			"thread_id": check.Text, "created_at": check.Time, "updated_at": check.Time, "metadata": check.OrNull(check.AnObject),
			"status": check.OneOf("idle", "busy", "interrupted", "error"),
		},
		check.Members{"values": check.OrNull(check.Any), "interrupts": check.OrNull(check.AnObject)})
	runShape = check.Object(check.Members{
		"run_id": check.Text, "thread_id": check.Text, "assistant_id": check.Text, "created_at": check.Time, "updated_at": check.Time,
		"metadata": check.OrNull(check.AnObject), "status": check.OneOf("pending", "running", "error", "success", "timeout", "interrupted"),
	}, nil)
	checkpoint = check.Object(check.Members{"thread_id": check.Text, "checkpoint_ns": check.Text}, check.Members{"checkpoint_id": check.OrNull(check.Text)})
	stateShape = check.Object(
		check.Members{"values": check.Any, "next": check.List(check.Text), "checkpoint": checkpoint, "tasks": check.List(check.AnObject)},
		check.Members{"metadata": check.OrNull(check.AnObject), "parent_checkpoint": check.OrNull(check.Object(nil, nil))})
)

func unknown() string { return uuid.NewString() }

func (s *suite) list(t *check.Talk) check.Answer {
	return t.Post("/assistants/search", map[string]any{}).Is(http.StatusOK).Fits(check.List(assistantShape))
}

// assistant is the id of the one to run.
func (s *suite) assistant(t *check.Talk) string {
	if name := t.Agent(); name != "" {
		return name
	}
	list := s.assistants.Need(t, "assistant", s.list).List("")
	if len(list) == 0 {
		t.Skip("the server lists no assistant, and --agent names none")
		return ""
	}
	id, _ := check.At(list[0], "assistant_id").(string)
	return id
}

func (s *suite) assistantChecks() []check.Check {
	return []check.Check{
		{ID: "langgraph.assistants.search", Level: check.Must, Says: "Assistants are listed.", Cites: cites("AssistantsClient.search; type Assistant"),
			Run: func(t *check.Talk) { s.assistants.Own(t, s.list) }},
		{ID: "langgraph.assistants.count", Level: check.Must, Says: "Assistants are counted.", Cites: cites("AssistantsClient.count"),
			Run: func(t *check.Talk) {
				s.assistant(t)
				t.Post("/assistants/count", map[string]any{}).Is(http.StatusOK).Fits(check.Integer)
			}},
		{ID: "langgraph.assistants.get", Level: check.Must, Says: "An assistant is found by its id.", Cites: cites("AssistantsClient.get; type Assistant"),
			Run: func(t *check.Talk) {
				t.Get("/assistants/" + s.assistant(t)).Is(http.StatusOK).Fits(assistantShape)
			}},
		{ID: "langgraph.assistants.get.unknown", Level: check.Should, Says: "An unknown assistant is refused.", Cites: cites("AssistantsClient.get"),
			Run: func(t *check.Talk) { s.assistant(t); t.Get("/assistants/" + unknown()).Refused() }},
		{ID: "langgraph.assistants.schemas", Level: check.Must, Says: "An assistant tells its graph's schemas.", Cites: cites("AssistantsClient.getSchemas; type GraphSchema"),
			Run: func(t *check.Talk) {
				t.Get("/assistants/" + s.assistant(t) + "/schemas").Is(http.StatusOK).Fits(check.Object(check.Members{"graph_id": check.Text}, nil))
			}},
		{ID: "langgraph.assistants.graph", Level: check.Must, Says: "An assistant tells its graph's nodes and edges.", Cites: cites("AssistantsClient.getGraph; type AssistantGraph"),
			Run: func(t *check.Talk) {
				t.Get("/assistants/" + s.assistant(t) + "/graph").Is(http.StatusOK).
					Fits(check.Object(check.Members{"nodes": check.List(check.AnObject), "edges": check.List(check.AnObject)}, nil))
			}},
	}
}
