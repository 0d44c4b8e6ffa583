package fault

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
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
)

// TestCancelRunning checks that the run ends as interrupted, that a graph is informed, and that the thread is free.
func TestCancelRunning(t *testing.T) {
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
			b := rig.InFront(t, s.peer)
			at := b.Thread()
			run := b.Begin(at, "")
			rig.Eventually(t, "the agent is called", s.asked)
			b.Expect(at, "status", "busy")
			b.Post(run+"/cancel?wait=true", "").Is(http.StatusNoContent)
			b.Expect(run, "status", "interrupted")
			b.Expect(at, "status", "idle")
			if joined := b.Get(run + "/join").OK(); joined.At("__error__") != nil || len(joined.List("messages")) == 0 {
				t.Errorf("join: %s", joined.Body)
			}
			_, frames := b.Stream("GET", run+"/stream", "", 0, "Last-Event-ID", "-1")
			for _, f := range frames {
				if f.Event == "error" {
					t.Errorf("a cancelled run shows the error %s", f.Data)
				}
			}
			b.Post(run+"/cancel?wait=true", "").Is(http.StatusNoContent) // the run is already cancelled
			b.Expect(run, "status", "interrupted")
			if name == "graph" {
				rig.Eventually(t, "the graph receives the cancellation", func() bool { return graph.Calls("POST /threads/{t}/runs/{r}/cancel") == 1 })
				return
			}
			if next := b.Post(at+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysMore+`}`).OK(); next.At("__error__") != nil {
				t.Errorf("the next run: %s", next.Body)
			}
			if c := step.Counts(); c.Creates != 2 || c.Steps != 4 {
				t.Errorf("%d tasks and %d steps, want 2 and 1 + 3", c.Creates, c.Steps)
			}
		})
	}
}

// TestCancelQueued cancels runs that wait for another run of their thread or for the agent's concurrency. The agent
// never learns about them.
func TestCancelQueued(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	g := rig.NewGate(agent, rig.StepPosts, 1)
	b := rig.InFront(t, g, func(a *config.Agent) { a.Concurrency, a.Dialect = 1, "taskstep" })
	at, other := b.Thread(), b.Thread()
	first := b.Begin(at, "")
	g.Await(t)
	behind, elsewhere := b.Begin(at, `"multitask_strategy":"enqueue",`), b.Begin(other, "")
	for _, run := range []string{behind, elsewhere} {
		b.Expect(run, "status", "pending")
		b.Post(run+"/cancel?wait=true", "").Is(http.StatusNoContent)
		b.Expect(run, "status", "interrupted")
	}
	b.Expect(at, "status", "busy")
	b.Expect(other, "status", "idle")
	g.Open()
	b.Get(first + "/join").OK()
	b.Expect(first, "status", "success")
	b.Expect(at, "status", "idle")
	if c := agent.Counts(); c.Creates != 1 || c.Steps != 3 {
		t.Errorf("%d tasks and %d steps, want 1 and 3", c.Creates, c.Steps)
	}
}

// TestCancelParked cancels a task between two POSTs through either face. Its client learns about it at its next POST,
// and the agent is not called.
func TestCancelParked(t *testing.T) {
	t.Parallel()
	for _, through := range []string{"threadrun", "taskstep"} {
		t.Run(through, func(t *testing.T) {
			t.Parallel()
			agent := adaptertest.NewStepAgent(adaptertest.Plain)
			b := rig.InFront(t, agent)
			task := b.Post("/ap/v1/agent/tasks", `{"input":"hi"}`).OK().Text("task_id")
			at, thread := "/ap/v1/agent/tasks/"+task, "/threads/"+task
			b.Post(at+"/steps", "").OK()
			run := thread + "/runs/" + rig.Dig(b.Get(thread+"/runs").OK().List(""), "0.run_id").(string)
			b.Expect(run, "status", "running")
			b.Expect(thread, "status", "interrupted")
			if through == "taskstep" {
				b.Post(at+"/cancel", "").Is(http.StatusOK)
			} else {
				b.Post(run+"/cancel?wait=true", "").Is(http.StatusNoContent)
			}
			b.Expect(run, "status", "interrupted")
			b.Expect(thread, "status", "idle")
			last := b.Post(at+"/steps", "").OK()
			if last.At("is_last") != true || last.At("additional_output.error.type") == nil {
				t.Errorf("the next step: %s", last.Body)
			}
			if n := agent.Work(); n != 1 {
				t.Errorf("%d steps, want 1", n)
			}
		})
	}
}

// TestCancelOfARunThatEnds checks that either the cancellation or the end wins, and that all clients see the same
// winner.
func TestCancelOfARunThatEnds(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	b := rig.InFront(t, agent)
	won := map[string]int{}
	for i := range 30 {
		at := b.Thread()
		run := b.Begin(at, "")
		wait := time.NewTimer(time.Duration(i) * 500 * time.Microsecond)
		<-wait.C
		b.Post(run+"/cancel?wait=true", "").Is(http.StatusNoContent)
		status := b.Get(run).OK().Text("status")
		won[status]++
		b.Expect(at, "status", "idle")
		_, frames := b.Stream("GET", run+"/stream", "", 0, "Last-Event-ID", "-1")
		messages, _ := rig.LastFrame(t, frames, "values").At("messages").([]any)
		if whole := len(messages) == 4; whole != (status == "success") {
			t.Errorf("%s with %d messages", status, len(messages))
		}
	}
	if won["success"]+won["interrupted"] != 30 {
		t.Errorf("the run has the ends %v", won)
	}
	if c := agent.Counts(); c.Steps > 3*c.Creates {
		t.Errorf("%d steps of %d tasks", c.Steps, c.Creates)
	}
}

// TestRunOfAClientThatDisconnects checks that the run of a disconnected client is cancelled or continues according to
// its request, or else to its flavour.
func TestRunOfAClientThatDisconnects(t *testing.T) {
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
				g := rig.NewGate(adaptertest.NewStepAgent(adaptertest.Plain), rig.StepPosts, 2)
				b := rig.InFront(t, g)
				at := b.Thread()
				path, named := at+"/runs/"+how, ""
				flavour := strings.TrimPrefix(c.flavour, "thread-scoped ")
				if c.flavour == "agent_id" {
					path, named = "/runs/"+how, `"thread_id":"`+at[len("/threads/"):]+`",`
				}
				ctx, leave := context.WithCancel(t.Context())
				var left sync.WaitGroup
				left.Go(func() {
					_, _ = b.Try(ctx, "POST", path, `{"`+flavour+`":"agent",`+named+c.said+rig.SaysHi+`}`)
				})
				g.Await(t)
				run := at + "/runs/" + rig.Dig(b.Get(at+"/runs").OK().List(""), "0.run_id").(string)
				leave()
				left.Wait()
				if c.want == "success" {
					g.Open()
				}
				b.Get(run + "/join").OK()
				b.Expect(run, "status", c.want)
				b.Expect(at, "status", "idle")
			})
		}
	}
}

// TestReaderThatDisconnects checks, on every route, that a reader's disconnect ends a run of another client only if the
// reader requested that.
func TestReaderThatDisconnects(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{"": "success", "?cancel_on_disconnect=0": "success", "?cancel_on_disconnect=1": "interrupted"} {
		for _, route := range []string{"stream", "join", "wait", "resume"} {
			for _, scoped := range []bool{true, false} {
				if route == "resume" && !scoped {
					continue // there is no such route
				}
				t.Run(fmt.Sprintf("%s%s %v", route, query, scoped), func(t *testing.T) {
					t.Parallel()
					g := rig.NewGate(adaptertest.NewStepAgent(adaptertest.Plain), rig.StepPosts, 2)
					b := rig.InFront(t, g)
					run := b.Begin(b.Thread(), "")
					g.Await(t)
					at := run
					if !scoped {
						at = run[strings.Index(run, "/runs/"):]
					}
					if route == "resume" {
						sendAndLeave(b, "POST", at+"/stream", bodyOf(query))
					} else {
						sendAndLeave(b, "GET", at+"/"+route+query, "")
					}
					if want == "success" {
						g.Open()
					}
					b.Get(run + "/join").OK()
					b.Expect(run, "status", want)
				})
			}
		}
	}
}

// bodyOf returns a query's only parameter as a request body.
func bodyOf(query string) string {
	name, value, found := strings.Cut(strings.TrimPrefix(query, "?"), "=")
	if !found {
		return `{}`
	}
	return `{"` + name + `":` + map[string]string{"0": "false", "1": "true"}[value] + `}`
}

// TestCancelWaitsForTheEnd checks on both routes that the run has ended when a waiting client gets its response.
func TestCancelWaitsForTheEnd(t *testing.T) {
	t.Parallel()
	for path, statuses := range map[string][2]int{"thread": {http.StatusAccepted, http.StatusNoContent}, "run": {http.StatusNoContent, http.StatusNoContent}} {
		for i, wait := range []string{"", "?wait=true"} {
			t.Run(path+wait, func(t *testing.T) {
				t.Parallel()
				g := rig.NewGate(adaptertest.NewStepAgent(adaptertest.Plain), rig.StepPosts, 2)
				b := rig.InFront(t, g)
				run := b.Begin(b.Thread(), "")
				g.Await(t)
				at := run
				if path == "run" {
					at = run[strings.Index(run, "/runs/"):]
				}
				b.Post(at+"/cancel"+wait, "").Is(statuses[i])
				if wait == "" {
					b.Get(run + "/join").OK()
				}
				b.Expect(run, "status", "interrupted")
			})
		}
	}
}

// sendAndLeave disconnects as soon as the request is written.
func sendAndLeave(b *rig.Bridge, method, path, body string) {
	b.T.Helper()
	ctx, leave := context.WithCancel(b.T.Context())
	defer leave()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { leave() }})
	if a, err := b.Try(ctx, method, path, body); err == nil {
		b.T.Fatalf("%s got a response: %s", path, a.Body)
	}
}

// TestShutdownDuringAWait checks that the run of a waiting client is handed over when the bridge stops. The client
// requested cancellation on disconnect but does not disconnect, so the run is not cancelled. One call is open at that
// time, and the agent lists its result.
func TestShutdownDuringAWait(t *testing.T) {
	t.Parallel()
	const before = 30 // quick steps
	g := rig.NewGate(adaptertest.NewStepAgent(adaptertest.Python), rig.StepPosts, before+2)
	b := rig.InFront(t, g)
	for range before / 3 {
		b.Post("/runs/wait", `{"agent_id":"agent",`+rig.SaysHi+`}`).OK()
	}
	at := b.Thread()
	var left sync.WaitGroup
	left.Go(func() {
		_, _ = b.Try(t.Context(), "POST", at+"/runs/wait", `{"assistant_id":"agent","on_disconnect":"cancel",`+rig.SaysHi+`}`)
	})
	g.Await(t)
	run := at + "/runs/" + rig.Dig(b.Get(at+"/runs").OK().List(""), "0.run_id").(string)
	b.End()
	left.Wait()
	b = b.Again()
	b.Get(run + "/join").OK()
	b.Expect(run, "status", "success")
}
