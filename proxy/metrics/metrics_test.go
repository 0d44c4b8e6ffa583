package metrics

import (
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestHandlerServesTheMetrics(t *testing.T) {
	t.Parallel()
	m := New()
	m.Requested(Request{Dialect: "threadrun", Route: "/threads/{thread_id}", Method: "BREW", Status: 418, Duration: time.Millisecond})
	m.RunStarted("legacy")
	m.RunStarted("legacy")
	m.RunEnded("legacy", "success")
	m.RunFailed("legacy", "step_timeout")
	m.RunWaited("legacy", -time.Second)
	m.StepTaken("legacy", time.Second)
	m.EventsLogged("legacy", 3, 100)
	m.Agents([]string{"legacy", "idle"}, []string{"success", "error"})
	m.Backlog(func() []string { return []string{"legacy", "idle"} }, func(context.Context) (Backlog, error) {
		return Backlog{Runs: []RunCount{{"legacy", "queued", 7}, {"gone", "parked", 1}}, Webhooks: 4, ItemsWaiting: 5, ItemsSetAside: 2}, nil
	})
	m.Built("v1.2.3", "abc", "go1.26")
	m.Failed("threadrun", "queue_full")
	m.Streams(StreamSSE, 2)
	m.Streams(StreamSSE, -1)
	m.EventTold(time.Millisecond)
	m.Committed(5, time.Millisecond)
	m.DatabaseSize(8192, func() int64 { return 4097 })
	m.DatabaseFull(func() bool { return true })
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
		`apbridge_items_without_vectors{state="set_aside"} 2`,
		`apbridge_items_without_vectors{state="waiting"} 5`,
		`apbridge_runs_ended_total{agent="legacy",status="success"} 1`,
		`apbridge_runs_running{agent="legacy"} 1`,
		`apbridge_runs_ended_total{agent="idle",status="error"} 0`,
		`apbridge_runs_failed_total{agent="legacy",code="step_timeout"} 1`,
		`apbridge_run_queue_wait_seconds_bucket{agent="legacy",le="0.001"} 1`,
		`apbridge_step_duration_seconds_count{agent="legacy"} 1`,
		`apbridge_events_total{agent="legacy"} 3`,
		`apbridge_event_bytes_total{agent="legacy"} 100`,
		`apbridge_runs{agent="legacy",state="queued"} 7`,
		`apbridge_runs{agent="idle",state="running"} 0`,
		`apbridge_runs{agent="gone",state="parked"} 1`,
		`apbridge_webhooks_pending 4`,
		`apbridge_build_info{goversion="go1.26",revision="abc",version="v1.2.3"} 1`,
		`apbridge_errors_total{code="queue_full",dialect="threadrun"} 1`,
		`apbridge_streams_open{transport="sse"} 1`,
		`apbridge_streams_open{transport="websocket"} 0`,
		`apbridge_event_lag_seconds_count 1`,
		`apbridge_commit_duration_seconds_count 1`,
		`apbridge_commit_operations_sum 5`,
		`apbridge_database_bytes 4097`,
		`apbridge_database_limit_bytes 8192`,
		`apbridge_database_full 1`,
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
	m.RunFailed("a", "c")
	m.RunWaited("a", 0)
	m.StepTaken("a", 0)
	m.EventsLogged("a", 1, 1)
	m.Agents([]string{"a"}, []string{"error"})
	m.Backlog(nil, nil)
	m.Built("", "", "")
	m.Failed("d", "c")
	m.Streams(StreamSSE, 1)
	m.EventTold(0)
	m.Committed(1, 0)
	m.DatabaseSize(0, nil)
	m.DatabaseFull(nil)
	m.UpstreamCall("a", "step", "ok", 0)
	m.InFlight(1)
	m.Panicked()
	m.DatabaseLog(nil)
}

// If the database is unreachable, only the gauges of its contents are missing.
func TestUncountableBacklog(t *testing.T) {
	t.Parallel()
	m := New()
	m.Backlog(func() []string { return []string{"legacy"} }, func(context.Context) (Backlog, error) { return Backlog{}, errors.New("no database") })
	m.Panicked()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if body := w.Body.String(); w.Code != 200 || !strings.Contains(body, "apbridge_panics_total 1") || strings.Contains(body, "apbridge_runs{") || strings.Contains(body, "apbridge_webhooks_pending") {
		t.Errorf("%d %s", w.Code, body)
	}
}

// Frequent scrapes do not count in the database each time.
func TestBacklogCountsAreReused(t *testing.T) {
	t.Parallel()
	counted := 0
	b := &backlog{count: func(context.Context) (Backlog, error) { counted++; return Backlog{Webhooks: counted}, nil }}
	b.kept = time.Now().Add(time.Hour)
	if found, err := b.countRuns(); err != nil || found.Webhooks != 0 {
		t.Errorf("%+v, %v", found, err)
	}
	b.kept = time.Time{}
	if found, err := b.countRuns(); err != nil || found.Webhooks != 1 || !b.kept.After(time.Now().Add(-time.Hour)) {
		t.Errorf("%+v, %v, kept until %s", found, err, b.kept)
	}
}

// The number of a label's values is limited.
func TestErrorCodesAreLimited(t *testing.T) {
	t.Parallel()
	m := New()
	for i := range 2 * mostCodes {
		m.RunFailed("legacy", "code_"+strconv.Itoa(i))
	}
	m.RunFailed("legacy", "code_0")
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	body := w.Body.String()
	if n := strings.Count(body, "\napbridge_runs_failed_total{"); n != mostCodes+1 {
		t.Errorf("%d series", n)
	}
	for _, want := range []string{`code="other"} 200`, `code="code_0"} 2`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s", want)
		}
	}
}
