package backend

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
)

// plainAgent is a server with only the Agent Protocol, one agent and one run. Its responses are written by hand from
// the protocol's document.
type plainAgent struct {
	stream string // frames of POST /runs/stream; "" if the route does not exist
	cut    bool   // the stream breaks after its frames
	status string // of the run
	fault  string // its error
	asks   string // its questions

	mu    sync.Mutex
	runs  int
	calls []string
	last  map[string]json.RawMessage
}

func (a *plainAgent) result() string {
	return `{"run":` + a.run() + `,"values":{"messages":[{"type":"human","content":"hi","id":"h"},{"type":"ai","content":"hello","id":"a"}]},"messages":[],"interrupts":[` + a.asks + `]}`
}

func (a *plainAgent) run() string {
	return `{"run_id":"0190c9a2-0000-7000-8000-0000000000aa","thread_id":"t1","agent_id":"helper","status":"` + a.status + `","error":"` + a.fault +
		`","metadata":{"apbridge_run_id":"` + adaptertest.RunID + `"},"created_at":"2026-11-21T05:04:11Z","updated_at":"2026-11-21T05:04:11Z"}`
}

func (a *plainAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	route := r.Method + " " + r.URL.Path
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, route)
	switch route {
	case "GET /openapi.json":
		io.WriteString(w, `{"openapi":"3.1.0","paths":{"/threads":{},"/runs/wait":{}}}`)
	case "POST /agents/search":
		io.WriteString(w, `[{"agent_id":"helper","name":"Helper","metadata":{},"capabilities":{}}]`)
	case "POST /threads":
		io.WriteString(w, `{"thread_id":"t1","created_at":"2026-11-21T05:04:11Z","updated_at":"2026-11-21T05:04:11Z","metadata":{},"status":"idle"}`)
	case "PATCH /threads/t1":
		http.Error(w, `{"code":"invalid","message":"no"}`, http.StatusUnprocessableEntity)
	case "POST /runs/stream":
		a.startStream(w, body)
	case "POST /runs/wait":
		a.last = object(body)
		a.runs++
		io.WriteString(w, a.result())
	case "GET /runs/0190c9a2-0000-7000-8000-0000000000aa/wait":
		io.WriteString(w, a.result())
	case "POST /runs/search":
		io.WriteString(w, "["+a.run()+"]")
	case "POST /runs/0190c9a2-0000-7000-8000-0000000000aa/cancel":
		w.WriteHeader(http.StatusNoContent)
	default:
		http.NotFound(w, r)
	}
}

func (a *plainAgent) startStream(w http.ResponseWriter, body []byte) {
	if a.stream == "" {
		http.Error(w, "", http.StatusMethodNotAllowed)
		return
	}
	a.last = object(body)
	a.runs++
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, a.stream)
	_ = http.NewResponseController(w).Flush()
	if a.cut {
		panic(http.ErrAbortHandler)
	}
}

const plainStream = "event: values\ndata: {\"messages\":[]}\n\n: ping\n\nevent: updates\ndata: {\"reply\":{\"messages\":[{\"type\":\"ai\",\"content\":\"hello\",\"id\":\"a\"}]}}\n\n"

func plainRun(t *testing.T, a *plainAgent) (adaptertest.Trace, *backend) {
	t.Helper()
	b, err := quick(adaptertest.Upstream(adaptertest.Serve(t, a).URL))
	if err != nil {
		t.Fatal(err)
	}
	return adaptertest.Collect(within(t), b, adaptertest.NewTask(nil), 0), b.(*backend)
}

func TestPlainServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		agent *plainAgent
		nodes string
		code  string
	}{
		{"stream", &plainAgent{stream: plainStream, status: "success"}, "reply", ""},
		{"stream breaks", &plainAgent{stream: plainStream, status: "success", cut: true}, "reply", ""},
		{"no stream route", &plainAgent{status: "success"}, "", ""},
		{"fails", &plainAgent{stream: plainStream, status: "error", fault: "out of tokens"}, "reply", mapping.CodeUpstreamError},
		{"odd status", &plainAgent{status: "confused"}, "", mapping.CodeBadUpstream},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tr, b := plainRun(t, c.agent)
			if tr.Code() != c.code || nodesOf(tr) != c.nodes || c.agent.runs != 1 {
				t.Fatalf("error %v, updates of %q, %d runs; calls %v", tr.Err, nodesOf(tr), c.agent.runs, c.agent.calls)
			}
			if c.agent.fault != "" && mapping.Classify(tr.Err).Message != c.agent.fault {
				t.Errorf("message %q", mapping.Classify(tr.Err).Message)
			}
			wantTexts(t, texts(t, tr), "hi", "hello")
			link := linkOf(tr)
			if link.Remote != "t1" || link.RemoteRun == "" || link.RemoteCheckpoint == "" || link.Profile != profilePlain {
				t.Errorf("link %+v", link)
			}
			if string(c.agent.last["agent_id"]) != `"helper"` || string(c.agent.last["thread_id"]) != `"t1"` {
				t.Errorf("request %s", c.agent.last)
			}
			if err := b.Cancel(within(t), link, ""); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestPlainServerIsDetectedAndPickedUp(t *testing.T) {
	t.Parallel()
	a := &plainAgent{stream: plainStream, status: "success"}
	first, b := plainRun(t, a)
	if ok, err := Detect(within(t), b.up); !ok || err != nil {
		t.Errorf("detect: %v, %v", ok, err)
	}
	for n := 1; n < len(first.Events); n++ {
		task := adaptertest.NewTask(nil)
		task.After = first.Events[:n]
		task.Link, task.InDoubt = linkOf(adaptertest.Trace{Events: task.After}), true
		tr := adaptertest.Collect(within(t), b, task, 0)
		wantSuccess(t, tr)
	}
	if a.runs != 1 {
		t.Errorf("%d runs, want 1; calls %v", a.runs, a.calls)
	}
	task := adaptertest.NewTask(nil)
	task.Resume = true
	if tr := adaptertest.Collect(within(t), b, task, 0); tr.Code() != mapping.CodeNotSupported {
		t.Errorf("an answer: %v", tr.Err)
	}
	task.Resume, task.Graph.Values = false, json.RawMessage(`{"messages":[{"type":"human","content":"before","id":"b"}]}`)
	wantSuccess(t, adaptertest.Collect(within(t), b, task, 0))
	if !strings.Contains(string(a.last["input"]), `"before"`) {
		t.Errorf("input %s lacks the state", a.last["input"])
	}
}
