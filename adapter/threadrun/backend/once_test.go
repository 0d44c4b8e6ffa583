package backend

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
)

// lateGateway is a gateway to an agent. It responds to a request for a run before the agent has received it, like a
// gateway whose connection breaks, and forwards the request later.
type lateGateway struct {
	agent  http.Handler
	starts string // end of the path of a request for a run
	answer int    // status; 0 breaks the connection
	after  int    // number of requests for runs that are forwarded at once

	mu    sync.Mutex
	posts int
	late  []*http.Request
}

func (p *lateGateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, p.starts) || p.passes() {
		p.agent.ServeHTTP(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	late := httptest.NewRequest(r.Method, r.URL.Path, bytes.NewReader(body))
	p.mu.Lock()
	p.late = append(p.late, late)
	p.mu.Unlock()
	if p.answer == 0 {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(p.answer)
}

// passes counts a request for a run. Requests after the late one are forwarded at once.
func (p *lateGateway) passes() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.posts++
	return p.posts != p.after+1
}

// arrive forwards the late request.
func (p *lateGateway) arrive() {
	for _, r := range p.late {
		p.agent.ServeHTTP(httptest.NewRecorder(), r)
	}
}

func before(t *testing.T, h http.Handler) *backend {
	t.Helper()
	b, err := quick(adaptertest.Upstream(adaptertest.Serve(t, h).URL))
	if err != nil {
		t.Fatal(err)
	}
	return b.(*backend)
}

// wantOnce checks that the outcome is unknown and that the late request is executed once.
func wantOnce(t *testing.T, tr adaptertest.Trace, p *lateGateway, work func() int, want int) {
	t.Helper()
	p.arrive()
	if tr.Code() != mapping.CodeOutcomeUnknown || work() != want || p.posts != want {
		t.Errorf("error %v, %d requests, %d runs; want %d of each", tr.Err, p.posts, work(), want)
	}
	if text := mapping.Classify(tr.Err).Message; !strings.Contains(text, "It was not told again") || !strings.Contains(text, "then start a new run") {
		t.Errorf("the message has no advice: %s", text)
	}
}

// TestRunIsNotSentAgainWhileItsRequestMayBeOnItsWay covers an agent that does not list the run of a request without a
// response and executes it later (INV4).
func TestRunIsNotSentAgainWhileItsRequestMayBeOnItsWay(t *testing.T) {
	t.Parallel()
	seeded := adaptertest.NewTask(nil)
	seeded.Graph.Values = json.RawMessage(`{"messages":[{"id":"h1","type":"human","content":"one"}]}`)
	for name, c := range map[string]struct {
		answer int
		task   adapter.Assignment
	}{
		"the connection breaks":               {0, adaptertest.NewTask(nil)},
		"a gateway says 502":                  {502, adaptertest.NewTask(nil)},
		"a gateway says 504":                  {504, adaptertest.NewTask(nil)},
		"Cloudflare says 524":                 {524, adaptertest.NewTask(nil)},
		"on a thread that was made before it": {0, seeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := playing(adaptertest.ChatPlay())
			p := &lateGateway{agent: a, starts: "/runs/stream", answer: c.answer}
			wantOnce(t, adaptertest.Collect(within(t), before(t, p), c.task, 0), p, a.Work, 1)
		})
	}
}

// TestRunOfADeadProcessIsNotSentAgain covers a process that died after sending a request that the log does not show,
// with and without a logged thread.
func TestRunOfADeadProcessIsNotSentAgain(t *testing.T) {
	t.Parallel()
	for name, linked := range map[string]bool{"nothing is logged": false, "the link is logged": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := playing(adaptertest.ChatPlay())
			p := &lateGateway{agent: a, starts: "/runs/stream"}
			died := adaptertest.Collect(within(t), before(t, p), adaptertest.NewTask(nil), 0)
			task := adaptertest.NewTask(nil)
			task.InDoubt = true
			if linked {
				task.After, task.Link = died.Events, linkOf(died)
			}
			wantOnce(t, adaptertest.Collect(within(t), before(t, p), task, 0), p, a.Work, 1)
		})
	}
}

// TestNextStepIsNotSentAgain covers the second step of a lockstep run, sent by this process or by one that died.
func TestNextStepIsNotSentAgain(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]bool{"the connection breaks": false, "the process dies": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := playing(adaptertest.StepPlays()...)
			p := &lateGateway{agent: a, starts: "/runs/stream", after: 1}
			b := before(t, p)
			task := adaptertest.NewTask(nil)
			task.OneStep = true
			first := adaptertest.Collect(within(t), b, task, 0)
			task.After, task.Link = first.Events[:len(first.Events)-1], linkOf(first)
			second := adaptertest.Collect(within(t), b, task, 0)
			if open {
				task.InDoubt = true
				second = adaptertest.Collect(within(t), b, task, 0)
			}
			wantOnce(t, second, p, a.Work, 2)
		})
	}
}

// TestEmptyStepOfADeadProcess covers the request that follows a step without output, if a process that died may have
// sent it.
func TestEmptyStepOfADeadProcess(t *testing.T) {
	t.Parallel()
	empty := adaptertest.StepPlays()[0]
	empty.Frames = empty.Frames[:1]
	a := playing(empty, adaptertest.StepPlays()[1])
	p := &lateGateway{agent: a, starts: "/runs/stream", after: 1}
	b := before(t, p)
	task := adaptertest.NewTask(nil)
	task.OneStep = true
	died := adaptertest.Collect(within(t), b, task, 0)
	task.InDoubt, task.After, task.Link = true, died.Events, linkOf(died)
	wantOnce(t, adaptertest.Collect(within(t), b, task, 0), p, a.Work, 2)
}

// TestRunThatIsListedLate checks that a run is found as soon as the agent lists it.
func TestRunThatIsListedLate(t *testing.T) {
	t.Parallel()
	lost := adaptertest.ChatPlay()
	lost.LoseAnswer = true
	a := playing(lost)
	var looks int
	b := before(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if route, _, _ := strings.Cut(r.URL.Path, "?"); r.Method == http.MethodGet && strings.HasSuffix(route, "/runs") {
			if looks++; looks < 3 {
				io.WriteString(w, "[]")
				return
			}
		}
		a.ServeHTTP(w, r)
	}))
	b.pause.settle = adaptertest.Patience
	tr := adaptertest.Collect(within(t), b, adaptertest.NewTask(nil), 0)
	if tr.Err != nil || a.Work() != 1 || a.Calls(routeStart) != 1 {
		t.Errorf("error %v, %d runs, %d requests", tr.Err, a.Work(), a.Calls(routeStart))
	}
}

// TestPlainRunIsNotSentAgain covers a plain Agent Protocol server whose search does not find the run.
func TestPlainRunIsNotSentAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer int
		open   bool
	}{"the connection breaks": {0, false}, "a gateway says 502": {502, false}, "the process dies": {0, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &plainAgent{stream: plainStream, status: "success"}
			p := &lateGateway{agent: a, starts: "/runs/stream", answer: c.answer}
			b := before(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/runs/search" {
					io.WriteString(w, "[]")
					return
				}
				p.ServeHTTP(w, r)
			}))
			task := adaptertest.NewTask(nil)
			tr := adaptertest.Collect(within(t), b, task, 0)
			if task.InDoubt = c.open; c.open {
				tr = adaptertest.Collect(within(t), b, task, 0)
			}
			wantOnce(t, tr, p, func() int { return a.runs }, 1)
		})
	}
}

// TestThreadCreationIsRepeated checks that a request to create a thread is repeated if it got no response. That is safe
// because the bridge chooses the id.
func TestThreadCreationIsRepeated(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]adaptertest.Canned{"the connection breaks": {Times: 1}, "a gateway says 504": {Status: 504, Times: 1}} {
		a := playing(adaptertest.ChatPlay())
		a.NoCreate, a.Canned = true, map[string]*adaptertest.Canned{routeThread: &lost}
		tr := adaptertest.Collect(within(t), before(t, a), adaptertest.NewTask(nil), 0)
		if tr.Err != nil || a.Work() != 1 || a.Threads() != 1 || a.Calls(routeThread) != 2 {
			t.Errorf("%s: error %v, %d runs, %d threads, %d requests for one", name, tr.Err, a.Work(), a.Threads(), a.Calls(routeThread))
		}
	}
}

// TestStateUpdateIsNotRepeated checks that a state update is not sent again after a gateway's response, because the
// agent may have applied it.
func TestStateUpdateIsNotRepeated(t *testing.T) {
	t.Parallel()
	a := playing(adaptertest.ChatPlay())
	b := before(t, a)
	tr := adaptertest.Collect(within(t), b, adaptertest.NewTask(nil), 0)
	a.Canned = map[string]*adaptertest.Canned{routeUpdate: {Status: 504, Type: "text/plain", Body: "late"}}
	if _, err := b.UpdateState(within(t), adapter.Copy{Link: linkOf(tr)}, nil, json.RawMessage(`{"n":1}`), ""); err == nil || a.Calls(routeUpdate) != 1 {
		t.Errorf("update: error %v, sent %d times", err, a.Calls(routeUpdate))
	}
	task := adaptertest.NewTask(nil)
	task.Graph.Values = json.RawMessage(`{"messages":[{"id":"h1","type":"human","content":"one"}]}`)
	if tr := adaptertest.Collect(within(t), b, task, 0); tr.Code() != mapping.CodeUpstreamError || a.Work() != 1 {
		t.Errorf("seed: error %v, %d runs", tr.Err, a.Work())
	}
}
