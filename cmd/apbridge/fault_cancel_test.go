package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/config"
)

// begin starts a run on the thread and returns its path.
func (b *bridge) begin(at, more string) string {
	b.t.Helper()
	return at + "/runs/" + b.post(at+"/runs", `{"assistant_id":"agent",`+more+saysHi+`}`).ok().text("run_id")
}

func (b *bridge) thread() string {
	b.t.Helper()
	return "/threads/" + b.post("/threads", `{}`).ok().text("thread_id")
}

// expect fails the test unless the text at a member of what a path answers is
// as wanted.
func (b *bridge) expect(path, member, want string) {
	b.t.Helper()
	if got := b.get(path).ok(); got.at(member) != want {
		b.t.Errorf("%s: %s is %v, want %s", path, member, got.at(member), want)
	}
}

// TestA20_CancelRunning: the run ends as interrupted, a graph is told, and the
// thread is free.
func TestA20_CancelRunning(t *testing.T) {
	t.Parallel()
	step := adaptertest.NewStepAgent(adaptertest.Plain)
	step.Script[1].Fault = adaptertest.Hang
	graph := &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.HangPlay()}}
	for name, s := range map[string]struct {
		peer  adaptertest.Peer
		asked func() bool
	}{
		"step agent": {step, func() bool { return len(step.Inputs()) == 2 }},
		"graph":      {graph, func() bool { return graph.Work() == 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := inFront(t, s.peer)
			at := b.thread()
			run := b.begin(at, "")
			eventually(t, "the agent is asked", s.asked)
			b.expect(at, "status", "busy")
			b.post(run+"/cancel?wait=true", "").is(http.StatusNoContent)
			b.expect(run, "status", "interrupted")
			b.expect(at, "status", "idle")
			if joined := b.get(run + "/join").ok(); joined.at("__error__") != nil || len(joined.list("messages")) == 0 {
				t.Errorf("join: %s", joined.body)
			}
			_, frames := b.stream("GET", run+"/stream", "", 0, "Last-Event-ID", "-1")
			for _, f := range frames {
				if f.event == "error" {
					t.Errorf("a cancelled run shows the error %s", f.data)
				}
			}
			b.post(run+"/cancel?wait=true", "").is(http.StatusNoContent) // it is as the client wants it
			b.expect(run, "status", "interrupted")
			if name == "graph" {
				eventually(t, "the graph is told", func() bool { return graph.Calls("POST /threads/{t}/runs/{r}/cancel") == 1 })
				return
			}
			if next := b.post(at+"/runs/wait", `{"assistant_id":"agent",`+saysMore+`}`).ok(); next.at("__error__") != nil {
				t.Errorf("the next run: %s", next.body)
			}
			if c := step.Counts(); c.Creates != 2 || c.Steps != 4 {
				t.Errorf("%d tasks and %d steps, want 2 and 1 + 3", c.Creates, c.Steps)
			}
		})
	}
}

// TestA20_CancelQueued: behind a run of its thread, and behind the agent's
// concurrency. The agent never hears of what was cancelled.
func TestA20_CancelQueued(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	g := newGate(agent, stepPosts, 1)
	b := inFront(t, g, func(a *config.Agent) { a.Concurrency, a.Dialect = 1, "taskstep" })
	at, other := b.thread(), b.thread()
	first := b.begin(at, "")
	g.await(t)
	behind, elsewhere := b.begin(at, `"multitask_strategy":"enqueue",`), b.begin(other, "")
	for _, run := range []string{behind, elsewhere} {
		b.expect(run, "status", "pending")
		b.post(run+"/cancel?wait=true", "").is(http.StatusNoContent)
		b.expect(run, "status", "interrupted")
	}
	b.expect(at, "status", "busy")
	b.expect(other, "status", "idle")
	g.open()
	b.get(first + "/join").ok()
	b.expect(first, "status", "success")
	b.expect(at, "status", "idle")
	if c := agent.Counts(); c.Creates != 1 || c.Steps != 3 {
		t.Errorf("%d tasks and %d steps, want 1 and 3", c.Creates, c.Steps)
	}
}

// TestA20_CancelParked: a task between two POSTs is cancelled through either
// face; its client is told at its next POST, and the agent is left alone.
func TestA20_CancelParked(t *testing.T) {
	t.Parallel()
	for _, through := range []string{"threadrun", "taskstep"} {
		t.Run(through, func(t *testing.T) {
			t.Parallel()
			agent := adaptertest.NewStepAgent(adaptertest.Plain)
			b := inFront(t, agent)
			task := b.post("/ap/v1/agent/tasks", `{"input":"hi"}`).ok().text("task_id")
			at, thread := "/ap/v1/agent/tasks/"+task, "/threads/"+task
			b.post(at+"/steps", "").ok()
			run := thread + "/runs/" + dig(b.get(thread+"/runs").ok().list(""), "0.run_id").(string)
			b.expect(run, "status", "running")
			b.expect(thread, "status", "interrupted")
			if through == "taskstep" {
				b.post(at+"/cancel", "").is(http.StatusOK)
			} else {
				b.post(run+"/cancel?wait=true", "").is(http.StatusNoContent)
			}
			b.expect(run, "status", "interrupted")
			b.expect(thread, "status", "idle")
			last := b.post(at+"/steps", "").ok()
			if last.at("is_last") != true || last.at("additional_output.error.type") == nil {
				t.Errorf("the step after: %s", last.body)
			}
			if n := agent.Work(); n != 1 {
				t.Errorf("%d steps, want 1", n)
			}
		})
	}
}

// TestA21_CancelRacesTheEnd: one of both wins, and everybody who looks sees
// the same winner.
func TestA21_CancelRacesTheEnd(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	b := inFront(t, agent)
	won := map[string]int{}
	for i := range 30 {
		at := b.thread()
		run := b.begin(at, "")
		wait := time.NewTimer(time.Duration(i) * 500 * time.Microsecond)
		<-wait.C
		b.post(run+"/cancel?wait=true", "").is(http.StatusNoContent)
		status := b.get(run).ok().text("status")
		won[status]++
		b.expect(at, "status", "idle")
		_, frames := b.stream("GET", run+"/stream", "", 0, "Last-Event-ID", "-1")
		messages, _ := lastFrame(t, frames, "values").at("messages").([]any)
		if whole := len(messages) == 4; whole != (status == "success") {
			t.Errorf("%s with %d messages", status, len(messages))
		}
	}
	if won["success"]+won["interrupted"] != 30 {
		t.Errorf("ends: %v", won)
	}
	if c := agent.Counts(); c.Steps > 3*c.Creates {
		t.Errorf("%d steps of %d tasks", c.Steps, c.Creates)
	}
}

// TestA20_ClientThatLeaves: the run of a client that goes away is cancelled or
// goes on, as it was asked for, or as its flavour has it.
func TestA20_ClientThatLeaves(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ flavour, said, want string }{
		{"thread-scoped agent_id", `"on_disconnect":"cancel",`, "interrupted"},
		{"thread-scoped agent_id", `"on_disconnect":"continue",`, "success"},
		{"assistant_id", `"on_disconnect":"cancel",`, "interrupted"},
		{"assistant_id", `"on_disconnect":"continue",`, "success"},
		{"assistant_id", ``, "success"},
		{"agent_id", `"on_disconnect":"cancel",`, "interrupted"},
		{"agent_id", `"on_disconnect":"continue",`, "success"},
		{"agent_id", ``, "interrupted"},
	} {
		for _, how := range []string{"wait", "stream"} {
			t.Run(fmt.Sprintf("%s %s %q", c.flavour, how, c.said), func(t *testing.T) {
				t.Parallel()
				g := newGate(adaptertest.NewStepAgent(adaptertest.Plain), stepPosts, 2)
				b := inFront(t, g)
				at := b.thread()
				path, named := at+"/runs/"+how, ""
				flavour := strings.TrimPrefix(c.flavour, "thread-scoped ")
				if c.flavour == "agent_id" {
					path, named = "/runs/"+how, `"thread_id":"`+at[len("/threads/"):]+`",`
				}
				ctx, leave := context.WithCancel(t.Context())
				var left sync.WaitGroup
				left.Go(func() {
					_, _ = b.try(ctx, "POST", path, `{"`+flavour+`":"agent",`+named+c.said+saysHi+`}`)
				})
				g.await(t)
				run := at + "/runs/" + dig(b.get(at+"/runs").ok().list(""), "0.run_id").(string)
				leave()
				left.Wait()
				if c.want == "success" {
					g.open()
				}
				b.get(run + "/join").ok()
				b.expect(run, "status", c.want)
				b.expect(at, "status", "idle")
			})
		}
	}
}

// A reader of somebody else's run takes it along only where it says so, however it
// reads.
func TestB10_ReaderThatLeaves(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{"": "success", "?cancel_on_disconnect=0": "success", "?cancel_on_disconnect=1": "interrupted"} {
		for _, route := range []string{"stream", "join", "wait", "resume"} {
			for _, scoped := range []bool{true, false} {
				if route == "resume" && !scoped {
					continue // there is no such route
				}
				t.Run(fmt.Sprintf("%s%s %v", route, query, scoped), func(t *testing.T) {
					t.Parallel()
					g := newGate(adaptertest.NewStepAgent(adaptertest.Plain), stepPosts, 2)
					b := inFront(t, g)
					run := b.begin(b.thread(), "")
					g.await(t)
					at := run
					if !scoped {
						at = run[strings.Index(run, "/runs/"):]
					}
					if route == "resume" {
						b.sendAndLeave("POST", at+"/stream", bodyOf(query))
					} else {
						b.sendAndLeave("GET", at+"/"+route+query, "")
					}
					if want == "success" {
						g.open()
					}
					b.get(run + "/join").ok()
					b.expect(run, "status", want)
				})
			}
		}
	}
}

// bodyOf is a query's one parameter as a request's body.
func bodyOf(query string) string {
	name, value, found := strings.Cut(strings.TrimPrefix(query, "?"), "=")
	if !found {
		return `{}`
	}
	return `{"` + name + `":` + map[string]string{"0": "false", "1": "true"}[value] + `}`
}

// TestCancelWaitsForTheEnd: whoever asked to wait sees an ended run at once, on
// both routes.
func TestCancelWaitsForTheEnd(t *testing.T) {
	t.Parallel()
	for path, statuses := range map[string][2]int{"thread": {http.StatusAccepted, http.StatusNoContent}, "run": {http.StatusNoContent, http.StatusNoContent}} {
		for i, wait := range []string{"", "?wait=true"} {
			t.Run(path+wait, func(t *testing.T) {
				t.Parallel()
				g := newGate(adaptertest.NewStepAgent(adaptertest.Plain), stepPosts, 2)
				b := inFront(t, g)
				run := b.begin(b.thread(), "")
				g.await(t)
				at := run
				if path == "run" {
					at = run[strings.Index(run, "/runs/"):]
				}
				b.post(at+"/cancel"+wait, "").is(statuses[i])
				if wait == "" {
					b.get(run + "/join").ok()
				}
				b.expect(run, "status", "interrupted")
			})
		}
	}
}

// sendAndLeave is gone as soon as the request is written.
func (b *bridge) sendAndLeave(method, path, body string) {
	b.t.Helper()
	ctx, leave := context.WithCancel(b.t.Context())
	defer leave()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { leave() }})
	if a, err := b.try(ctx, method, path, body); err == nil {
		b.t.Fatalf("%s was answered: %s", path, a.body)
	}
}

// TestA7_ShutdownDuringAWait: the run of a client that waits is handed over when the
// bridge stops, although the client would have it cancelled if it left: it did not. One call
// is open then, and the agent lists what came of it, however quick it is.
func TestA7_ShutdownDuringAWait(t *testing.T) {
	t.Parallel()
	const before = 30 // quick steps
	g := newGate(adaptertest.NewStepAgent(adaptertest.Python), stepPosts, before+2)
	b := inFront(t, g)
	for range before / 3 {
		b.post("/runs/wait", `{"agent_id":"agent",`+saysHi+`}`).ok()
	}
	at := b.thread()
	var left sync.WaitGroup
	left.Go(func() {
		_, _ = b.try(t.Context(), "POST", at+"/runs/wait", `{"assistant_id":"agent","on_disconnect":"cancel",`+saysHi+`}`)
	})
	g.await(t)
	run := at + "/runs/" + dig(b.get(at+"/runs").ok().list(""), "0.run_id").(string)
	b.end()
	left.Wait()
	b = b.again()
	b.get(run + "/join").ok()
	b.expect(run, "status", "success")
}
