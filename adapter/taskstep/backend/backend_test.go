package backend

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
)

// Helpers for the tests of the backend.

func backendAt(t *testing.T, url string) adapter.Backend {
	t.Helper()
	return backendWith(t, adaptertest.Upstream(url))
}

func backendWith(t *testing.T, up adapter.Upstream) adapter.Backend {
	t.Helper()
	b, err := newBackend(up)
	if err != nil {
		t.Fatal(err)
	}
	b.settle = 200 * time.Millisecond // many tests wait for it
	return b
}

// patientAt returns a backend that searches for as long as in production.
func patientAt(t *testing.T, url string) adapter.Backend {
	t.Helper()
	b := backendAt(t, url)
	b.(*backend).settle = shortestSearch
	return b
}

// backendOf serves the agent and dials it.
func backendOf(t *testing.T, agent *adaptertest.StepAgent) adapter.Backend {
	t.Helper()
	return backendAt(t, adaptertest.Serve(t, agent).URL)
}

func runTask(t *testing.T, b adapter.Backend, task adapter.Assignment) adaptertest.Trace {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), adaptertest.Patience)
	defer cancel()
	return adaptertest.Collect(ctx, b, task, 0)
}

func mustSucceed(t *testing.T, tr adaptertest.Trace) {
	t.Helper()
	if end := tr.End(); tr.Err != nil || end == nil || end.Status != mapping.RunSuccess {
		t.Fatalf("outcome %+v, error %v, want success", end, tr.Err)
	}
}

func mustFail(t *testing.T, tr adaptertest.Trace, code string) {
	t.Helper()
	if tr.Code() != code {
		t.Fatalf("error %v, want code %s", tr.Err, code)
	}
}

// said returns the outputs of a trace as text.
func said(tr adaptertest.Trace) []string {
	var list []string
	for _, ev := range tr.Outputs() {
		output, _ := rule.StepSaid(&ev)
		list = append(list, string(output))
	}
	return list
}

// again returns the task as the engine would pass it after these events were logged.
func again(task adapter.Assignment, logged []mapping.Event) adapter.Assignment {
	task.After = append(append([]mapping.Event(nil), task.After...), logged...)
	for _, ev := range logged {
		if ev.Head.Link != nil {
			task.Link = *ev.Head.Link
		}
		if ev.Kind == mapping.KindUpdate {
			task.Done++
		}
	}
	return task
}

// runFor runs a task until n events were yielded, like a process that then dies.
func runFor(t *testing.T, b adapter.Backend, task adapter.Assignment, n int) adaptertest.Trace {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), adaptertest.Patience)
	defer cancel()
	tr := adaptertest.Collect(ctx, b, task, n)
	if len(tr.Events) != n {
		t.Fatalf("%d events, want %d; error %v", len(tr.Events), n, tr.Err)
	}
	return tr
}

// refusing answers POSTs to one route with a status.
func refusing(h http.Handler, route string, status int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, route) {
			w.WriteHeader(status)
			return
		}
		h.ServeHTTP(w, r)
	})
}
