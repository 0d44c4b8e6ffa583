package threadrun

import (
	"net/http"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
	"github.com/google/uuid"
)

// wait creates a run whose thread is kept until the end of all checks.
func (s *agentProtocol) wait(t *check.Talk) check.Answer {
	body := s.input(t)
	body["on_completion"] = "keep"
	a := t.Post("/runs/wait", body).Is(http.StatusOK).Fits(apWait)
	if thread := a.Text("run.thread_id"); thread != "" {
		removeThread(t, thread)
	}
	return a
}

func (s *agentProtocol) aRun(t *check.Talk) check.Answer { return s.run.Need(t, "run", s.wait).In(t) }

func (s *agentProtocol) create(t *check.Talk) check.Answer {
	body := s.input(t)
	body["on_completion"] = "keep"
	a := t.Post("/runs", body).Is(http.StatusOK).Fits(apRun)
	if thread := a.Text("thread_id"); thread != "" {
		removeThread(t, thread)
	}
	return a
}

// aBackground returns the path of a background run.
func (s *agentProtocol) aBackground(t *check.Talk) string {
	return "/runs/" + s.back.Need(t, "run", s.create).In(t).ID("run_id")
}

func (s *agentProtocol) runChecks() []check.Check {
	return []check.Check{
		{ID: "agentprotocol.runs.wait", Level: check.Must, Says: "Creating a run and waiting for it returns the finished run.", Cites: agentProtocolDoc.At("create_and_wait_run, 200; schemas RunWaitResponse and Run"),
			Run: func(t *check.Talk) { s.run.Own(t, s.wait) }},
		{ID: "agentprotocol.runs.wait.run", Level: check.Should, Says: "The response after waiting for a run contains the run, and its status is final.", Cites: agentProtocolDoc.At("schema RunWaitResponse, run"),
			Run: func(t *check.Talk) {
				a := s.aRun(t)
				if status := a.ID("run.status"); status == "pending" {
					t.Fail("the status of the run is %s", status)
				}
			}},
		{ID: "agentprotocol.runs.wait.output", Level: check.Should, Says: "The response after waiting for a run contains its output.", Cites: agentProtocolDoc.At("create_and_wait_run, description; schema RunWaitResponse, values and messages"),
			Run: func(t *check.Talk) {
				a := s.aRun(t)
				if a.At("values") == nil && a.At("messages") == nil {
					t.Fail("the response has neither values nor messages")
				}
			}},
		{ID: "agentprotocol.runs.wait.messages", Level: check.Must, Says: "An agent that accepts messages returns messages.", Cites: agentProtocolDoc.At("schema Agent, capabilities ap.io.messages; schema RunWaitResponse, messages"),
			Run: func(t *check.Talk) {
				a := s.aRun(t)
				if !takesMessages(s.agent(t)) {
					t.Skip("the agent does not declare ap.io.messages")
				}
				a = a.In(t)
				if a.At("values") == nil && a.At("messages") == nil {
					t.Skip("the run has no output to check")
				}
				if len(a.List("messages")) == 0 && !t.Over() {
					t.Fail("there are no messages")
				}
			}},
		{ID: "agentprotocol.runs.agent.unknown", Level: check.Must, Says: "Creating a run of an unknown agent returns 404.", Cites: agentProtocolDoc.At("create_and_wait_run, 404"),
			Run: func(t *check.Talk) {
				s.aRun(t)
				t.Post("/runs/wait", map[string]any{"agent_id": uuid.NewString(), "input": map[string]any{}}).Is(http.StatusNotFound)
			}},
		{ID: "agentprotocol.runs.thread.unknown", Level: check.Must, Says: "Creating a run on an unknown thread returns 404.", Cites: agentProtocolDoc.At("create_and_wait_run, 404; schema RunCreate, if_not_exists, default reject"),
			Run: func(t *check.Talk) {
				s.aRun(t)
				body := s.input(t)
				body["thread_id"] = uuid.NewString()
				t.Post("/runs/wait", body).Is(http.StatusNotFound)
			}},
		{ID: "agentprotocol.runs.invalid", Level: check.Must, Says: "Creating a run whose agent_id is a number returns 422.", Cites: agentProtocolDoc.At("create_and_wait_run, 422; schema RunCreate, agent_id"),
			Run: func(t *check.Talk) {
				t.Post("/runs/wait", map[string]any{"agent_id": 5}).Is(http.StatusUnprocessableEntity).Fits(apError)
			}},
	}
}

func (s *agentProtocol) backgroundChecks() []check.Check {
	return []check.Check{
		{ID: "agentprotocol.runs.create", Level: check.Must, Says: "Creating a background run returns a Run.", Cites: agentProtocolDoc.At("create_run, 200; schema Run"),
			Run: func(t *check.Talk) { s.back.Own(t, s.create) }},
		{ID: "agentprotocol.runs.join", Level: check.Must, Says: "A background run can be waited for.", Cites: agentProtocolDoc.At("wait_run, 200; schema RunWaitResponse"),
			Run: func(t *check.Talk) { t.Get(s.aBackground(t) + "/wait").Is(http.StatusOK).Fits(apWait) }},
		{ID: "agentprotocol.runs.get", Level: check.Must, Says: "A run can be fetched by its id.", Cites: agentProtocolDoc.At("get_run, 200; schema Run"),
			Run: func(t *check.Talk) {
				path := s.aBackground(t)
				if a := t.Get(path).Is(http.StatusOK).Fits(apRun); "/runs/"+a.Text("run_id") != path {
					t.Fail("the run_id is %q", a.Text("run_id"))
				}
			}},
		{ID: "agentprotocol.runs.get.unknown", Level: check.Must, Says: "Fetching an unknown run returns 404.", Cites: agentProtocolDoc.At("get_run, 404; schema ErrorResponse"),
			Run: func(t *check.Talk) {
				s.aBackground(t)
				t.Get("/runs/" + uuid.NewString()).Is(http.StatusNotFound).Fits(apError)
			}},
		{ID: "agentprotocol.runs.search", Level: check.Must, Says: "Runs can be searched by metadata.", Cites: agentProtocolDoc.At("search_runs, 200; schema RunSearchRequest, metadata"),
			Run: func(t *check.Talk) {
				path := s.aBackground(t)
				a := t.Post("/runs/search", map[string]any{"metadata": map[string]any{"checked": s.key}}).Is(http.StatusOK).Fits(check.List(apRun))
				if !t.Over() && !check.Holds(a.List(""), "run_id", path[len("/runs/"):]) {
					t.Fail("%d runs were found, but not the one with this metadata", len(a.List("")))
				}
			}},
		{ID: "agentprotocol.runs.cancel", Level: check.Must, Says: "Cancelling a run returns 204.", Cites: agentProtocolDoc.At("cancel_run, 204"),
			Run: func(t *check.Talk) {
				s.aBackground(t)
				path := "/runs/" + s.create(t).ID("run_id")
				t.Send(check.Request{Method: http.MethodPost, Path: path + "/cancel"}).Is(http.StatusNoContent)
			}},
		{ID: "agentprotocol.runs.delete", Level: check.Must, Says: "Deleting a run returns 204; afterwards the run is unknown.", Cites: agentProtocolDoc.At("delete_run, 204; get_run, 404"),
			Run: func(t *check.Talk) {
				s.aBackground(t)
				path := "/runs/" + s.create(t).ID("run_id")
				t.Get(path + "/wait").Is(http.StatusOK)
				t.Delete(path).Is(http.StatusNoContent)
				t.Get(path).Is(http.StatusNotFound)
			}},
	}
}

func (s *agentProtocol) streamChecks() []check.Check {
	stream := &check.Once[check.Stream]{}
	run := func(t *check.Talk) check.Stream {
		if agent := s.agent(t); !streams(agent) {
			t.Skip("the agent declares that it does not support ap.io.streaming")
		}
		body := s.input(t)
		body["stream_mode"] = []string{"values", "updates"}
		return t.Events("/runs/stream", body)
	}
	return []check.Check{
		{ID: "agentprotocol.runs.stream", Level: check.Must, Says: "A run is streamed as server-sent events, and the stream ends when the run does.", Cites: agentProtocolDoc.At("create_and_stream_run, 200, content text/event-stream"),
			Run: func(t *check.Talk) {
				if got := stream.Own(t, run); len(got.Events) == 0 && !t.Over() {
					t.Fail("the stream has no events")
				}
			}},
		{ID: "agentprotocol.runs.stream.json", Level: check.Should, Says: "The data of each event is JSON.", Cites: agentProtocolDoc.At("create_and_stream_run, 200, example event"),
			Run: func(t *check.Talk) {
				for _, e := range stream.Need(t, "stream", run).Events {
					if !e.JSON {
						t.Fail("the data of an event named %q is not JSON", e.Name)
					}
				}
			}},
		{ID: "agentprotocol.runs.stream.modes", Level: check.Should, Says: "A stream has the requested modes.", Cites: agentProtocolDoc.At("schemas RunStream and StreamMode"),
			Run: func(t *check.Talk) {
				got := stream.Need(t, "stream", run)
				for _, mode := range []string{"values", "updates"} {
					if _, ok := got.First(mode); !ok {
						t.Fail("there is no event named %s, only %v", mode, got.Names())
					}
				}
			}},
		{ID: "agentprotocol.runs.join.stream", Level: check.Must, Says: "Streaming a finished run succeeds, and the stream ends.", Cites: agentProtocolDoc.At("stream_run, 200"),
			Run: func(t *check.Talk) {
				path := s.aBackground(t)
				t.Get(path + "/wait").Is(http.StatusOK)
				t.Stream(check.Request{Method: http.MethodGet, Path: path + "/stream"}, nil).Is(http.StatusOK).Typed("text/event-stream")
			}},
	}
}

// streams reports whether an agent declares streaming or declares nothing about it.
func streams(agent map[string]any) bool {
	capabilities, _ := agent["capabilities"].(map[string]any)
	said, known := capabilities["ap.io.streaming"]
	return !known || said == true
}
