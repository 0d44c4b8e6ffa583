package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// runMetrics count the runs of this process.
type runMetrics struct {
	started  *prometheus.CounterVec
	ended    *prometheus.CounterVec
	failed   *prometheus.CounterVec
	reasons  *few
	running  *prometheus.GaugeVec
	waited   *prometheus.HistogramVec
	steps    *prometheus.HistogramVec
	events   *prometheus.CounterVec
	recorded *prometheus.CounterVec
}

func newRunMetrics() runMetrics {
	return runMetrics{
		started:  counters("runs_started_total", "Runs started or resumed by this process.", "agent"),
		ended:    counters("runs_ended_total", "Runs that left this process, by the status with which they ended, or parked or handed_over.", "agent", "status"),
		failed:   counters("runs_failed_total", "Runs that ended in a failure in this process, by code.", "agent", "code"),
		reasons:  newFew(),
		running:  gauges("runs_running", "Runs this process executes.", "agent"),
		waited:   histograms("run_queue_wait_seconds", "Time from when a run could have begun (it was created, or its delay was over) until it began.", latencies, "agent"),
		steps:    histograms("step_duration_seconds", "Time from the start of a run, or from its previous step, to a step: a node of a graph or a step of a task.", latencies, "agent"),
		events:   counters("events_total", "Events of runs that were committed.", "agent"),
		recorded: counters("event_bytes_total", "Size of the data of events of runs that were committed.", "agent"),
	}
}

func (m runMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.started, m.ended, m.failed, m.running, m.waited, m.steps, m.events, m.recorded}
}

// Agents initialises the metrics of agents, so that the first count is visible as an increase. statuses are those of
// RunEnded.
func (m *Metrics) Agents(names, statuses []string) {
	if m == nil {
		return
	}
	for _, agent := range names {
		for _, status := range statuses {
			m.ended.WithLabelValues(agent, status)
		}
		for _, c := range []*prometheus.CounterVec{m.started, m.events, m.recorded} {
			c.WithLabelValues(agent)
		}
		m.running.WithLabelValues(agent)
		m.waited.WithLabelValues(agent)
		m.steps.WithLabelValues(agent)
	}
}

// RunStarted counts a run that this process starts or resumes.
func (m *Metrics) RunStarted(agent string) {
	if m != nil {
		m.started.WithLabelValues(agent).Inc()
		m.running.WithLabelValues(agent).Inc()
	}
}

// RunWaited records the time for which a run waited for its first start.
func (m *Metrics) RunWaited(agent string, d time.Duration) {
	if m != nil {
		m.waited.WithLabelValues(agent).Observe(max(0, d.Seconds()))
	}
}

// StepTaken records the duration of a step.
func (m *Metrics) StepTaken(agent string, d time.Duration) {
	if m != nil {
		m.steps.WithLabelValues(agent).Observe(d.Seconds())
	}
}

// EventsLogged counts committed events of a run, with the bytes of their data.
func (m *Metrics) EventsLogged(agent string, events int, bytes int64) {
	if m != nil {
		m.events.WithLabelValues(agent).Add(float64(events))
		m.recorded.WithLabelValues(agent).Add(float64(bytes))
	}
}

// RunEnded counts a run that left this process, by its status. It follows one RunStarted.
func (m *Metrics) RunEnded(agent, status string) {
	if m != nil {
		m.ended.WithLabelValues(agent, status).Inc()
		m.running.WithLabelValues(agent).Dec()
	}
}

// RunFailed counts a failed run.
func (m *Metrics) RunFailed(agent, code string) {
	if m != nil {
		m.failed.WithLabelValues(agent, m.reasons.label(code)).Inc()
	}
}

// UpstreamCall counts one exchange with an agent, including retries: its operation (see adapter/upstream;
// "passthrough"), its outcome ("ok" or the class of the failure) and its duration, up to the end of the response.
func (m *Metrics) UpstreamCall(agent, operation, outcome string, d time.Duration) {
	if m != nil {
		m.upstream.WithLabelValues(agent, operation, outcome).Observe(d.Seconds())
	}
}
