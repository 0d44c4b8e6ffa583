package threadrun

import (
	"net/http"
	"slices"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
	"github.com/google/uuid"
)

const streamingDoc check.Document = "Agent Streaming Protocol 0.0.13 (CDDL)"

// Streaming returns the checks of commands and event streams over HTTP, without WebSockets.
//
// Servers speak the protocol in two forms: the document's, and that of LangGraph's SDKs, with another path and names
// with underscores. Checks of names and of the path require the document's form. All others accept both.
func Streaming() check.Suite {
	return check.Suite{Name: "streaming", Title: "Agent Streaming Protocol 0.0.13", Speaks: speaksStreaming, Begin: beginStreaming}
}

// speaksStreaming requests the tree of an unknown thread. Only a server that speaks the protocol responds in its
// envelope, even if the response is an error.
func speaksStreaming(t *check.Talk) bool {
	a := t.Post("/threads/"+uuid.NewString()+"/commands", map[string]any{"id": 1, "method": "agent.getTree", "params": map[string]any{}})
	kind := a.Text("type")
	return kind == "success" || kind == "error"
}

type streaming struct {
	run     check.Once[startedRun]
	heard   check.Once[eventLog]
	unknown check.Once[check.Answer] // to an unknown command
	empty   check.Once[check.Answer] // to run.start without parameters
}

func beginStreaming() []check.Check {
	s := &streaming{}
	return slices.Concat(s.commandChecks(), s.eventChecks(), s.messageChecks(), s.filterChecks(), s.stateChecks())
}

// startedRun is a run that was started by a command.
type startedRun struct {
	thread  string // its path
	spelled string // why the document's spelling of run.start was refused, or "" if it was accepted
	refused check.Answer
	started check.Answer
}

// eventLog holds the events of the run's thread up to the end of the run.
type eventLog struct {
	path   string
	stream check.Stream
}

func command(thread, method string, params map[string]any) (path string, body map[string]any) {
	return thread + "/commands", map[string]any{"id": 7, "method": method, "params": params}
}

var success = check.Object(check.Members{"type": check.OneOf("success"), "id": check.Integer, "result": check.AnObject}, nil)

// start starts a run on a new thread.
func (s *streaming) start(t *check.Talk) startedRun {
	agent := s.agent(t)
	r := startedRun{thread: newThreadPath(t)}
	input := map[string]any{"messages": []any{map[string]any{"type": "human", "role": "user", "content": prompt}}}
	r.started = t.Post(command(r.thread, "run.start", map[string]any{"assistantId": agent, "input": input}))
	if !t.Over() && (r.started.Status != http.StatusOK || r.started.Text("type") == "error") {
		r.refused, r.spelled = r.started, r.started.Text("message")
		if r.spelled == "" {
			r.spelled = "the command was refused"
		}
		r.thread = newThreadPath(t) // the command may have started a run in spite of its response
		r.started = t.Post(command(r.thread, "run.start", map[string]any{"assistant_id": agent, "input": input}))
	}
	r.started = r.started.Is(http.StatusOK).Fits(success)
	return r
}

// newThreadPath returns the path of a thread that does not exist yet. It is deleted at the end.
func newThreadPath(t *check.Talk) string {
	id := uuid.NewString()
	path := "/threads/" + id
	t.Remove("thread "+id, check.Request{Method: http.MethodDelete, Path: path})
	return path
}

// follow reads the events up to the end of the run, at either path.
func (s *streaming) follow(t *check.Talk) (h eventLog) {
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

// ended reports whether an event ends the run.
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

func (s *streaming) aRun(t *check.Talk) startedRun { return s.run.Need(t, "run", s.start) }

// agent returns the agent named on the command line, or the first agent that the server lists in either dialect.
func (s *streaming) agent(t *check.Talk) string {
	if t.Agent() != "" {
		return t.Agent()
	}
	for _, kind := range []string{"agent", "assistant"} {
		a := t.Post("/"+kind+"s/search", map[string]any{"limit": 1})
		if a.Status != http.StatusOK {
			continue
		}
		if list := a.List(""); len(list) > 0 {
			id := check.TextAt(list[0], kind+"_id")
			return id
		}
	}
	t.Skip("the server lists no agents, and --agent is not set")
	return ""
}

// either returns a member by the document's name or by the SDKs' name.
func either(v any, camel, snake string) any {
	if found := check.At(v, camel); found != nil {
		return found
	}
	return check.At(v, snake)
}
