package threadrun

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
)

// threadFrame is one server-sent event.
type threadFrame struct{ name, data, id string }

func (f threadFrame) at(path string) any {
	var v any
	if json.Unmarshal([]byte(f.data), &v) != nil {
		return nil
	}
	return rig.Dig(v, path)
}

// threadReader reads a stream of a whole thread.
type threadReader struct {
	t      *testing.T
	frames chan threadFrame
	leave  context.CancelFunc
}

func streamThread(b *rig.Bridge, thread, query, last string) *threadReader {
	b.T.Helper()
	ctx, leave := context.WithTimeout(b.T.Context(), time.Minute)
	req, err := http.NewRequestWithContext(ctx, "GET", b.URL+thread+"/stream"+query, nil)
	if err != nil {
		b.T.Fatal(err)
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		b.T.Fatal(err)
	}
	if kind := res.Header.Get("Content-Type"); res.StatusCode != 200 || kind != "text/event-stream" || res.Header.Get("Location") != thread+"/stream" {
		b.T.Fatalf("%d %v", res.StatusCode, res.Header)
	}
	r := &threadReader{t: b.T, frames: make(chan threadFrame, 1000), leave: leave}
	b.T.Cleanup(leave)
	go func() {
		defer close(r.frames)
		defer res.Body.Close()
		var f threadFrame
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "event":
				f.name = value
			case "data":
				f.data = value
			case "id":
				f.id = value
			case "":
				r.frames <- f
				f = threadFrame{}
			}
		}
	}()
	return r
}

// until reads up to the nth frame for which ok is true.
func (r *threadReader) until(n int, ok func(threadFrame) bool) (list []threadFrame) {
	r.t.Helper()
	for f := range r.frames {
		if list = append(list, f); ok(f) {
			if n--; n == 0 {
				return list
			}
		}
	}
	r.t.Fatalf("the stream ended after %v", list)
	return nil
}

func runDone(f threadFrame) bool { return f.at("status") == "run_done" }

func namesOf(list []threadFrame) string {
	names := make([]string, len(list))
	for i, f := range list {
		names[i] = f.name
	}
	return strings.Join(names, " ")
}

func TestThreadIsFollowedAcrossRuns(t *testing.T) {
	t.Parallel()
	for name, agent := range map[string]http.Handler{
		"task/step": adaptertest.NewStepAgent(adaptertest.Plain), "thread/run": &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := rig.InFront(t, agent)
			thread := b.Thread()
			stream := streamThread(b, thread, "", "")
			lives := streamThread(b, thread, "?stream_mode=lifecycle", "")
			states := streamThread(b, thread, "?stream_mode=state_update", "")
			first := b.Post(thread+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`,"stream_mode":["updates"]}`).OK()
			b.Post(thread+"/state", `{"values":{"colour":"red"}}`).OK()
			b.Post(thread+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`).OK()
			seen := stream.until(2, runDone)
			got := namesOf(seen)
			if !strings.HasPrefix(got, "metadata updates") || strings.Count(got, "metadata") != 4 || !strings.HasSuffix(got, "values metadata") {
				t.Errorf("frames: %s", got)
			}
			ids := map[any]int{}
			for _, f := range lives.until(2, runDone) {
				if f.name != "metadata" {
					t.Errorf("the frame %s is neither the begin nor the end of a run", f.name)
				}
				ids[f.at("run_id")]++
			}
			if len(ids) != 2 {
				t.Errorf("%v", ids)
			}
			changes := states.until(3, func(threadFrame) bool { return true })
			if namesOf(changes) != "state_update state_update state_update" || changes[0].at("run_id") == nil || changes[1].at("run_id") != nil ||
				changes[1].at("state.values.colour") != "red" || changes[1].at("state.checkpoint.checkpoint_id") == nil {
				t.Errorf("%v", changes)
			}
			_ = first
			// A reader after any frame gets the following ones; from the start it gets all.
			for _, from := range []struct {
				id   string
				want []threadFrame
			}{{"-1", seen}, {seen[1].id, seen[2:]}, {seen[len(seen)-2].id, seen[len(seen)-1:]}} {
				again := streamThread(b, thread, "", from.id).until(strings.Count(namesOf(from.want), "metadata"), func(f threadFrame) bool { return f.name == "metadata" })
				if len(again) != len(from.want) || again[0] != from.want[0] || again[len(again)-1] != from.want[len(from.want)-1] {
					t.Errorf("from %s: %v\nwant %v", from.id, again, from.want)
				}
			}
			all := streamThread(b, thread, "?stream_mode=lifecycle&stream_mode=state_update", "-1").until(2, runDone)
			if got := namesOf(all); got != "metadata metadata state_update state_update metadata metadata" {
				t.Errorf("both modes: %s", got)
			}
		})
	}
}

func TestThreadStreamIsRefused(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	thread := b.Thread()
	b.Get(thread + "/stream?stream_mode=values").Is(422)
	b.Get("/threads/" + rig.NoneID + "/stream").Is(404)
	b.Do("GET", thread+"/stream", "", "Upgrade", "websocket", "Connection", "Upgrade").Is(400)
	b.Do("GET", thread+"/stream", "", "Last-Event-ID", "soon").Is(400)
	if got := b.Do("GET", thread+"/stream", "", "Last-Event-ID", "99.0").Is(400); got.Text("code") != "invalid_cursor" {
		t.Errorf("%s", got.Body)
	}
}

// The end of a run that is cancelled while it waits is sent at once, although the run before it sends nothing.
func TestThreadStreamOfARunCancelledWhileQueued(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	g := rig.NewGate(agent, rig.StepPosts, 2)
	b := rig.InFront(t, g)
	thread := b.Thread()
	stream := streamThread(b, thread, "?stream_mode=lifecycle", "")
	frames := streamThread(b, thread, "", "")
	busy := b.Begin(thread, `"stream_mode":"updates",`)
	g.Await(t)
	frames.until(1, func(f threadFrame) bool { return f.name == "updates" }) // now it is silent
	waiting := b.Post(thread+"/runs", `{"assistant_id":"agent","multitask_strategy":"enqueue",`+rig.SaysHi+`}`).OK().Text("run_id")
	b.Do("POST", thread+"/runs/"+waiting+"/cancel?wait=true", "").Is(204)
	list := stream.until(1, runDone)
	g.Open()
	list = append(list, stream.until(1, runDone)...)
	done := map[any]any{}
	for _, f := range list {
		if runDone(f) {
			done[f.at("run_id")] = f.at("run_status")
		}
	}
	if len(done) != 2 || done[waiting] != "interrupted" || len(list) != 3 {
		t.Errorf("%v of %s and %v: %v", done, waiting, busy, list)
	}
	b.Do("DELETE", thread, "").Is(204)
	for range stream.frames { // closes when the thread is deleted
	}
}

// The events of two concurrent runs are sent when they occur, even while the other run is silent.
func TestThreadStreamOfConcurrentRuns(t *testing.T) {
	t.Parallel()
	g := rig.NewGate(adaptertest.NewStepAgent(adaptertest.Plain), rig.StepPosts, 2)
	b := rig.StartBridge(t, rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, g).URL, func(a *config.Agent) { a.Dialect, a.AllowConcurrent = "taskstep", true })}))
	thread := b.Thread()
	stream := streamThread(b, thread, "", "")
	busy := b.Begin(thread, `"stream_mode":"updates",`)
	g.Await(t)
	stream.until(1, func(f threadFrame) bool { return f.name == "updates" })
	other := b.Post(thread+"/runs/wait", `{"assistant_id":"agent","multitask_strategy":"concurrent","stream_mode":"updates",`+rig.SaysHi+`}`).OK()
	list := stream.until(1, runDone)
	last := list[len(list)-1]
	if got := namesOf(list); !strings.HasPrefix(got, "metadata updates") || !strings.HasSuffix(got, "updates metadata") || !strings.HasSuffix(other.Header.Get("Content-Location"), rig.TextOf(last.at("run_id"))) {
		t.Errorf("%v", list)
	}
	g.Open()
	if list = stream.until(1, runDone); !strings.HasSuffix(busy, rig.TextOf(list[len(list)-1].at("run_id"))) {
		t.Errorf("%v", list)
	}
}
