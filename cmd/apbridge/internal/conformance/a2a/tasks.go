package a2a

import (
	"net/http"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
)

// make sends a message and returns the task, which must have settled.
func (s *suite) make(t *check.Talk) outcome {
	o := s.succeeds(t, "SendMessage", s.message(nil))
	if !t.Over() && o.at("message") != nil {
		t.Skip("the agent answers with messages instead of tasks")
	}
	if !t.Over() && o.text("task.id") == "" {
		t.Fail("the response has no task with an id")
	}
	return o
}

func (s *suite) aTask(t *check.Talk) outcome {
	o := s.task.Need(t, "task", s.make)
	o.Answer = o.In(t)
	return o
}

// anEndedTask returns a task in a terminal state.
func (s *suite) anEndedTask(t *check.Talk) (id string) {
	o := s.aTask(t)
	if state := o.text("task.status.state"); !t.Over() && !ended(state) {
		t.Skip("the task is in state %s", state)
	}
	return o.text("task.id")
}

// aContext returns the task and its context, which some servers omit.
func (s *suite) aContext(t *check.Talk) (id, context string) {
	o := s.aTask(t)
	if id, context = o.text("task.id"), o.text("task.contextId"); context == "" && !t.Over() {
		t.Skip("the task has no contextId")
	}
	return id, context
}

func (s *suite) sendChecks() []check.Check {
	return []check.Check{
		{ID: "a2a.send", Level: check.Must, Says: "Sending a message returns a task or a message.", Cites: doc.At("3.1.1"),
			Run: func(t *check.Talk) {
				o := s.task.Own(t, s.make)
				if !t.Over() && !settled(o.text("task.status.state")) {
					t.Fail("the call returns in state %s", o.text("task.status.state"))
				}
			}},
		{ID: "a2a.send.schema", Level: check.Must, Says: "The task has all required members.", Cites: doc.At("4.1.1"),
			Run: func(t *check.Talk) {
				t.Fits(taskShape, s.aTask(t).at("task"), "task")
			}},
		{ID: "a2a.send.context", Level: check.Must, Says: "A new task has a contextId.", Cites: doc.At("3.4.1"),
			Run: func(t *check.Talk) {
				if o := s.aTask(t); !t.Over() && o.text("task.contextId") == "" {
					t.Fail("the task has no contextId")
				}
			}},
		{ID: "a2a.send.timestamp", Level: check.Must, Says: "Times are in UTC and end with Z.", Cites: doc.At("5.6.1"),
			Run: func(t *check.Talk) {
				time := s.aTask(t).text("task.status.timestamp")
				if time == "" {
					t.Skip("the status has no timestamp")
				}
				if !t.Over() && time[len(time)-1] != 'Z' {
					t.Fail("the timestamp is %.40q", time)
				}
			}},
		{ID: "a2a.send.continue", Level: check.Must, Says: "A message with a contextId creates a new task in that context.", Cites: doc.At("3.4.1"),
			Run: func(t *check.Talk) {
				id, context := s.aContext(t)
				o := s.succeeds(t, "SendMessage", s.message(members{"contextId": context}))
				if !t.Over() && (o.text("task.contextId") != context || o.text("task.id") == id) {
					t.Fail("the task is %q in context %q, after %q in %q", o.text("task.id"), o.text("task.contextId"), id, context)
				}
			}},
		{ID: "a2a.send.ended", Level: check.Must, Says: "Sending a message to an ended task is refused.", Cites: doc.At("3.1.1"),
			Run: func(t *check.Talk) {
				id := s.anEndedTask(t)
				s.fails(t, "SendMessage", s.message(members{"taskId": id}), unsupported)
			}},
		{ID: "a2a.send.unknown", Level: check.Must, Says: "Sending a message to an unknown task is refused.", Cites: doc.At("3.4.2"),
			Run: func(t *check.Talk) {
				s.aTask(t)
				s.fails(t, "SendMessage", s.message(members{"taskId": nobody}), taskNotFound)
			}},
		{ID: "a2a.send.invalid", Level: check.Must, Says: "Sending a message without parts is refused.", Cites: doc.At("4.1.4"),
			Run: func(t *check.Talk) {
				s.aTask(t)
				s.fails(t, "SendMessage", s.message(members{"parts": []any{}}), invalidParameters)
			}},
		{ID: "a2a.version", Level: check.Must, Says: "A request with an unsupported version is refused.", Cites: doc.At("3.6.2"),
			Run: func(t *check.Talk) {
				s.aTask(t)
				r, overRPC := s.request(t, "GetTask", members{"id": nobody})
				r.Header = map[string]string{"A2A-Version": "99.0"}
				o := outcome{t.Send(r), overRPC}
				if code := o.errorCode(); !t.Over() && code != versionUnknown {
					t.Fail("the error is %d (%s), not %d", code, reasons[code], versionUnknown)
				}
			}},
	}
}

func (s *suite) readChecks() []check.Check {
	return []check.Check{
		{ID: "a2a.get", Level: check.Must, Says: "A task can be fetched by its id.", Cites: doc.At("3.1.3"),
			Run: func(t *check.Talk) {
				id := s.aTask(t).text("task.id")
				if o := s.succeeds(t, "GetTask", members{"id": id}); !t.Over() && o.text("id") != id {
					t.Fail("the id is %q, not %q", o.text("id"), id)
				}
			}},
		{ID: "a2a.get.history", Level: check.Must, Says: "With a historyLength of 0 a task has no history.", Cites: doc.At("3.2.4"),
			Run: func(t *check.Talk) {
				o := s.succeeds(t, "GetTask", members{"id": s.aTask(t).text("task.id"), "historyLength": 0})
				if list, _ := o.at("history").([]any); !t.Over() && len(list) > 0 {
					t.Fail("the history has %d messages", len(list))
				}
			}},
		{ID: "a2a.get.unknown", Level: check.Must, Says: "Fetching an unknown task is refused.", Cites: doc.At("3.1.3, 5.4"),
			Run: func(t *check.Talk) {
				s.aTask(t)
				s.fails(t, "GetTask", members{"id": nobody}, taskNotFound)
			}},
		{ID: "a2a.list", Level: check.Must, Says: "Listing tasks returns all required members and the newest task.", Cites: doc.At("3.1.4"),
			Run: func(t *check.Talk) {
				id, context := s.aContext(t)
				o := s.succeeds(t, "ListTasks", members{"contextId": context})
				shape := check.Object(check.Members{
					"tasks": check.List(taskShape), "nextPageToken": check.Text, "pageSize": check.Integer, "totalSize": check.Integer,
				}, nil)
				t.Fits(shape, o.at(""), "the list")
				if list, _ := o.at("tasks").([]any); !t.Over() && !check.Holds(list, "id", id) {
					t.Fail("the task is not in the list of its context")
				}
			}},
		{ID: "a2a.list.context", Level: check.Must, Says: "Listing the tasks of a context returns no other tasks.", Cites: doc.At("3.1.4"),
			Run: func(t *check.Talk) {
				s.aTask(t)
				o := s.succeeds(t, "ListTasks", members{"contextId": nobody})
				if list, _ := o.at("tasks").([]any); !t.Over() && len(list) > 0 {
					t.Fail("a context without tasks has %d", len(list))
				}
			}},
		{ID: "a2a.list.artifacts", Level: check.Must, Says: "Listed tasks have artifacts only on request.", Cites: doc.At("3.1.4"),
			Run: func(t *check.Talk) {
				_, context := s.aContext(t)
				o := s.succeeds(t, "ListTasks", members{"contextId": context})
				list, _ := o.at("tasks").([]any)
				for _, each := range list {
					if artifacts, _ := check.At(each, "artifacts").([]any); !t.Over() && len(artifacts) > 0 {
						t.Fail("a task has %d artifacts", len(artifacts))
					}
				}
			}},
		{ID: "a2a.list.size", Level: check.Must, Says: "A list has at most pageSize tasks.", Cites: doc.At("3.1.4"),
			Run: func(t *check.Talk) {
				s.aTask(t)
				o := s.succeeds(t, "ListTasks", members{"pageSize": 1})
				if list, _ := o.at("tasks").([]any); !t.Over() && len(list) > 1 {
					t.Fail("the list has %d tasks", len(list))
				}
			}},
		{ID: "a2a.cancel.ended", Level: check.Must, Says: "Canceling an ended task is refused.", Cites: doc.At("3.1.5"),
			Run: func(t *check.Talk) {
				id := s.anEndedTask(t)
				if s.aTask(t).text("task.status.state") == "TASK_STATE_CANCELED" {
					t.Skip("the task is canceled")
				}
				s.fails(t, "CancelTask", members{"id": id}, notCancelable)
			}},
		{ID: "a2a.cancel.unknown", Level: check.Must, Says: "Canceling an unknown task is refused.", Cites: doc.At("3.1.5"),
			Run: func(t *check.Talk) {
				s.aTask(t)
				s.fails(t, "CancelTask", members{"id": nobody}, taskNotFound)
			}},
	}
}

func (s *suite) rpcChecks() []check.Check {
	post := func(t *check.Talk, body string) check.Answer {
		c := s.aCard(t)
		if c.rpc == nil {
			t.Skip("the card has no JSON-RPC interface")
			c.rpc = new(string)
		}
		return t.Send(check.Request{Method: http.MethodPost, Path: *c.rpc, Body: body, Header: versionHeader})
	}
	fails := func(t *check.Talk, body string, code float64) {
		if a := post(t, body); !t.Over() && a.At("error.code") != code {
			t.Fail("the error is %v, not %v", a.At("error.code"), code)
		}
	}
	return []check.Check{
		{ID: "a2a.rpc", Level: check.Must, Says: "A JSON-RPC response has the request's id.", Cites: doc.At("9.1"),
			Run: func(t *check.Talk) {
				s.aTask(t)
				a := post(t, `{"jsonrpc":"2.0","id":7,"method":"GetTask","params":{"id":"`+nobody+`"}}`)
				if !t.Over() && (a.At("id") != 7.0 || a.At("jsonrpc") != "2.0") {
					t.Fail("the id is %v and jsonrpc %v", a.At("id"), a.At("jsonrpc"))
				}
			}},
		{ID: "a2a.rpc.parse", Level: check.Must, Says: "A body that is not JSON returns the error -32700.", Cites: doc.At("9.5"),
			Run: func(t *check.Talk) { fails(t, `{"jsonrpc":`, -32700) }},
		{ID: "a2a.rpc.method", Level: check.Must, Says: "An unknown method returns the error -32601.", Cites: doc.At("9.5"),
			Run: func(t *check.Talk) { fails(t, `{"jsonrpc":"2.0","id":1,"method":"Nothing","params":{}}`, -32601) }},
		{ID: "a2a.rpc.details", Level: check.Must, Says: "An error of the protocol has an ErrorInfo with its reason.", Cites: doc.At("9.5"),
			Run: func(t *check.Talk) {
				s.aTask(t)
				a := post(t, `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"`+nobody+`"}}`)
				if reason := reasonOf(a.List("error.data")); !t.Over() && reason != "TASK_NOT_FOUND" {
					t.Fail("the reason is %q", reason)
				}
			}},
	}
}

func (s *suite) httpChecks() []check.Check {
	send := func(t *check.Talk, method string, params members) check.Answer {
		c := s.aCard(t)
		if c.http == nil {
			t.Skip("the card has no HTTP+JSON interface")
			c.http = new(string)
		}
		return t.Send(httpRequest(t, c, method, params))
	}
	return []check.Check{
		{ID: "a2a.http.get", Level: check.Must, Says: "A task can be fetched over HTTP+JSON.", Cites: doc.At("11.3"),
			Run: func(t *check.Talk) {
				id := s.aTask(t).text("task.id")
				if a := send(t, "GetTask", members{"id": id}).Is(http.StatusOK); !t.Over() && a.Text("id") != id {
					t.Fail("the id is %q, not %q", a.Text("id"), id)
				}
			}},
		{ID: "a2a.http.type", Level: check.Should, Says: "HTTP+JSON responses are application/a2a+json.", Cites: doc.At("11.1"),
			Run: func(t *check.Talk) {
				send(t, "GetTask", members{"id": s.aTask(t).text("task.id")}).Typed("application/a2a+json")
			}},
		{ID: "a2a.http.unknown", Level: check.Must, Says: "Fetching an unknown task returns 404 with a reason.", Cites: doc.At("11.6"),
			Run: func(t *check.Talk) {
				s.aTask(t)
				a := send(t, "GetTask", members{"id": nobody}).Is(http.StatusNotFound)
				if reason := reasonOf(a.List("error.details")); !t.Over() && reason != "TASK_NOT_FOUND" {
					t.Fail("the reason is %q", reason)
				}
			}},
		{ID: "a2a.http.list", Level: check.Must, Says: "Tasks can be listed over HTTP+JSON.", Cites: doc.At("11.3"),
			Run: func(t *check.Talk) {
				id, context := s.aContext(t)
				a := send(t, "ListTasks", members{"contextId": context}).Is(http.StatusOK)
				if !t.Over() && !check.Holds(a.List("tasks"), "id", id) {
					t.Fail("the task is not in the list of its context")
				}
			}},
	}
}
