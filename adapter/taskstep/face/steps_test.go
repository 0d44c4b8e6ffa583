package face

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// patience bounds waits for something that must happen soon.
const patience = time.Minute

func await(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("still waiting for: " + what)
	}
}

func lastStep() mapping.Step {
	out := "done"
	return mapping.Step{ID: "s", TaskID: "t", N: 1, Name: "step", Status: mapping.StepCompleted, Output: &out, IsLast: true}
}

// A hand-out is confirmed once, and only when the client can have the whole response. This Confirm waits until the
// client has it.
func TestConfirmFollowsTheResponse(t *testing.T) {
	t.Parallel()
	f := newFake()
	received, confirmed := make(chan struct{}), make(chan struct{})
	f.onStep = func(context.Context, adapter.StepRequest) (adapter.Handout, error) {
		return adapter.Handout{Step: lastStep(), Confirm: func() {
			select {
			case <-received:
			case <-time.After(patience):
				t.Error("confirmed before the response was written")
			}
			close(confirmed)
		}}, nil
	}
	s := serve(t, f)
	s.do("POST", v1Path+"/tasks/t/steps", plain, "").field(t, "step_id")
	close(received)
	await(t, "confirmation", confirmed)
}

// A client that left gets the same step again, because its hand-out is not confirmed.
func TestNoConfirmForAClientThatLeft(t *testing.T) {
	t.Parallel()
	f := newFake()
	working, finished := make(chan struct{}), make(chan struct{})
	f.onStep = func(ctx context.Context, _ adapter.StepRequest) (adapter.Handout, error) {
		close(working)
		<-ctx.Done() // the client is gone, but the step is finished
		return adapter.Handout{Step: lastStep(), Confirm: func() { t.Error("confirmed") }}, nil
	}
	face := faceOver(t, f)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(finished)
		face.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "POST", srv.URL+v1Path+"/tasks/t/steps", strings.NewReader(`{"input":"y"}`))
	if err != nil {
		t.Fatal(err)
	}
	go func() { <-working; leave() }()
	if _, err := http.DefaultTransport.RoundTrip(req); err == nil {
		t.Fatal("the client was not cut off")
	}
	await(t, "the handler's end", finished)
}

func TestStepAndGetStepAreTheSameBytes(t *testing.T) {
	t.Parallel()
	s := serve(t, newFake())
	task := s.newTask("hi")
	posted := s.do("POST", task+"/steps", plain, `{"input":"y","additional_input":{"k": 1}}`)
	got := s.do("GET", task+"/steps/"+posted.field(t, "step_id"), "", "")
	if got.status != 200 || got.body != posted.body {
		t.Errorf("POST gave %s\nGET gave %s", posted.body, got.body)
	}
}

// This covers each class of a step's errors as clients see it.
func TestStepErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		class  mapping.Class
		status int
	}{
		{mapping.Invalid, 422}, {mapping.Malformed, 422}, {mapping.NotFound, 404}, {mapping.Conflict, 409},
		{mapping.TooLarge, 413}, {mapping.TooSlow, 408}, {mapping.Unsupported, 415}, {mapping.Unauthorized, 401}, {mapping.Forbidden, 403},
		{mapping.Limited, 429}, {mapping.Unavailable, 503}, {mapping.StorageFull, 507}, {mapping.Upstream, 502},
		{mapping.Timeout, 504}, {mapping.Internal, 500},
	} {
		f := newFake()
		f.onStep = func(context.Context, adapter.StepRequest) (adapter.Handout, error) {
			e := mapping.Errorf(c.class, "some_code", "Some words.")
			e.Detail = map[string]string{"task": "t2"}
			return adapter.Handout{}, e
		}
		a := serve(t, f).do("POST", v1Path+"/tasks/t/steps", plain, "")
		want := `{"message":"Some words.","code":"some_code","detail":{"task":"t2"}}`
		if c.class == mapping.NotFound {
			want = `{"message":"Some words."}`
		}
		if a.status != c.status || a.body != want {
			t.Errorf("%s: got %d %s", c.class, a.status, a.body)
		}
		if retry := a.header.Get("Retry-After") != ""; retry != (c.status == 429 || c.status == 503) {
			t.Errorf("%s: Retry-After is %q", c.class, a.header.Get("Retry-After"))
		}
	}
}

func TestInternalErrorsHideTheirText(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.onStep = func(context.Context, adapter.StepRequest) (adapter.Handout, error) {
		return adapter.Handout{}, errFakeBroken
	}
	a := serve(t, f).do("POST", v1Path+"/tasks/t/steps", plain, "")
	if a.status != 500 || strings.Contains(a.body, "disk") || !strings.Contains(a.body, `"code":"internal_error"`) {
		t.Errorf("got %d %s", a.status, a.body)
	}
}

// The response to a failure of the bridge refers an operator to the log, which has the cause.
func TestCausesAreLogged(t *testing.T) {
	t.Parallel()
	for class, logged := range map[mapping.Class]bool{
		mapping.Unavailable: true, mapping.StorageFull: true, mapping.Internal: true, mapping.NotFound: false, mapping.Limited: false,
	} {
		f := newFake()
		f.onStep = func(context.Context, adapter.StepRequest) (adapter.Handout, error) {
			return adapter.Handout{}, &mapping.Error{Class: class, Code: "some_code", Message: "Some words.", Err: errFakeBroken}
		}
		core, logs := observer.New(zap.ErrorLevel)
		r := mux.NewRouter()
		Mount(r, f, adapter.Face{Log: zap.New(core), DefaultAgent: "main", Agents: map[string]config.Agent{"main": {}}})
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest("POST", v1Path+"/tasks/t/steps", nil))
		if strings.Contains(w.Body.String(), "disk") {
			t.Errorf("%s: the client receives %s", class, w.Body)
		}
		said := 0
		for _, entry := range logs.All() {
			if cause, _ := entry.ContextMap()["error"].(string); strings.Contains(cause, errFakeBroken.Error()) {
				said++
			}
		}
		if (said == 1) != logged || logs.Len() != said {
			t.Errorf("%s: logged %v", class, logs.All())
		}
	}
}

func TestLossesAreReported(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.onStep = func(context.Context, adapter.StepRequest) (adapter.Handout, error) {
		return adapter.Handout{Step: lastStep(), Losses: []mapping.Loss{{Field: "additional_input", Fate: mapping.Dropped}}}, nil
	}
	a := serve(t, f).do("POST", v1Path+"/tasks/t/steps", plain, "")
	if a.header.Get("X-Apbridge-Unsupported") != "additional_input;dropped" {
		t.Errorf("got %v", a.header)
	}
}

// A step's input reaches the service unchanged.
func TestStepRequests(t *testing.T) {
	t.Parallel()
	f := newFake()
	var got adapter.StepRequest
	f.onStep = func(_ context.Context, r adapter.StepRequest) (adapter.Handout, error) {
		got = r
		return adapter.Handout{Step: lastStep()}, nil
	}
	s := serve(t, f)
	for body, want := range map[string]string{
		"":                                       `{"Input":null,"AdditionalInput":null,"IdempotencyKey":""}`,
		`{}`:                                     `{"Input":null,"AdditionalInput":null,"IdempotencyKey":""}`,
		`{"input":""}`:                           `{"Input":"","AdditionalInput":null,"IdempotencyKey":""}`,
		`{"input":"y","additional_input":{}}`:    `{"Input":"y","AdditionalInput":{},"IdempotencyKey":""}`,
		`{"input":"\u00fc","other":{"input":1}}`: `{"Input":"ü","AdditionalInput":null,"IdempotencyKey":""}`,
	} {
		s.do("POST", v1Path+"/tasks/t/steps", plain, body).field(t, "step_id")
		if b, _ := json.Marshal(got); !strings.HasPrefix(string(b), strings.TrimSuffix(want, "}")) || got.RetriesSet {
			t.Errorf("%s: got %s", body, b)
		}
	}
}

func TestStepsMayAskForRetries(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]int{"0": 200, "3": 200, "-1": 422, "x": 422, "101": 422} {
		f := newFake()
		var got adapter.StepRequest
		f.onStep = func(_ context.Context, r adapter.StepRequest) (adapter.Handout, error) {
			got = r
			return adapter.Handout{Step: lastStep()}, nil
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, serve(t, f).url+v1Path+"/tasks/t/steps", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(adapter.RetriesHeader, value)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want || want == 200 && (!got.RetriesSet || strconv.Itoa(got.Retries) != value) {
			t.Errorf("%s: %d, %+v", value, res.StatusCode, got)
		}
	}
}

// openStream follows a task's steps from after.
func (s *served) openStream(task, after string) *http.Response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), "GET", s.url+task+"/steps?stream=true", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if after != "" {
		req.Header.Set("Last-Event-ID", after)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { res.Body.Close() })
	return res
}

func (s *served) readStream(task, after string) (int, string) {
	s.t.Helper()
	res := s.openStream(task, after)
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

func TestFollowLive(t *testing.T) {
	t.Parallel()
	s := serve(t, newFake())
	task := s.newTask("hi")
	res := s.openStream(task, "")
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" || res.Header.Get("Cache-Control") != "no-cache, no-transform" {
		t.Fatalf("got %d %v", res.StatusCode, res.Header)
	}
	one := s.do("POST", task+"/steps", plain, "").body
	two := s.do("POST", task+"/steps", plain, "").body
	all, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	first := "event: step\ndata: " + one + "\nid: 1\n\n"
	second := "event: step\ndata: " + two + "\nid: 2\n\n"
	end := "event: end\ndata: {}\n\n"
	if string(all) != first+second+end {
		t.Errorf("got\n%s", all)
	}
	for after, want := range map[string]string{"": first + second + end, "-1": first + second + end, "0": first + second + end, "1": second + end, "2": end} {
		if status, got := s.readStream(task, after); status != 200 || got != want {
			t.Errorf("after %q: got %d\n%s", after, status, got)
		}
	}
	for _, bad := range []string{"3", "x", "-2", "1.0", "99999999999", " "} {
		status, got := s.readStream(task, bad)
		if bad == " " { // it is trimmed, so there is no cursor
			continue
		}
		if status != 422 || !strings.Contains(got, `"code":"invalid_cursor"`) {
			t.Errorf("after %q: got %d %s", bad, status, got)
		}
	}
}

// A stream without steps to send closes without an event "end".
func TestFollowAWaitingTask(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.idle = true
	s := serve(t, f)
	task := s.newTask("hi")
	if status, got := s.readStream(task, ""); status != 200 || got != "" {
		t.Errorf("before the first step: got %d %q", status, got)
	}
	one := s.do("POST", task+"/steps", plain, "").body
	if _, got := s.readStream(task, ""); got != "event: step\ndata: "+one+"\nid: 1\n\n" {
		t.Errorf("between steps: got %q", got)
	}
	s.do("POST", task+"/steps", plain, "")
	if _, got := s.readStream(task, "2"); got != "event: end\ndata: {}\n\n" {
		t.Errorf("after the last step: got %q", got)
	}
}

func TestFollowFailsInBand(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.lastStep = -1
	s := serve(t, f)
	task := s.newTask("hi")
	_, got := s.readStream(task, "")
	if !strings.HasPrefix(got, "event: error\ndata: {\"message\":\"") || !strings.Contains(got, `"code":"internal_error"}`) || strings.Contains(got, "disk") {
		t.Errorf("got %s", got)
	}
}

// Carried values keep their line breaks in bodies, but not in frames.
func TestFramesHaveOneDataLine(t *testing.T) {
	t.Parallel()
	step := lastStep()
	step.AdditionalOutput = json.RawMessage("{\n\"a\": 1.50\r\n}")
	got := string(stepFrame(layout{}, &step))
	if !strings.Contains(got, `"additional_output":{"a":1.50}`) || strings.Count(got, "data:") != 1 {
		t.Errorf("got %s", got)
	}
}

// Leaving a stream ends its goroutine, because the handler waits for it.
func TestLeavingAStream(t *testing.T) {
	t.Parallel()
	f := newFake()
	face := faceOver(t, f)
	finished := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		face.ServeHTTP(w, r)
		if r.Method == http.MethodGet {
			close(finished)
		}
	}))
	t.Cleanup(srv.Close)
	s := &served{fake: f, t: t, url: srv.URL}
	res := s.openStream(s.newTask("hi"), "")
	res.Body.Close()
	await(t, "the stream's end", finished)
}

func TestStreamsStayOpen(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.newTaskFor("main")
	face := &server{svc: f, style: v1, face: adapter.Face{Heartbeat: time.Millisecond}}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := face.followSteps(w, r, adapter.TaskRef{Agent: "main", ID: f.tasks[0].task.ID}); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(srv.Close)
	s := &served{fake: f, t: t, url: srv.URL}
	res := s.openStream("/x", "")
	two := make([]byte, len(": heartbeat\n: heartbeat\n"))
	if _, err := io.ReadFull(res.Body, two); err != nil || string(two) != ": heartbeat\n: heartbeat\n" {
		t.Errorf("got %q, %v", two, err)
	}
}
