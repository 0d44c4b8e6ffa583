package adaptertest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
	"go.uber.org/goleak"
	"go.uber.org/zap"
)

// Patience limits every wait of a test.
const Patience = time.Minute

// Canary is the credential sent with every call. It must not appear anywhere else.
const Canary = "canary-7f3a91c2"

// Ids in the task that NewTask returns.
const (
	RunID    = "0190c9a2-0000-7000-8000-000000000001"
	TaskID   = "0190c9a2-0000-7000-8000-000000000002"
	ThreadID = "0190c9a2-0000-7000-8000-000000000003"
)

// NewTask returns a first run with the text "hi". files may be nil.
func NewTask(files *Files) adapter.Assignment {
	if files == nil {
		files = NewFiles(nil)
	}
	message := json.RawMessage(`{"id":"0190c9a2-0000-7000-8000-000000000004","type":"human","content":"hi"}`)
	empty, _ := state.NewFold(nil)
	return adapter.Assignment{
		Run: &mapping.Run{
			ID: RunID, ThreadID: ThreadID, TaskID: TaskID, Agent: "agent", Status: mapping.RunRunning, Attempt: 1,
			Metadata: json.RawMessage(`{}`), Kwargs: json.RawMessage(`{}`),
			Options: mapping.RunOptions{Approval: mapping.ApprovalAuto, MaxSteps: 20},
		},
		Thread: &mapping.Thread{ID: ThreadID, Metadata: json.RawMessage(`{}`), Config: json.RawMessage(`{}`)},
		TaskID: TaskID,
		Input: rule.Input{
			Messages: []json.RawMessage{message}, Text: "hi", HasText: true,
			Raw: json.RawMessage(`{"messages":[` + string(message) + `]}`),
		},
		Task:  adapter.TaskAssignment{Prompt: "hi"},
		State: empty,
		Files: files,
	}
}

// Upstream returns an agent at a URL with settings for tests.
func Upstream(url string) adapter.Upstream {
	return adapter.Upstream{
		Name: "agent",
		Config: config.Agent{
			URL: url, Headers: map[string]config.Secret{"Authorization": config.Secret("Bearer " + Canary)},
			Concurrency: 8, MaxSteps: 20, StepTimeout: Patience,
			Artifacts: config.Artifacts{Style: "object", MaxInline: 1 << 20},
		},
		Limits:    config.Limits{Body: 16 << 20, MaxJSONDepth: 1000, Artifact: 1 << 20, Event: 1 << 20},
		Log:       zap.NewNop(),
		UserAgent: "apbridge/test",
	}
}

// Serve starts a peer on a loopback port and stops it at the end of the test.
func Serve(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}

// Trace contains everything that one run yielded.
type Trace struct {
	Events []mapping.Event
	Err    error
}

// Collect runs a task to its end, or to the nth event if n > 0.
func Collect(ctx context.Context, b adapter.Backend, task adapter.Assignment, n int) Trace {
	var tr Trace
	for ev, err := range b.Run(ctx, &task) {
		if err != nil {
			tr.Err = err
			continue
		}
		tr.Events = append(tr.Events, ev)
		if len(tr.Events) == n {
			break
		}
	}
	return tr
}

// Outputs returns the update events of a trace.
func (tr Trace) Outputs() []mapping.Event {
	var list []mapping.Event
	for _, ev := range tr.Events {
		if ev.Kind == mapping.KindUpdate {
			list = append(list, ev)
		}
	}
	return list
}

// End returns the outcome of the last event, or nil.
func (tr Trace) End() *mapping.Outcome {
	if len(tr.Events) == 0 {
		return nil
	}
	return tr.Events[len(tr.Events)-1].Head.Outcome
}

// Code returns the code of the error that ended the run, or "".
func (tr Trace) Code() string {
	var e *mapping.Error
	if errors.As(tr.Err, &e) {
		return e.Code
	}
	return ""
}

// checkShape checks the properties that every trace must have.
func checkShape(t *testing.T, tr Trace) {
	t.Helper()
	linked, ends := false, 0
	for i, ev := range tr.Events {
		switch ev.Kind {
		case mapping.KindLinked:
			linked = linked || (ev.Head.Link != nil && ev.Head.Link.Remote != "")
		case mapping.KindUpdate, mapping.KindDelta, mapping.KindInterrupt, mapping.KindCustom:
			if !linked {
				t.Errorf("event %d (%s) precedes the link to the remote id", i, ev.Kind)
			}
		case mapping.KindEnd:
			ends++
			if i != len(tr.Events)-1 || tr.Err != nil {
				t.Errorf("event %d is an end, but other events follow it", i)
			}
		}
	}
	if ends > 1 {
		t.Errorf("%d end events, want one", ends)
	}
	checkError(t, tr.Err)
}

func checkError(t *testing.T, err error) {
	t.Helper()
	var e *mapping.Error
	if err != nil && !errors.As(err, &e) {
		t.Errorf("error %v is not a *mapping.Error", err)
	}
	if err != nil && strings.Contains(err.Error(), Canary) {
		t.Errorf("the error contains a credential: %v", err)
	}
}

func noLeaks(t *testing.T) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		settle(before)
		goleak.VerifyNone(t, before)
	})
}

func (s Suite) dial(t *testing.T, url string) adapter.Backend {
	t.Helper()
	b, err := s.Dial(Upstream(url))
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	return b
}

func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	t.Cleanup(cancel)
	return ctx
}
