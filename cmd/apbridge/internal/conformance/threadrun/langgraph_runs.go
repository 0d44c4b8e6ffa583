package threadrun

import (
	"net/http"
	"regexp"
	"slices"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
	"github.com/google/uuid"
)

// streamedRun is a thread with a streamed run.
type streamedRun struct {
	thread string // its path
	stream check.Stream
}

func (s *langGraph) body(t *check.Talk) map[string]any {
	return map[string]any{
		"assistant_id": s.assistant(t), "metadata": map[string]any{"checked": s.key},
		"input": map[string]any{"messages": []any{map[string]any{"role": "user", "content": prompt}}},
	}
}

func (s *langGraph) stream(t *check.Talk) streamedRun {
	s.aThread(t)
	thread := "/threads/" + s.makeThread(t).ID("thread_id")
	body := s.body(t)
	body["stream_mode"] = []string{"values", "updates"}
	return streamedRun{thread, t.Events(thread+"/runs/stream", body)}
}

func (s *langGraph) aRun(t *check.Talk) streamedRun { return s.ran.Need(t, "run", s.stream) }

func (s *langGraph) streamChecks() []check.Check {
	return []check.Check{
		{ID: "langgraph.runs.stream", Level: check.Must, Says: "A run on a thread can be streamed, and the stream ends when the run does.", Cites: langGraphDoc.At("RunsClient.stream"),
			Run: func(t *check.Talk) { s.ran.Own(t, s.stream) }},
		{ID: "langgraph.runs.stream.json", Level: check.Must, Says: "The data of each event is JSON.", Cites: langGraphDoc.At("RunsClient.stream, which parses it"),
			Run: func(t *check.Talk) {
				got := s.aRun(t).stream
				for _, e := range got.Events {
					if !e.JSON {
						got.In(t)
						t.Fail("the data of an event named %q is not JSON", e.Name)
					}
				}
			}},
		{ID: "langgraph.runs.stream.metadata", Level: check.Must, Says: "The first event is metadata and contains the run_id.", Cites: langGraphDoc.At("RunsClient.stream; type MetadataStreamEvent"),
			Run: func(t *check.Talk) {
				got := s.aRun(t).stream
				if got.In(t); len(got.Events) == 0 || got.Events[0].Name != "metadata" || check.At(got.Events[0].Data, "run_id") == nil {
					t.Fail("the events are %v, but the first has no run_id", got.Names())
				}
			}},
		{ID: "langgraph.runs.stream.modes", Level: check.Must, Says: "A stream has the requested modes and no others.", Cites: langGraphDoc.At("RunsClient.stream, streamMode; types ValuesStreamEvent and UpdatesStreamEvent"), Run: s.modes},
		{ID: "langgraph.runs.stream.values", Level: check.Must, Says: "The last values of a stream are those of the thread's state.", Cites: langGraphDoc.At("RunsClient.stream; ThreadsClient.getState"), Run: s.lastValues},
		{ID: "langgraph.runs.stream.location", Level: check.Must, Says: "The response to a new run has its path in Content-Location.", Cites: langGraphDoc.At("RunsClient.stream, onRunCreated"),
			Run: func(t *check.Talk) {
				r := s.aRun(t)
				if r.stream.In(t); t.Over() {
					return
				}
				if at := r.stream.Header.Get("Content-Location"); !regexp.MustCompile(`^` + r.thread + `/runs/[^/?]+$`).MatchString(at) {
					t.Fail("Content-Location is %q, not %s/runs/ID", at, r.thread)
				}
			}},
	}
}

func (s *langGraph) modes(t *check.Talk) {
	got := s.aRun(t).stream
	got.In(t)
	for _, mode := range []string{"values", "updates"} {
		if _, ok := got.First(mode); !ok {
			t.Fail("there is no event named %s, only %v", mode, got.Names())
		}
	}
	for _, name := range got.Names() {
		if !slices.Contains([]string{"metadata", "values", "updates", "error", "end", "feedback"}, name) {
			t.Fail("there is an event named %q, which was not requested", name)
		}
	}
}

// lastValues compares the messages only, since a state may have more members.
func (s *langGraph) lastValues(t *check.Talk) {
	r := s.aRun(t)
	var last any
	for _, e := range r.stream.Events {
		if e.Name == "values" {
			last = check.At(e.Data, "messages")
		}
	}
	streamed, _ := last.([]any)
	if len(streamed) == 0 {
		t.Skip("the values of this graph have no messages")
	}
	kept := t.Get(r.thread + "/state").Is(http.StatusOK).List("values.messages")
	if len(kept) != len(streamed) {
		t.Fail("the stream's last values have %d messages, but the state has %d", len(streamed), len(kept))
	}
	for i := range min(len(kept), len(streamed)) {
		if check.At(kept[i], "id") != check.At(streamed[i], "id") {
			t.Fail("message %d has the id %v in the stream and %v in the state", i+1, check.At(streamed[i], "id"), check.At(kept[i], "id"))
		}
	}
}

// background creates a run on a new thread and returns the paths of both.
func (s *langGraph) background(t *check.Talk) (thread, run string) {
	thread = "/threads/" + s.makeThread(t).ID("thread_id")
	return thread, thread + "/runs/" + t.Post(thread+"/runs", s.body(t)).Is(http.StatusOK).Fits(lgRun).ID("run_id")
}

func (s *langGraph) runChecks() []check.Check {
	return []check.Check{
		{ID: "langgraph.runs.wait", Level: check.Must, Says: "Waiting for a run returns its values as an object.", Cites: langGraphDoc.At("RunsClient.wait"),
			Run: func(t *check.Talk) {
				s.aRun(t)
				t.Post("/threads/"+s.makeThread(t).ID("thread_id")+"/runs/wait", s.body(t)).Is(http.StatusOK).Fits(check.AnObject)
			}},
		{ID: "langgraph.runs.wait.stateless", Level: check.Must, Says: "A run without a thread can be waited for.", Cites: langGraphDoc.At("RunsClient.wait, threadId null"),
			Run: func(t *check.Talk) {
				s.aRun(t)
				t.Post("/runs/wait", s.body(t)).Is(http.StatusOK).Fits(check.AnObject)
			}},
		{ID: "langgraph.runs.create", Level: check.Must, Says: "A background run can be created, fetched, joined and listed.", Cites: langGraphDoc.At("RunsClient.create, get, join and list; type Run"), Run: s.life},
		{ID: "langgraph.runs.get.unknown", Level: check.Should, Says: "Fetching an unknown run is refused.", Cites: langGraphDoc.At("RunsClient.get"),
			Run: func(t *check.Talk) { t.Get(s.aRun(t).thread + "/runs/" + uuid.NewString()).Refused() }},
		{ID: "langgraph.runs.thread.unknown", Level: check.Should, Says: "Creating a run on an unknown thread is refused.", Cites: langGraphDoc.At("RunsClient.create; type RunsInvokePayload, ifNotExists"),
			Run: func(t *check.Talk) {
				s.aRun(t)
				body := s.body(t)
				body["if_not_exists"] = "reject"
				t.Post("/threads/"+uuid.NewString()+"/runs", body).Refused()
			}},
		{ID: "langgraph.runs.assistant.unknown", Level: check.Should, Says: "Creating a run of an unknown assistant is refused.", Cites: langGraphDoc.At("RunsClient.create, assistantId"),
			Run: func(t *check.Talk) {
				s.aRun(t)
				body := s.body(t)
				body["assistant_id"] = uuid.NewString()
				t.Post("/threads/"+s.makeThread(t).ID("thread_id")+"/runs", body).Refused()
			}},
		{ID: "langgraph.runs.cancel", Level: check.Must, Says: "A cancelled run has ended.", Cites: langGraphDoc.At("RunsClient.cancel"),
			Run: func(t *check.Talk) {
				s.aRun(t)
				_, run := s.background(t)
				a := t.Send(check.Request{Method: http.MethodPost, Path: run + "/cancel?wait=1&action=interrupt"})
				if a.Status != http.StatusConflict && a.Status != http.StatusNotFound { // it may have ended before
					a.Is(http.StatusOK, http.StatusAccepted, http.StatusNoContent)
				}
				t.Get(run + "/join").Is(http.StatusOK)
				if status := t.Get(run).Is(http.StatusOK).Text("status"); status == "pending" || status == "running" {
					t.Fail("the status is %s", status)
				}
			}},
		{ID: "langgraph.runs.delete", Level: check.Must, Says: "A deleted run can no longer be fetched.", Cites: langGraphDoc.At("RunsClient.delete"),
			Run: func(t *check.Talk) {
				s.aRun(t)
				_, run := s.background(t)
				t.Get(run + "/join").Is(http.StatusOK)
				t.Delete(run).Is(http.StatusOK, http.StatusNoContent)
				t.Get(run).Refused()
			}},
		{ID: "langgraph.runs.join.stream", Level: check.Must, Says: "Streaming a finished run succeeds, and the stream ends.", Cites: langGraphDoc.At("RunsClient.joinStream"),
			Run: func(t *check.Talk) {
				s.aRun(t)
				_, run := s.background(t)
				t.Get(run + "/join").Is(http.StatusOK)
				t.Stream(check.Request{Method: http.MethodGet, Path: run + "/stream"}, nil).Is(http.StatusOK).Typed("text/event-stream")
			}},
	}
}

func (s *langGraph) life(t *check.Talk) {
	s.aRun(t)
	thread, run := s.background(t)
	t.Get(run).Is(http.StatusOK).Fits(lgRun)
	t.Get(run + "/join").Is(http.StatusOK)
	if status := t.Get(run).Is(http.StatusOK).Text("status"); (status == "pending" || status == "running") && !t.Over() {
		t.Fail("the run was joined, but its status is %s", status)
	}
	a := t.Get(thread + "/runs").Is(http.StatusOK).Fits(check.List(lgRun))
	if !t.Over() && !check.Holds(a.List(""), "run_id", run[len(thread+"/runs/"):]) {
		t.Fail("the run is not in the thread's list")
	}
}
