package operate

import (
	"bufio"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/examples/legacyagent"
	"github.com/apbridge/apbridge/examples/threadagent"
	"github.com/coder/websocket"
)

// expectMetric waits until /metrics has the lines, because a request may be counted after its response.
func expectMetric(b *rig.Bridge, lines ...string) {
	b.T.Helper()
	rig.Eventually(b.T, strings.Join(lines, ", ")+" in the metrics", func() bool {
		text := "\n" + string(b.Get("/metrics").OK().Body)
		return !slices.ContainsFunc(lines, func(line string) bool { return !strings.Contains(text, "\n"+line+"\n") })
	})
}

// TestMetricsOfRuns checks the metrics of steps, events, waiting times and ends of runs for either kind of agent.
func TestMetricsOfRuns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		agent http.Handler
		steps string
	}{
		"task/step":  {legacyagent.Handler(), "3"},
		"thread/run": {threadagent.Handler(), "2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := rig.InFront(t, c.agent)
			expectMetric(b, `apbridge_runs_ended_total{agent="agent",status="success"} 0`, `apbridge_events_total{agent="agent"} 0`)
			b.Post("/runs/wait", rig.OneRun).OK()
			expectMetric(b,
				`apbridge_run_queue_wait_seconds_count{agent="agent"} 1`,
				`apbridge_step_duration_seconds_count{agent="agent"} `+c.steps,
				`apbridge_runs_ended_total{agent="agent",status="success"} 1`,
			)
			for _, name := range []string{"apbridge_events_total", "apbridge_event_bytes_total"} {
				if lines := b.Metric(name); slices.Contains(lines, `{agent="agent"} 0`) {
					t.Errorf("%s: %v", name, lines)
				}
			}
		})
	}
}

// TestMetricsOfFailures checks that a failed run is counted by its code, and so is a request refused by a face
// or by a guard.
func TestMetricsOfFailures(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, rig.FaultyStep(adaptertest.Plain, adaptertest.BadJSON)())
	b.Post("/runs/wait", rig.OneRun).OK()
	b.Get("/threads/00000000-0000-0000-0000-000000000000")
	b.Get("/ap/v1/agent/tasks/00000000-0000-0000-0000-000000000000")
	b.Do("GET", "/threads", "", "Host", "elsewhere.example")
	expectMetric(b,
		`apbridge_errors_total{code="host_not_allowed",dialect="threadrun"} 1`,
		`apbridge_runs_failed_total{agent="agent",code="bad_upstream_response"} 1`,
		`apbridge_errors_total{code="thread_not_found",dialect="threadrun"} 1`,
		`apbridge_errors_total{code="task_not_found",dialect="taskstep"} 1`,
	)
}

// TestMetricsCountOpenStreams checks that a stream and a WebSocket are counted as long as they are open, and that the
// delay of their events is measured.
func TestMetricsCountOpenStreams(t *testing.T) {
	t.Parallel()
	g := rig.NewGate(adaptertest.NewStepAgent(adaptertest.Plain), rig.StepPosts, 1)
	b := rig.InFront(t, g)
	open := func(sse, sockets string) {
		t.Helper()
		expectMetric(b, `apbridge_streams_open{transport="sse"} `+sse, `apbridge_streams_open{transport="websocket"} `+sockets)
	}
	open("0", "0")
	at := b.Thread()
	conn, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(b.URL, "http")+at+"/stream/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	open("0", "1")
	run := b.Begin(at, "")
	g.Await(t)
	res, err := http.Get(b.URL + run + "/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	open("1", "1")
	expectMetric(b, `apbridge_runs{agent="agent",state="running"} 1`, `apbridge_event_lag_seconds_count 0`)
	g.Open()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
	}
	if text := string(b.Get("/metrics").OK().Body); strings.Contains(text, "\napbridge_event_lag_seconds_count 0\n") {
		t.Error("no delay of an event was measured")
	}
	_ = conn.CloseNow()
	open("0", "0")
}
