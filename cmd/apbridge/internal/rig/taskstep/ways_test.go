package taskstep

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sort"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/google/go-cmp/cmp"
)

// way is a stepping mode with an agent of one kind.
type way struct {
	name    string
	peer    func() adaptertest.Peer
	mode    func(*config.Agent)
	watches func(*http.Request) bool // requests that make the agent work
	texts   []string                 // of the steps
	work    int                      // of the agent, for all of them
}

// ways returns all modes with both kinds of agents.
func ways() []way {
	graph := func(plays ...adaptertest.ThreadPlay) func() adaptertest.Peer {
		return func() adaptertest.Peer { return &adaptertest.ThreadAgent{Plays: plays} }
	}
	steps := func() adaptertest.Peer { return adaptertest.NewStepAgent(adaptertest.Plain) }
	short, long := []string{"one", "two", "three"}, []string{"planning", "thinking <b>", "the answer is 42"}
	return []way{
		{"lockstep/step agent", steps, rig.Lockstep, rig.StepPosts, short, 3},
		{"free/step agent", steps, rig.Free, rig.StepPosts, short, 3},
		{"run/step agent", steps, rig.Whole, rig.StepPosts, short[2:], 3},
		{"lockstep/graph", graph(adaptertest.StepPlays()...), rig.Lockstep, rig.RunPosts, long, 3},
		{"free/graph", graph(adaptertest.ChatPlay()), rig.Free, rig.RunPosts, long, 1},
		{"run/graph", graph(adaptertest.ChatPlay()), rig.Whole, rig.RunPosts, long[2:], 1},
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

// TestStepStream checks that the stream has the steps as they are read, numbered from 1, that it continues after any of
// them, and that it starts nothing.
func TestStepStream(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		peer := w.peer()
		b := rig.InFront(t, peer, w.mode)
		at := b.Task(`{"input":"hi"}`)
		if _, frames := b.Stream("GET", at+"/steps?stream=true", "", 0); len(frames) != 0 || peer.Work() != 0 {
			t.Errorf("before the first POST: %s, %d pieces of work", rig.EventNames(frames), peer.Work())
		}
		rig.PullAll(t, b, at, "")
		steps := b.Get(at + "/steps").OK().List("steps")
		for after := -1; after <= len(steps); after++ {
			res, frames := b.Stream("GET", at+"/steps?stream=true", "", 0, "Last-Event-ID", fmt.Sprint(after))
			first := max(after, 0)
			if res.OK(); len(frames) != len(steps)-first+1 || frames[len(frames)-1].Event != "end" {
				t.Fatalf("after %d: %s", after, rig.EventNames(frames))
			}
			for i, f := range frames[:len(frames)-1] {
				if diff := cmp.Diff(steps[first+i], f.At("")); diff != "" || f.ID != fmt.Sprint(first+i+1) || f.Event != "step" {
					t.Errorf("after %d: %s %s (-listed +streamed):\n%s", after, f.Event, f.ID, diff)
				}
			}
		}
	})
}

// A stream that is open while the agent works has each step as it is released.
func TestStepStreamLive(t *testing.T) {
	t.Parallel()
	g := rig.NewGate(adaptertest.NewStepAgent(adaptertest.Plain), rig.StepPosts, 3)
	b := rig.InFront(t, g, rig.Free)
	at := b.Task(`{"input":"hi"}`)
	b.Post(at+"/steps", "").OK()
	g.Await(t) // the second step exists, and is held back
	_, frames := b.Stream("GET", at+"/steps?stream=true", "", 1)
	if len(frames) != 1 || frames[0].At("output") != "one" || frames[0].At("is_last") != false {
		t.Fatalf("while it works: %v", frames)
	}
	rest := make(chan []rig.Frame)
	go func() {
		_, frames := b.Stream("GET", at+"/steps?stream=true", "", 0, "Last-Event-ID", "1")
		rest <- frames
	}()
	g.Open()
	if got := rig.EventNames(<-rest); got != "step step end" {
		t.Errorf("the rest of the stream: %s", got)
	}
}

// TestTaskCancel checks that cancelling returns 200 and the task, whatever its state, that the next step is the last
// with the reason, and that the agent gets no further requests.
func TestTaskCancel(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		t.Run("before its first step", func(t *testing.T) {
			t.Parallel()
			peer := w.peer()
			b := rig.InFront(t, peer, w.mode)
			at := b.Task(`{"input":"hi"}`)
			b.CancelTask(at)
			b.CheckCancelled(b.Post(at+"/steps", ""))
			if peer.Work() != 0 {
				t.Errorf("%d pieces of work", peer.Work())
			}
		})
		t.Run("at work", func(t *testing.T) {
			t.Parallel()
			peer := w.peer()
			g := rig.NewGate(peer, w.watches, 1)
			b := rig.InFront(t, g, w.mode)
			at := b.Task(`{"input":"hi"}`)
			var waiting rig.Answer
			var all sync.WaitGroup
			all.Go(func() { waiting, _ = b.Try(t.Context(), "POST", at+"/steps", "") })
			g.Await(t)
			b.CancelTask(at)
			all.Wait()
			g.Open()
			b.CheckCancelled(waiting)
			b.CancelTask(at) // repeated
			rig.SameJSON(t, "the last step, asked for again", b.Post(at+"/steps", "").OK().Body, waiting.Body)
			b.Expect(rig.ThreadOfTask(at), "status", "idle")
		})
		t.Run("when it is done", func(t *testing.T) {
			t.Parallel()
			b := rig.InFront(t, w.peer(), w.mode)
			at := b.Task(`{"input":"hi"}`)
			steps := rig.PullAll(t, b, at, "")
			b.CancelTask(at)
			rig.SameJSON(t, "the last step, after a cancel", b.Post(at+"/steps", "").OK().Body, steps[len(steps)-1].Body)
		})
	})
}

// TestClientLeavesMidStep checks that the step continues and is handed out to the next POST, and that the agent is not
// called twice.
func TestClientLeavesMidStep(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		peer, nth := w.peer(), min(2, w.work)
		g := rig.NewGate(peer, w.watches, nth)
		b := rig.InFront(t, g, w.mode)
		at := b.Task(`{"input":"hi"}`)
		var steps []rig.Answer
		if nth > 1 && len(w.texts) > 1 {
			steps = append(steps, b.Post(at+"/steps", "").OK())
		}
		ctx, leave := context.WithCancel(t.Context())
		var left sync.WaitGroup
		left.Go(func() { _, _ = b.Try(ctx, "POST", at+"/steps", "") })
		g.Await(t)
		leave()
		left.Wait()
		rig.Eventually(t, "the bridge notices the disconnect", func() bool { return rig.Says(string(b.Get("/metrics").OK().Body), "apbridge_requests_in_flight 0\n") })
		g.Open()
		rig.Eventually(t, "the step is done", func() bool { return peer.Work() >= nth })
		rig.CheckSteps(t, rig.Behind{Texts: w.texts}, append(steps, rig.PullAll(t, b, at, "")...))
		if peer.Work() != w.work {
			t.Errorf("%d pieces of work, want %d", peer.Work(), w.work)
		}
	})
}

// TestConcurrentStepRequests checks that each POST gets its own step, that later POSTs get the last one again, and that
// no work is done twice.
func TestConcurrentStepRequests(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		peer := w.peer()
		b := rig.InFront(t, peer, w.mode)
		at := b.Task(`{"input":"hi"}`)
		got := make(chan rig.Answer, 8)
		var all sync.WaitGroup
		for range cap(got) {
			all.Go(func() {
				a, _ := b.Try(t.Context(), "POST", at+"/steps", "")
				got <- a
			})
		}
		all.Wait()
		close(got)
		var texts []string
		for a := range got {
			texts = append(texts, a.OK().Text("output"))
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

// Pages of allowed origins may call both versions under every prefix, and may read the headers about unsupported fields
// and retries.
func TestTaskFaceAllowsOtherOrigins(t *testing.T) {
	t.Parallel()
	cfg := rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, adaptertest.NewStepAgent(adaptertest.Plain)).URL)})
	cfg.CORS.Origins = []string{"http://page.example"}
	b := rig.StartBridge(t, cfg)
	at := b.Task(`{"input":"hi"}`)
	for _, path := range []string{
		"/ap/v1/heartbeat", "/ap/v1/agent/tasks", at, at + "/steps", at + "/artifacts", "/agents/agent" + at, "/agent/tasks", "/ap/v2/topics", "/agents/agent/ap/v2/topics",
		"/ap/v1/nothing", at + "/steps/nothing",
	} {
		asked := b.Do("OPTIONS", path, "", "Origin", "http://page.example", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type,idempotency-key")
		h := asked.Header
		if asked.Status/100 != 2 || h.Get("Access-Control-Allow-Origin") != "http://page.example" || !rig.Says(h.Get("Access-Control-Allow-Methods"), "POST") {
			t.Errorf("%s: preflight %d %v", path, asked.Status, h)
		}
		got := b.Do("GET", path, "", "Origin", "http://page.example")
		if got.Header.Get("Access-Control-Allow-Origin") != "http://page.example" || !rig.Says(got.Header.Get("Access-Control-Expose-Headers"), "X-Apbridge-Unsupported") {
			t.Errorf("%s: %d %v", path, got.Status, got.Header)
		}
		b.Do("GET", path, "", "Origin", "http://other.example").Is(http.StatusForbidden)
	}
}
