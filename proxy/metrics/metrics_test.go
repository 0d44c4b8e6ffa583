package metrics

import (
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestHandlerTellsWhatWasCounted(t *testing.T) {
	t.Parallel()
	m := New()
	m.Requested(Request{Dialect: "threadrun", Route: "/threads/{thread_id}", Method: "BREW", Status: 418, Duration: time.Millisecond})
	m.RunStarted("legacy")
	m.RunStarted("legacy")
	m.RunEnded("legacy", "success")
	m.Queue(func() []string { return []string{"legacy", "idle"} }, func(context.Context) (map[string]int, error) { return map[string]int{"legacy": 7, "gone": 1}, nil })
	m.UpstreamCall("legacy", "step", "ok", time.Second)
	m.InFlight(2)
	m.InFlight(-1)
	m.Panicked()
	m.DatabaseLog(func() int64 { return 4096 })

	srv := httptest.NewServer(m.Handler())
	defer srv.Close()
	res, err := srv.Client().Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`apbridge_requests_total{dialect="threadrun",method="other",route="/threads/{thread_id}",status="4xx"} 1`,
		`apbridge_runs_started_total{agent="legacy"} 2`,
		`apbridge_runs_ended_total{agent="legacy",status="success"} 1`,
		`apbridge_runs_running{agent="legacy"} 1`,
		`apbridge_runs_queued{agent="legacy"} 7`,
		`apbridge_runs_queued{agent="idle"} 0`,
		`apbridge_runs_queued{agent="gone"} 1`,
		`apbridge_upstream_call_duration_seconds_count{agent="legacy",operation="step",outcome="ok"} 1`,
		`apbridge_requests_in_flight 1`,
		`apbridge_panics_total 1`,
		`apbridge_database_log_bytes 4096`,
		`go_goroutines`,
	} {
		if !strings.Contains(string(body), want) {
			t.Errorf("no line %s", want)
		}
	}
}

func TestNilMetricsCountNothing(t *testing.T) {
	t.Parallel()
	var m *Metrics
	m.Requested(Request{})
	m.RunStarted("a")
	m.RunEnded("a", "error")
	m.Queue(nil, nil)
	m.UpstreamCall("a", "step", "ok", 0)
	m.InFlight(1)
	m.Panicked()
	m.DatabaseLog(nil)
}

// A database that is away takes the gauge of the queue away, and nothing else.
func TestAQueueThatCannotBeCounted(t *testing.T) {
	t.Parallel()
	m := New()
	m.Queue(func() []string { return []string{"legacy"} }, func(context.Context) (map[string]int, error) { return nil, errors.New("no database") })
	m.Panicked()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if body := w.Body.String(); w.Code != 200 || !strings.Contains(body, "apbridge_panics_total 1") || strings.Contains(body, "apbridge_runs_queued") {
		t.Errorf("%d %s", w.Code, body)
	}
}
