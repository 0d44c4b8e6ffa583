// Package metrics counts what the bridge does, for Prometheus. It is a leaf:
// the parts of the bridge call it, and it knows none of them.
//
// No label ever holds the id of a thread, run, task or user: their number has
// no bound, and they are nobody's business.
package metrics

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are the bridge's counters, in a registry of their own. Safe for
// concurrent use. A nil *Metrics counts nothing.
type Metrics struct {
	registry *prometheus.Registry

	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
	inFlight  prometheus.Gauge

	started  *prometheus.CounterVec
	ended    *prometheus.CounterVec
	running  *prometheus.GaugeVec
	upstream *prometheus.HistogramVec
	panics   prometheus.Counter
	webhooks *prometheus.CounterVec
	refused  *prometheus.CounterVec
}

// latencies are bucket bounds in seconds: from an answer out of memory to a
// step that a model thinks about.
var latencies = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 600}

// New makes Metrics that also report on the process and the Go runtime.
func New() *Metrics {
	m := &Metrics{
		registry:  prometheus.NewRegistry(),
		requests:  counters("requests_total", "HTTP requests answered.", "dialect", "route", "method", "status"),
		durations: histograms("request_duration_seconds", "Time from a request's header to the end of its answer; streams as long as they were open.", "dialect", "route", "method"),
		inFlight:  prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "apbridge", Name: "requests_in_flight", Help: "HTTP requests being answered."}),
		started:   counters("runs_started_total", "Runs begun or picked up by this process.", "agent"),
		ended:     counters("runs_ended_total", "Runs ended by this process.", "agent", "status"),
		running:   gauges("runs_running", "Runs this process executes.", "agent"),
		upstream:  histograms("upstream_call_duration_seconds", "Time of calls to agents, each attempt to the end of its answer.", "agent", "operation", "outcome"),
		panics:    prometheus.NewCounter(prometheus.CounterOpts{Namespace: "apbridge", Name: "panics_total", Help: "Requests that ended in a bug."}),
		webhooks:  counters("webhook_attempts_total", "Attempts at webhooks.", "outcome"),
		refused:   counters("auth_failures_total", "Requests refused for their API key: missing, twice, wrong, slowed (too many wrong ones came from the address) or right (the key has no right to it).", "reason"),
	}
	m.registry.MustRegister(m.requests, m.durations, m.inFlight, m.started, m.ended, m.running, m.upstream, m.panics, m.webhooks, m.refused,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "apbridge", Name: name, Help: help}, labels)
}

func gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "apbridge", Name: name, Help: help}, labels)
}

func histograms(name, help string, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "apbridge", Name: name, Help: help, Buckets: latencies}, labels)
}

// Handler serves the metrics in Prometheus' text format.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

// Request is one answered HTTP request.
type Request struct {
	Dialect  string // whose path it was
	Route    string // the template that matched, never the path itself
	Method   string
	Status   int
	Duration time.Duration
}

// Requested counts an answered request.
func (m *Metrics) Requested(r Request) {
	if m == nil {
		return
	}
	method := knownMethod(r.Method)
	m.requests.WithLabelValues(r.Dialect, r.Route, method, statusClass(r.Status)).Inc()
	m.durations.WithLabelValues(r.Dialect, r.Route, method).Observe(r.Duration.Seconds())
}

// InFlight adds n, which may be negative, to the requests being answered.
func (m *Metrics) InFlight(n int) {
	if m != nil {
		m.inFlight.Add(float64(n))
	}
}

// Panicked counts a request that ended in a bug.
func (m *Metrics) Panicked() {
	if m != nil {
		m.panics.Inc()
	}
}

// AuthFailed counts a request that was refused for its API key, by reason: missing,
// twice, wrong, slowed or right.
func (m *Metrics) AuthFailed(reason string) {
	if m != nil {
		m.refused.WithLabelValues(reason).Inc()
	}
}

// RunStarted counts a run that this process begins or picks up.
func (m *Metrics) RunStarted(agent string) {
	if m != nil {
		m.started.WithLabelValues(agent).Inc()
		m.running.WithLabelValues(agent).Inc()
	}
}

// RunEnded counts a run that left this process, by the status it ended with.
// It follows one RunStarted.
func (m *Metrics) RunEnded(agent, status string) {
	if m != nil {
		m.ended.WithLabelValues(agent, status).Inc()
		m.running.WithLabelValues(agent).Dec()
	}
}

// UpstreamCall counts one exchange with an agent, a repeated one again: its operation
// (see adapter/upstream; "passthrough"), its outcome ("ok" or the class of the failure)
// and how long it took, to the end of the answer.
func (m *Metrics) UpstreamCall(agent, operation, outcome string, d time.Duration) {
	if m != nil {
		m.upstream.WithLabelValues(agent, operation, outcome).Observe(d.Seconds())
	}
}

// DatabaseLog shows what size says, when somebody looks: the bytes of SQLite's
// write-ahead log. Call it once.
func (m *Metrics) DatabaseLog(size func() int64) {
	if m != nil {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: "apbridge", Name: "database_log_bytes", Help: "Size of SQLite's write-ahead log. It grows while another program reads the database.",
		}, func() float64 { return float64(size()) }))
	}
}

// knownMethod bounds the label: clients may invent methods.
func knownMethod(m string) string {
	switch m {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		return m
	default:
		return "other"
	}
}

func statusClass(status int) string {
	classes := [...]string{"other", "1xx", "2xx", "3xx", "4xx", "5xx"}
	if c := status / 100; c > 0 && c < len(classes) {
		return classes[c]
	}
	return classes[0]
}
