package fault

import (
	"net/http"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/google/go-cmp/cmp"
)

var cursorModes = `"stream_mode":["updates","values","messages-tuple","custom"],`

// streamed runs an agent once and returns the run's path with every frame of its stream.
func streamed(t *testing.T, b *rig.Bridge) (run string, frames []rig.Frame) {
	t.Helper()
	at := b.Thread()
	res, frames := b.Stream("POST", at+"/runs/stream", `{"assistant_id":"agent",`+cursorModes+rig.SaysHi+`}`, 0)
	res.OK()
	return at + "/runs/" + frames[0].At("run_id").(string), frames
}

// TestResumesExactly checks that a stream resumed after any frame has exactly the remaining frames, also from another
// process on the same file (B3).
func TestResumesExactly(t *testing.T) {
	t.Parallel()
	for name, peer := range rig.EitherKind() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := rig.InFront(t, peer())
			run, frames := streamed(t, b)
			checkResumes(t, b, run, frames)
			b.End()
			checkResumes(t, b.Again(), run, frames)
		})
	}
}

func checkResumes(t *testing.T, b *rig.Bridge, run string, frames []rig.Frame) {
	t.Helper()
	for _, from := range []string{"-1", ""} {
		_, all := b.Stream("GET", run+"/stream", "", 0, "Last-Event-ID", from)
		if diff := cmp.Diff(frames, all); diff != "" {
			t.Fatalf("from %q (-first +second):\n%s", from, diff)
		}
	}
	for i, f := range frames {
		_, rest := b.Stream("GET", run+"/stream", "", 0, "Last-Event-ID", f.ID)
		if diff := cmp.Diff(append([]rig.Frame{}, frames[i+1:]...), append([]rig.Frame{}, rest...)); diff != "" {
			t.Fatalf("after frame %d, %s (-want +got):\n%s", i, f.ID, diff)
		}
	}
	if _, rest := b.Stream("GET", run+"/stream", "", 0); len(rest) != 0 { // without a cursor: only what comes
		t.Errorf("a finished run streams %s to a reader without a cursor", rig.EventNames(rest))
	}
}

// TestReaderDropsInMidRun checks that a reader that disconnects during a run can resume with its cursor, and that other
// readers are not disturbed (B10).
func TestReaderDropsInMidRun(t *testing.T) {
	t.Parallel()
	g := rig.NewGate(adaptertest.NewStepAgent(adaptertest.Plain), rig.StepPosts, 2)
	b := rig.InFront(t, g)
	at := b.Thread()
	run := b.Begin(at, cursorModes)
	stays := make(chan []rig.Frame, 1)
	go func() {
		_, frames := b.Stream("GET", run+"/stream", "", 0, "Last-Event-ID", "-1")
		stays <- frames
	}()
	g.Await(t)
	_, seen := b.Stream("GET", run+"/stream", "", 3, "Last-Event-ID", "-1")
	g.Open()
	_, rest := b.Stream("GET", run+"/stream", "", 0, "Last-Event-ID", seen[len(seen)-1].ID)
	if diff := cmp.Diff(<-stays, append(seen, rest...)); diff != "" {
		t.Errorf("frames of the two readers (-stayed +reconnected):\n%s", diff)
	}
}

// TestInvalidCursorsAreRefused checks that cursors from other streams are refused at once with an explanation.
func TestInvalidCursorsAreRefused(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	run, frames := streamed(t, b)
	thread := run[:len("/threads/")+36]
	next := b.Post(thread+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysMore+`}`).OK()
	if next.At("__error__") != nil {
		t.Fatalf("the second run: %s", next.Body)
	}
	second := thread + "/runs/" + rig.Dig(b.Get(thread+"/runs").OK().List(""), "0.run_id").(string)
	for _, tt := range []struct{ name, run, cursor, code string }{
		{"garbage", run, "what?", "invalid_cursor"},
		{"negative", run, "-2", "invalid_cursor"},
		{"padded", run, "007.1", "invalid_cursor"},
		{"zero", run, "0", "invalid_cursor"},
		{"too long", run, "99999999999999999999999999.0", "invalid_cursor"},
		{"future", run, "987654.0", "invalid_cursor"},
		{"of a later run", run, "999", "invalid_cursor"},
		{"of an earlier run", second, frames[1].ID, "cursor_expired"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := b.Do("GET", tt.run+"/stream", "", "Last-Event-ID", tt.cursor).Is(http.StatusBadRequest)
			if res.Text("code") != tt.code || !rig.Says(res.Text("message"), "-1") {
				t.Errorf("refused with %s", res.Body)
			}
		})
	}
	_, later := b.Stream("GET", second+"/stream", "", 0, "Last-Event-ID", "-1")
	if res := b.Do("GET", run+"/stream", "", "Last-Event-ID", later[0].ID).Is(http.StatusBadRequest); res.Text("code") != "cursor_expired" {
		t.Errorf("a later run's: %s", res.Body)
	}
	body := b.Post(run+"/stream", `{"last_event_id":"what?"}`).Is(http.StatusBadRequest)
	if body.Text("code") != "invalid_cursor" {
		t.Errorf("in the body: %s", body.Body)
	}
}

// TestReplayOfAPrunedRun checks that the stream of a run whose first state was pruned is refused with the reason. If it
// were cut off instead, the client would reconnect.
func TestReplayOfAPrunedRun(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	run, _ := streamed(t, b)
	thread := run[:len("/threads/")+36]
	for range 2 {
		b.Post(thread+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysMore+`}`).OK()
	}
	middle := thread + "/runs/" + rig.Dig(b.Get(thread+"/runs").OK().List(""), "1.run_id").(string)
	b.Post("/threads/prune", `{"thread_ids":["`+thread[len("/threads/"):]+`"],"strategy":"keep_latest"}`).OK()
	b.End()
	b = b.Again() // a new process has nothing of the run in memory
	res := b.Do("GET", middle+"/stream", "", "Last-Event-ID", "-1").Is(http.StatusBadRequest)
	if res.Text("code") != "cursor_expired" || !rig.Says(res.Text("message"), "cannot be replayed") {
		t.Errorf("refused with %s", res.Body)
	}
}

// TestStreamOfAQueuedRun checks that a stream opened before the run starts has all of its frames.
func TestStreamOfAQueuedRun(t *testing.T) {
	t.Parallel()
	g := rig.NewGate(adaptertest.NewStepAgent(adaptertest.Plain), rig.StepPosts, 1)
	b := rig.InFront(t, g)
	at := b.Thread()
	b.Begin(at, "")
	g.Await(t)
	queued := b.Begin(at, cursorModes+`"multitask_strategy":"enqueue",`)
	got := make(chan []rig.Frame, 1)
	go func() {
		_, frames := b.Stream("GET", queued+"/stream", "", 0, "Last-Event-ID", "-1")
		got <- frames
	}()
	b.Expect(queued, "status", "pending")
	g.Open()
	frames := <-got
	if len(frames) == 0 || frames[0].Event != "metadata" {
		t.Fatalf("frames: %s", rig.EventNames(frames))
	}
	who := rig.Behind{Name: "plain", Texts: []string{"one", "two", "three"}, Steps: true}
	rig.CheckFrames(t, frames, who)
	_, again := b.Stream("GET", queued+"/stream", "", 0, "Last-Event-ID", "-1")
	if diff := cmp.Diff(frames, again); diff != "" {
		t.Errorf("live and later streams (-live +later):\n%s", diff)
	}
}
