package face

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/sse"
	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

// patience bounds the waits of tests.
const patience = time.Minute

const thisRun = aThread + aRun

// running adds a run that has played n events of its script.
func running(script func(mapping.Run) []mapping.Event, n int) *fake {
	f := newFake()
	f.addThread(uuid(500), `{}`)
	f.script = script
	f.addRun(mapping.Run{
		ID: uuid(600), ThreadID: uuid(500), Agent: "graph", AssistantID: mapping.AssistantID("graph"),
		Status: mapping.RunRunning, Metadata: raw(`{}`), Kwargs: raw(`{}`), CreatedAt: at, UpdatedAt: at,
	}, n)
	return f
}

// reader follows one stream.
type reader struct {
	t   *testing.T
	res *http.Response
	sse *sse.Reader
	end context.CancelFunc
}

func open(t *testing.T, url, lastID string) *reader {
	t.Helper()
	ctx, end := context.WithTimeout(context.Background(), patience)
	t.Cleanup(end)
	req, _ := http.NewRequestWithContext(ctx, "GET", url, nil)
	if lastID != "none" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return &reader{t, res, sse.NewReader(res.Body, 0), end}
}

func (r *reader) next() string {
	r.t.Helper()
	ev, err := r.sse.Next()
	if err != nil {
		return "error: " + err.Error()
	}
	return ev.ID + " " + ev.Name + " " + string(ev.Data)
}

func (r *reader) rest() (ids []string) {
	for {
		ev, err := r.sse.Next()
		if err != nil {
			return ids
		}
		ids = append(ids, ev.ID+" "+ev.Name)
	}
}

// A reader that returns with any id gets exactly the frames after it.
func TestResumeAtEveryFrame(t *testing.T) {
	t.Parallel()
	for name, script := range scripts {
		f := running(script, -1)
		base := f.serve(t).URL + thisRun + "/stream?stream_mode=" + strings.Join(langGraphModes, ",")
		all := frames(t, base, "-1")
		for i := range all {
			id, _, _ := strings.Cut(all[i], " ")
			if d := cmp.Diff(all[i+1:], frames(t, base, id)); d != "" {
				t.Errorf("%s: after %s: %s", name, id, d)
			}
		}
		if d := cmp.Diff(all, frames(t, base, "")); d != "" {
			t.Errorf("%s: an empty id is the start: %s", name, d)
		}
	}
}

func frames(t *testing.T, url, lastID string) []string {
	t.Helper()
	r := open(t, url, lastID)
	out := []string{}
	for {
		s := r.next()
		if strings.HasPrefix(s, "error:") {
			return out
		}
		out = append(out, s)
	}
}

// A frame's id does not depend on the other requested modes.
func TestIdsAreTheSameInEveryMode(t *testing.T) {
	t.Parallel()
	for name, script := range scripts {
		f := running(script, -1)
		base := f.serve(t).URL + thisRun + "/stream?stream_mode="
		want := map[string]string{}
		for _, fr := range frames(t, base+strings.Join(langGraphModes, ","), "-1") {
			id, rest, _ := strings.Cut(fr, " ")
			if _, twice := want[id]; twice {
				t.Errorf("%s: id %s is given twice", name, id)
			}
			want[id] = rest
		}
		for _, mode := range langGraphModes {
			for _, fr := range frames(t, base+mode, "-1") {
				id, rest, _ := strings.Cut(fr, " ")
				if want[id] != rest {
					t.Errorf("%s, %s: %s differs", name, mode, id)
				}
			}
		}
	}
}

func TestFollowLive(t *testing.T) {
	t.Parallel()
	f := running(twoSteps, 3)
	events := twoSteps(mapping.Run{})
	url := f.serve(t).URL + thisRun + "/stream?stream_mode=updates"
	late, early := open(t, url, "none"), open(t, url, "-1")
	f.more(uuid(600), events[3])
	if got := late.next(); !strings.HasPrefix(got, "4.135 updates") {
		t.Errorf("a late reader gets only new frames: %s", got)
	}
	f.more(uuid(600), events[4])
	if rest := late.rest(); len(rest) != 0 {
		t.Errorf("more: %v", rest)
	}
	if d := cmp.Diff([]string{"1.0 metadata", "3.135 updates", "4.135 updates"}, early.rest()); d != "" {
		t.Error(d)
	}
}

// A reader that joins in the middle of a message gets the whole text so far.
func TestPartialsAfterJoining(t *testing.T) {
	t.Parallel()
	f := running(graphRun, 4) // "he" was sent
	url := f.serve(t).URL + thisRun + "/stream?stream_mode=messages"
	live, resumed := open(t, url, "none"), open(t, url, "4.1")
	f.more(uuid(600), delta("m1", "llo"))
	f.more(uuid(600), delta("m2", "x"))
	for _, r := range []*reader{live, resumed} {
		if got, want := r.next(), `5.1 messages/partial [{"content":"hello","id":"m1","type":"ai","tool_calls":[]}]`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if got := r.next(); !strings.HasPrefix(got, "6.0 messages/metadata") {
			t.Errorf("got %s", got)
		}
	}
}

func TestHeartbeats(t *testing.T) {
	t.Parallel()
	f := running(twoSteps, 2)
	srv := f.serve(t, func(s *server) { s.face.Heartbeat = 5 * time.Millisecond })
	r := open(t, srv.URL+thisRun+"/stream", "-1")
	lines := bufio.NewScanner(r.res.Body)
	beats, last := 0, ""
	for beats < 3 && lines.Scan() {
		if lines.Text() == ": heartbeat" {
			beats++
		} else if last == ": heartbeat" && lines.Text() == "" {
			t.Error("an empty line behind a heartbeat makes clients see an event")
		}
		last = lines.Text()
	}
	if beats < 3 {
		t.Error("no heartbeats: ", lines.Err())
	}
	f.more(uuid(600), succeeded())
}

func TestClientThatLeaves(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, path, body string
		cancels          bool
	}{
		{"langgraph stream", aThread + "/runs/stream", `{"assistant_id":"graph"}`, false},
		{"langgraph stream that asks", aThread + "/runs/stream", `{"assistant_id":"graph","on_disconnect":"cancel"}`, true},
		{"agent protocol stream", "/runs/stream", `{"agent_id":"graph"}`, true},
		{"agent protocol stream that goes on", "/runs/stream", `{"agent_id":"graph","on_disconnect":"continue"}`, false},
		{"langgraph wait", "/runs/wait", `{"assistant_id":"graph"}`, false},
		{"agent protocol wait", "/runs/wait", `{"agent_id":"graph"}`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			f.script = func(mapping.Run) []mapping.Event { return twoSteps(mapping.Run{})[:2] }
			startAndDrop(t, f, c.path, c.body)
			checkCancelled(t, f, c.cancels)
		})
	}
}

// startAndDrop starts a request, drops it once the run is there, and waits until the handler has returned.
func startAndDrop(t *testing.T, f *fake, path, body string) {
	t.Helper()
	inner := f.serve(t).Config.Handler
	done := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(done)
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	ctx, drop := context.WithCancel(context.Background())
	req, _ := http.NewRequestWithContext(ctx, "POST", srv.URL+path, strings.NewReader(body))
	go func() {
		waitFor(t, func() bool { f.mu.Lock(); defer f.mu.Unlock(); return len(f.runs) > 0 })
		drop()
	}()
	if res, err := http.DefaultClient.Do(req); err == nil {
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("the handler does not return")
	}
}

func waitFor(t *testing.T, ok func() bool) {
	deadline := time.After(patience)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Error("waited too long")
			return
		}
	}
}

func checkCancelled(t *testing.T, f *fake, want bool) {
	t.Helper()
	select {
	case <-f.cancelled:
		if !want {
			t.Error("the run was cancelled")
		}
	default:
		if want {
			t.Error("the run continues")
		}
	}
}

func TestDisconnectedJoinerCancelsOnlyOnRequest(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]bool{"?cancel_on_disconnect=0": false, "?cancel_on_disconnect=true": true} {
		f := running(twoSteps, 2)
		returned := make(chan struct{})
		inner := f.serve(t).Config.Handler
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer close(returned)
			inner.ServeHTTP(w, r)
		}))
		r := open(t, srv.URL+thisRun+"/stream"+query, "-1")
		r.next()
		r.end()
		<-returned
		srv.Close()
		checkCancelled(t, f, want)
	}
}

// If the bridge cannot read the log any further, the stream breaks, so that the client does not assume that the run has
// ended.
func TestStreamBreaksInsteadOfEnding(t *testing.T) {
	t.Parallel()
	f := running(twoSteps, 3)
	f.breakAt = 3
	r := open(t, f.serve(t).URL+thisRun+"/stream", "-1")
	for range 3 {
		r.next()
	}
	if _, err := r.sse.Next(); errors.Is(err, io.EOF) {
		t.Error("the stream closed as if the run were over")
	}
}

func TestStreamOfADeletedRun(t *testing.T) {
	t.Parallel()
	f := running(twoSteps, 2)
	srv := f.serve(t)
	r := open(t, srv.URL+thisRun+"/stream?stream_mode=updates", "-1")
	r.next()
	if err := (f).DeleteRun(context.Background(), adapter.RunRef{RunID: uuid(600)}); err != nil {
		t.Fatal(err)
	}
	if got := r.next(); !strings.Contains(got, "error") || !strings.Contains(got, "run_not_found") {
		t.Errorf("got %s", got)
	}
}

func TestWaitKeepsTheConnectionAlive(t *testing.T) {
	t.Parallel()
	f := running(failure, 2)
	srv := f.serve(t, func(s *server) { s.waitBeat = 2 * time.Millisecond })
	res, err := http.Get(srv.URL + thisRun + "/join")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	first := make([]byte, 1)
	if _, err := io.ReadFull(res.Body, first); err != nil || first[0] != '\n' || res.StatusCode != 200 {
		t.Fatalf("%d %q %v", res.StatusCode, first, err)
	}
	if h := res.Header; h.Get("X-Accel-Buffering") != "no" || h.Get("Cache-Control") != "no-cache, no-transform" {
		t.Errorf("a proxy would hold the line breaks back: %v", h)
	}
	for _, ev := range failure(mapping.Run{})[2:] {
		f.more(uuid(600), ev)
	}
	body, err := io.ReadAll(res.Body)
	want := `{"__error__":{"error":"upstream_error","message":"The agent answered 500.","code":"upstream_error"}}`
	if got := string(bytes.TrimSpace(body)); got != want || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
}

// The Agent Protocol's wait sends nothing before its response, because its clients read the status.
func TestWaitOfTheAgentProtocolIsSilent(t *testing.T) {
	t.Parallel()
	f := running(twoSteps, 4)
	srv := f.serve(t, func(s *server) { s.waitBeat = time.Millisecond })
	go func() {
		waitFor(t, func() bool { f.mu.Lock(); defer f.mu.Unlock(); return f.readers > 0 })
		f.more(uuid(600), succeeded())
	}()
	res, err := http.Get(srv.URL + aRun + "/wait")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	if !bytes.HasPrefix(body, []byte(`{"run":`)) || !json.Valid(body) {
		t.Errorf("got %s", body)
	}
}

// If a run stops at a node of interrupt_before, the response has no values but an empty list of questions, as on a
// LangGraph server. A cancelled run has its values.
func TestWaitForARunThatStopped(t *testing.T) {
	t.Parallel()
	for want, out := range map[string]mapping.Outcome{
		`{"__interrupt__":[]}`: {Status: mapping.RunInterrupted},
		`{"n":1}`:              {Status: mapping.RunInterrupted, Reason: mapping.CancelledByRequest},
	} {
		if got := string(bareBody(out, json.RawMessage(`{"n":1}`))); got != want {
			t.Errorf("%+v: %s, want %s", out, got, want)
		}
	}
}
