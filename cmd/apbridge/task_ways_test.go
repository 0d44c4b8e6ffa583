package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sort"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/config"
	"github.com/google/go-cmp/cmp"
)

// way is how a kind of agent is stepped.
type way struct {
	name    string
	peer    func() adaptertest.Peer
	mode    func(*config.Agent)
	watches func(*http.Request) bool // requests that make the agent work
	texts   []string                 // of the steps
	work    int                      // of the agent, for all of them
}

// ways are all modes before both kinds of agents.
func ways() []way {
	graph := func(plays ...adaptertest.ThreadPlay) func() adaptertest.Peer {
		return func() adaptertest.Peer { return &adaptertest.ThreadAgent{Plays: plays} }
	}
	steps := func() adaptertest.Peer { return adaptertest.NewStepAgent(adaptertest.Plain) }
	short, long := []string{"one", "two", "three"}, []string{"planning", "thinking <b>", "the answer is 42"}
	return []way{
		{"lockstep/step agent", steps, lockstep, stepPosts, short, 3},
		{"free/step agent", steps, free, stepPosts, short, 3},
		{"run/step agent", steps, whole, stepPosts, short[2:], 3},
		{"lockstep/graph", graph(adaptertest.StepPlays()...), lockstep, runPosts, long, 3},
		{"free/graph", graph(adaptertest.ChatPlay()), free, runPosts, long, 1},
		{"run/graph", graph(adaptertest.ChatPlay()), whole, runPosts, long[2:], 1},
	}
}

func eachWay(t *testing.T, test func(t *testing.T, w way)) {
	t.Helper()
	t.Parallel()
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			test(t, w)
		})
	}
}

// TestStepStream: the stream has the steps as they are read, numbered from 1,
// goes on behind any of them, and starts nothing.
func TestStepStream(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		peer := w.peer()
		b := inFront(t, peer, w.mode)
		at := b.task(`{"input":"hi"}`)
		if _, frames := b.stream("GET", at+"/steps?stream=true", "", 0); len(frames) != 0 || peer.Work() != 0 {
			t.Errorf("before the first POST: %s, %d pieces of work", eventNames(frames), peer.Work())
		}
		pullAll(t, b, at, "")
		steps := b.get(at + "/steps").ok().list("steps")
		for after := -1; after <= len(steps); after++ {
			res, frames := b.stream("GET", at+"/steps?stream=true", "", 0, "Last-Event-ID", fmt.Sprint(after))
			first := max(after, 0)
			if res.ok(); len(frames) != len(steps)-first+1 || frames[len(frames)-1].event != "end" {
				t.Fatalf("after %d: %s", after, eventNames(frames))
			}
			for i, f := range frames[:len(frames)-1] {
				if diff := cmp.Diff(steps[first+i], f.at("")); diff != "" || f.id != fmt.Sprint(first+i+1) || f.event != "step" {
					t.Errorf("after %d: %s %s (-listed +streamed):\n%s", after, f.event, f.id, diff)
				}
			}
		}
	})
}

// A stream that is open while the agent works has each step as it is released.
func TestStepStreamLive(t *testing.T) {
	t.Parallel()
	g := newGate(adaptertest.NewStepAgent(adaptertest.Plain), stepPosts, 3)
	b := inFront(t, g, free)
	at := b.task(`{"input":"hi"}`)
	b.post(at+"/steps", "").ok()
	g.await(t) // the second step is there, and held back
	_, frames := b.stream("GET", at+"/steps?stream=true", "", 1)
	if len(frames) != 1 || frames[0].at("output") != "one" || frames[0].at("is_last") != false {
		t.Fatalf("while it works: %v", frames)
	}
	rest := make(chan []frame)
	go func() {
		_, frames := b.stream("GET", at+"/steps?stream=true", "", 0, "Last-Event-ID", "1")
		rest <- frames
	}()
	g.open()
	if got := eventNames(<-rest); got != "step step end" {
		t.Errorf("the rest of the stream: %s", got)
	}
}

// TestTaskCancel: 200 and the task, whatever it is doing; the next step is the
// last and says so, and the agent is asked for nothing more.
func TestTaskCancel(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		t.Run("before its first step", func(t *testing.T) {
			t.Parallel()
			peer := w.peer()
			b := inFront(t, peer, w.mode)
			at := b.task(`{"input":"hi"}`)
			b.cancelTask(at)
			b.checkCancelled(b.post(at+"/steps", ""))
			if peer.Work() != 0 {
				t.Errorf("%d pieces of work", peer.Work())
			}
		})
		t.Run("at work", func(t *testing.T) {
			t.Parallel()
			peer := w.peer()
			g := newGate(peer, w.watches, 1)
			b := inFront(t, g, w.mode)
			at := b.task(`{"input":"hi"}`)
			var waiting answer
			var all sync.WaitGroup
			all.Go(func() { waiting, _ = b.try(t.Context(), "POST", at+"/steps", "") })
			g.await(t)
			b.cancelTask(at)
			all.Wait()
			g.open()
			b.checkCancelled(waiting)
			b.cancelTask(at) // again
			same(t, "the last step, asked for again", b.post(at+"/steps", "").ok().body, waiting.body)
			b.expect(threadOfTask(at), "status", "idle")
		})
		t.Run("when it is done", func(t *testing.T) {
			t.Parallel()
			b := inFront(t, w.peer(), w.mode)
			at := b.task(`{"input":"hi"}`)
			steps := pullAll(t, b, at, "")
			b.cancelTask(at)
			same(t, "the last step, after a cancel", b.post(at+"/steps", "").ok().body, steps[len(steps)-1].body)
		})
	})
}

func (b *bridge) cancelTask(at string) {
	b.t.Helper()
	if task := b.post(at+"/cancel", "").is(200); "/ap/v1/agent/tasks/"+task.text("task_id") != at || task.list("artifacts") == nil {
		b.t.Errorf("cancelling answered %s", task.body)
	}
}

func (b *bridge) checkCancelled(step answer) {
	b.t.Helper()
	if step.ok().at("is_last") != true || step.at("status") != "completed" || step.at("additional_output.error.type") != "cancelled" {
		b.t.Errorf("the step of a cancelled task: %s", step.body)
	}
}

// TestClientLeavesMidStep: the step goes on, and is handed out to the next
// POST; the agent is not asked twice.
func TestClientLeavesMidStep(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		peer, nth := w.peer(), min(2, w.work)
		g := newGate(peer, w.watches, nth)
		b := inFront(t, g, w.mode)
		at := b.task(`{"input":"hi"}`)
		var steps []answer
		if nth > 1 && len(w.texts) > 1 {
			steps = append(steps, b.post(at+"/steps", "").ok())
		}
		ctx, leave := context.WithCancel(t.Context())
		var left sync.WaitGroup
		left.Go(func() { _, _ = b.try(ctx, "POST", at+"/steps", "") })
		g.await(t)
		leave()
		left.Wait()
		eventually(t, "the client's leaving is noticed", func() bool { return says(string(b.get("/metrics").ok().body), "apbridge_requests_in_flight 0\n") })
		g.open()
		eventually(t, "the step is done", func() bool { return peer.Work() >= nth })
		checkSteps(t, behind{texts: w.texts}, append(steps, pullAll(t, b, at, "")...))
		if peer.Work() != w.work {
			t.Errorf("%d pieces of work, want %d", peer.Work(), w.work)
		}
	})
}

// TestStepsAtOnce: each POST has a step of its own, late ones the last one
// again; nothing is done twice.
func TestStepsAtOnce(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		peer := w.peer()
		b := inFront(t, peer, w.mode)
		at := b.task(`{"input":"hi"}`)
		got := make(chan answer, 8)
		var all sync.WaitGroup
		for range cap(got) {
			all.Go(func() {
				a, _ := b.try(t.Context(), "POST", at+"/steps", "")
				got <- a
			})
		}
		all.Wait()
		close(got)
		var texts []string
		for a := range got {
			texts = append(texts, a.ok().text("output"))
		}
		want := slices.Clone(w.texts)
		for len(want) < cap(got) {
			want = append(want, w.texts[len(w.texts)-1])
		}
		sort.Strings(want)
		sort.Strings(texts)
		if diff := cmp.Diff(want, texts); diff != "" || peer.Work() != w.work {
			t.Errorf("%d pieces of work, want %d; outputs (-want +got):\n%s", peer.Work(), w.work, diff)
		}
	})
}

// Pages of other origins may call both versions under every prefix, and read
// the headers that tell of losses and retries, where they are let in.
func TestTaskFaceForPages(t *testing.T) {
	t.Parallel()
	cfg := configFor(t, map[string]config.Agent{"agent": agentAt(adaptertest.Serve(t, adaptertest.NewStepAgent(adaptertest.Plain)).URL)})
	cfg.CORS.Origins = []string{"http://page.example"}
	b := startBridge(t, cfg)
	at := b.task(`{"input":"hi"}`)
	for _, path := range []string{
		"/ap/v1/heartbeat", "/ap/v1/agent/tasks", at, at + "/steps", at + "/artifacts", "/agents/agent" + at, "/agent/tasks", "/ap/v2/topics", "/agents/agent/ap/v2/topics",
		"/ap/v1/nothing", at + "/steps/nothing",
	} {
		asked := b.do("OPTIONS", path, "", "Origin", "http://page.example", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type,idempotency-key")
		h := asked.header
		if asked.status/100 != 2 || h.Get("Access-Control-Allow-Origin") != "http://page.example" || !says(h.Get("Access-Control-Allow-Methods"), "POST") {
			t.Errorf("%s: preflight %d %v", path, asked.status, h)
		}
		got := b.do("GET", path, "", "Origin", "http://page.example")
		if got.header.Get("Access-Control-Allow-Origin") != "http://page.example" || !says(got.header.Get("Access-Control-Expose-Headers"), "X-Apbridge-Lossy") {
			t.Errorf("%s: %d %v", path, got.status, got.header)
		}
		b.do("GET", path, "", "Origin", "http://other.example").is(http.StatusForbidden)
	}
}
