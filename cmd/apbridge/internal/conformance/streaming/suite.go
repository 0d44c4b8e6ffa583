// Package streaming has the checks of the Agent Streaming Protocol: commands to a thread, and one stream of its events,
// over HTTP. Package conformance runs it. It never checks a WebSocket.
//
// Servers in use speak it in two forms: the document's, and that of LangGraph's SDKs, which have another path and names
// with underscores. The checks that say so hold to the document; all others look at the server in the form that it
// speaks.
package streaming

import (
	"net/http"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
	"github.com/google/uuid"
)

const (
	document = "Agent Streaming Protocol 0.0.13 (CDDL)"
	openapi  = "LangChain Agent Protocol 0.1.6 (openapi.json)"
	prompt   = "Write the word Washington to a file with the ending .txt"
)

// Suite returns the checks of the streaming protocol.
func Suite() check.Suite {
	return check.Suite{Name: "streaming", Title: "Agent Streaming Protocol 0.0.13", Speaks: speaks, Begin: begin}
}

// speaks asks for the tree of a thread that does not exist: a server that speaks the protocol answers in its envelope,
// also with an error, and one that has no such path does not.
func speaks(t *check.Talk) bool {
	a := t.Post("/threads/"+uuid.NewString()+"/commands", map[string]any{"id": 1, "method": "agent.getTree", "params": map[string]any{}})
	kind := a.Text("type")
	return kind == "success" || kind == "error"
}

type suite struct {
	run     check.Once[run]
	heard   check.Once[heard]
	unknown check.Once[check.Answer] // to a command that there is not
	empty   check.Once[check.Answer] // to run.start without parameters
}

func begin() []check.Check {
	s := &suite{}
	var all []check.Check
	for _, group := range [][]check.Check{s.commandChecks(), s.eventChecks(), s.messageChecks(), s.filterChecks(), s.stateChecks()} {
		all = append(all, group...)
	}
	return all
}

func cites(section string) check.Citation {
	return check.Citation{Document: document, Section: section}
}

// run is a run that was started by a command.
type run struct {
	thread  string // its path
	spelled string // why the document's spelling of run.start was not taken; "" where it was
	refused check.Answer
	started check.Answer
}

// heard is the events of the run's thread, from the first to the end of the run.
type heard struct {
	path   string
	stream check.Stream
}

// command is sent to a thread.
func command(thread, method string, params map[string]any) (path string, body map[string]any) {
	return thread + "/commands", map[string]any{"id": 7, "method": method, "params": params}
}

var success = check.Object(check.Members{"type": check.OneOf("success"), "id": check.Integer, "result": check.AnObject}, nil)

// start starts a run on a thread that it names anew.
func (s *suite) start(t *check.Talk) run {
	id := uuid.NewString()
	r := run{thread: "/threads/" + id}
	agent := s.agent(t)
	t.Remove("thread "+id, check.Request{Method: http.MethodDelete, Path: r.thread})
	input := map[string]any{"messages": []any{map[string]any{"type": "human", "role": "user", "content": prompt}}}
	r.started = t.Post(command(r.thread, "run.start", map[string]any{"assistantId": agent, "input": input}))
	if !t.Over() && (r.started.Status != http.StatusOK || r.started.Text("type") == "error") {
		r.refused, r.spelled = r.started, r.started.Text("message")
		if r.spelled == "" {
			r.spelled = "it was refused"
		}
		r.started = t.Post(command(r.thread, "run.start", map[string]any{"assistant_id": agent, "input": input}))
	}
	r.started = r.started.Is(http.StatusOK).Fits(success)
	return r
}

// follow reads the events of the thread to the end of its run, at the path that the server has.
func (s *suite) follow(t *check.Talk) (h heard) {
	thread := s.aRun(t).thread
	for _, tail := range []string{"/stream", "/stream/events"} {
		h.path = thread + tail
		h.stream = t.Stream(listen(h.path, `{"channels":["values","updates","messages","tools","lifecycle","input","checkpoints","tasks"],"since":0}`), ended)
		if h.stream.Status != http.StatusNotFound && h.stream.Status != http.StatusMethodNotAllowed {
			break
		}
	}
	h.stream.Is(http.StatusOK).Typed("text/event-stream")
	if len(h.stream.Events) == 0 {
		t.Fail("the stream has no events")
	}
	return h
}

func listen(path, body string) check.Request {
	return check.Request{Method: http.MethodPost, Path: path, Body: body, Header: map[string]string{"Accept": "text/event-stream"}}
}

// ended finds the end of the root's run.
func ended(e check.Event) bool {
	namespace, _ := check.At(e.Data, "params.namespace").([]any)
	if check.At(e.Data, "method") != "lifecycle" || len(namespace) > 0 {
		return false
	}
	switch check.At(e.Data, "params.data.event") {
	case "completed", "failed", "interrupted":
		return true
	}
	return false
}

func (s *suite) aRun(t *check.Talk) run { return s.run.Need(t, "run", s.start) }

// agent is the one of the command line, or the first that the server lists in one of its dialects.
func (s *suite) agent(t *check.Talk) string {
	if t.Agent() != "" {
		return t.Agent()
	}
	for _, kind := range []string{"agent", "assistant"} {
		a := t.Post("/"+kind+"s/search", map[string]any{"limit": 1})
		if a.Status != http.StatusOK {
			continue
		}
		if list := a.List(""); len(list) > 0 {
			id, _ := check.At(list[0], kind+"_id").(string)
			return id
		}
	}
	t.Skip("the server lists no agent, and --agent names none")
	return ""
}

// either is the member of an object by the document's name or by the SDKs'.
func either(v any, camel, snake string) any {
	if found := check.At(v, camel); found != nil {
		return found
	}
	return check.At(v, snake)
}
