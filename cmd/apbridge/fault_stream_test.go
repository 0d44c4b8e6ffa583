package main

import (
	"net/http"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/google/go-cmp/cmp"
)

var cursorModes = `"stream_mode":["updates","values","messages-tuple","custom"],`

// streamed runs an agent once and returns the run's path with every frame of
// its stream.
func streamed(t *testing.T, b *bridge) (run string, frames []frame) {
	t.Helper()
	at := b.thread()
	res, frames := b.stream("POST", at+"/runs/stream", `{"assistant_id":"agent",`+cursorModes+saysHi+`}`, 0)
	res.ok()
	return at + "/runs/" + frames[0].at("run_id").(string), frames
}

func eitherKind() map[string]func() adaptertest.Peer {
	return map[string]func() adaptertest.Peer{
		"step agent": func() adaptertest.Peer { return adaptertest.NewStepAgent(adaptertest.Plain) },
		"graph": func() adaptertest.Peer {
			return &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}}
		},
	}
}

// TestB1_ResumesExactly: after any frame, the rest comes and nothing else;
// also from another process on the same file (B3).
func TestB1_ResumesExactly(t *testing.T) {
	t.Parallel()
	for name, peer := range eitherKind() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := inFront(t, peer())
			run, frames := streamed(t, b)
			checkResumes(t, b, run, frames)
			b.end()
			checkResumes(t, b.again(), run, frames)
		})
	}
}

func checkResumes(t *testing.T, b *bridge, run string, frames []frame) {
	t.Helper()
	for _, from := range []string{"-1", ""} {
		_, all := b.stream("GET", run+"/stream", "", 0, "Last-Event-ID", from)
		if diff := cmp.Diff(frames, all, cmp.AllowUnexported(frame{})); diff != "" {
			t.Fatalf("from %q (-first time +again):\n%s", from, diff)
		}
	}
	for i, f := range frames {
		_, rest := b.stream("GET", run+"/stream", "", 0, "Last-Event-ID", f.id)
		if diff := cmp.Diff(append([]frame{}, frames[i+1:]...), append([]frame{}, rest...), cmp.AllowUnexported(frame{})); diff != "" {
			t.Fatalf("after frame %d, %s (-want +got):\n%s", i, f.id, diff)
		}
	}
	if _, rest := b.stream("GET", run+"/stream", "", 0); len(rest) != 0 { // without a cursor: only what comes
		t.Errorf("a finished run streams %s to a reader without a cursor", eventNames(rest))
	}
}

// TestB1_ReaderDropsInMidRun: a reader leaves while the run goes on and comes
// back with its cursor; another one is not disturbed (B10).
func TestB1_ReaderDropsInMidRun(t *testing.T) {
	t.Parallel()
	g := newGate(adaptertest.NewStepAgent(adaptertest.Plain), stepPosts, 2)
	b := inFront(t, g)
	at := b.thread()
	run := b.begin(at, cursorModes)
	stays := make(chan []frame, 1)
	go func() {
		_, frames := b.stream("GET", run+"/stream", "", 0, "Last-Event-ID", "-1")
		stays <- frames
	}()
	g.await(t)
	_, seen := b.stream("GET", run+"/stream", "", 3, "Last-Event-ID", "-1")
	g.open()
	_, rest := b.stream("GET", run+"/stream", "", 0, "Last-Event-ID", seen[len(seen)-1].id)
	if diff := cmp.Diff(<-stays, append(seen, rest...), cmp.AllowUnexported(frame{})); diff != "" {
		t.Errorf("who stayed and who came back (-stayed +came back):\n%s", diff)
	}
}

// TestB2_Cursors that are not of this stream are refused at once, with words.
func TestB2_Cursors(t *testing.T) {
	t.Parallel()
	b := inFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	run, frames := streamed(t, b)
	thread := run[:len("/threads/")+36]
	next := b.post(thread+"/runs/wait", `{"assistant_id":"agent",`+saysMore+`}`).ok()
	if next.at("__error__") != nil {
		t.Fatalf("the second run: %s", next.body)
	}
	second := thread + "/runs/" + dig(b.get(thread+"/runs").ok().list(""), "0.run_id").(string)
	for _, tt := range []struct{ name, run, cursor, code string }{
		{"garbage", run, "what?", "bad_cursor"},
		{"negative", run, "-2", "bad_cursor"},
		{"padded", run, "007.1", "bad_cursor"},
		{"zero", run, "0", "bad_cursor"},
		{"too long", run, "99999999999999999999999999.0", "bad_cursor"},
		{"future", run, "987654.0", "bad_cursor"},
		{"of a later run", run, "999", "bad_cursor"},
		{"of an earlier run", second, frames[1].id, "cursor_expired"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := b.do("GET", tt.run+"/stream", "", "Last-Event-ID", tt.cursor).is(http.StatusBadRequest)
			if res.text("code") != tt.code || !says(res.text("message"), "-1") {
				t.Errorf("refused with %s", res.body)
			}
		})
	}
	_, later := b.stream("GET", second+"/stream", "", 0, "Last-Event-ID", "-1")
	if res := b.do("GET", run+"/stream", "", "Last-Event-ID", later[0].id).is(http.StatusBadRequest); res.text("code") != "cursor_expired" {
		t.Errorf("a later run's: %s", res.body)
	}
	body := b.post(run+"/stream", `{"last_event_id":"what?"}`).is(http.StatusBadRequest)
	if body.text("code") != "bad_cursor" {
		t.Errorf("in the body: %s", body.body)
	}
}

// A run whose first state was pruned cannot be replayed, ever: its stream is refused
// and says so, and is not cut off, after which a client would come back.
func TestB2_ReplayOfAPrunedRun(t *testing.T) {
	t.Parallel()
	b := inFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	run, _ := streamed(t, b)
	thread := run[:len("/threads/")+36]
	for range 2 {
		b.post(thread+"/runs/wait", `{"assistant_id":"agent",`+saysMore+`}`).ok()
	}
	middle := thread + "/runs/" + dig(b.get(thread+"/runs").ok().list(""), "1.run_id").(string)
	b.post("/threads/prune", `{"thread_ids":["`+thread[len("/threads/"):]+`"],"strategy":"keep_latest"}`).ok()
	b.end()
	b = b.again() // which has nothing of it in memory
	res := b.do("GET", middle+"/stream", "", "Last-Event-ID", "-1").is(http.StatusBadRequest)
	if res.text("code") != "cursor_expired" || !says(res.text("message"), "cannot be replayed") {
		t.Errorf("refused with %s", res.body)
	}
}

// TestB12_StreamOfAQueuedRun opens before the run starts and brings all of it.
func TestB12_StreamOfAQueuedRun(t *testing.T) {
	t.Parallel()
	g := newGate(adaptertest.NewStepAgent(adaptertest.Plain), stepPosts, 1)
	b := inFront(t, g)
	at := b.thread()
	b.begin(at, "")
	g.await(t)
	queued := b.begin(at, cursorModes+`"multitask_strategy":"enqueue",`)
	got := make(chan []frame, 1)
	go func() {
		_, frames := b.stream("GET", queued+"/stream", "", 0, "Last-Event-ID", "-1")
		got <- frames
	}()
	b.expect(queued, "status", "pending")
	g.open()
	frames := <-got
	if len(frames) == 0 || frames[0].event != "metadata" {
		t.Fatalf("frames: %s", eventNames(frames))
	}
	who := behind{name: "plain", texts: []string{"one", "two", "three"}, steps: true}
	checkFrames(t, frames, who)
	_, again := b.stream("GET", queued+"/stream", "", 0, "Last-Event-ID", "-1")
	if diff := cmp.Diff(frames, again, cmp.AllowUnexported(frame{})); diff != "" {
		t.Errorf("as it happened and afterwards (-then +later):\n%s", diff)
	}
}
