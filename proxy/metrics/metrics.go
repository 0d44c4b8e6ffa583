// Package metrics counts the bridge's work for Prometheus. The guards, the engine's meter, package passthrough and the
// sender of webhooks call it. It imports none of them and makes no decisions. Start reading at Metrics.
//
// No label has the id of a thread, run, task or user, because their number is unbounded and they are private.
//
// docs/metrics.md lists all metrics; a test compares it with a running bridge.
package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are the bridge's counters, in a separate registry. Safe for concurrent use. A nil *Metrics counts nothing.
type Metrics struct {
	registry *prometheus.Registry
	requestMetrics
	runMetrics
	databaseMetrics
	limitMetrics
	upstream *prometheus.HistogramVec
	webhooks *prometheus.CounterVec
}

// Bucket bounds in seconds.
var (
	// latencies range from a response out of memory to a step for which a model thinks.
	latencies = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 600}
	// moments are the durations of a disk and a connection.
	moments = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
)

// New returns Metrics that include those of the process and the Go runtime.
func New() *Metrics {
	m := &Metrics{
		registry:        prometheus.NewRegistry(),
		requestMetrics:  newRequestMetrics(),
		runMetrics:      newRunMetrics(),
		databaseMetrics: newDatabaseMetrics(),
		limitMetrics:    newLimited(),
		upstream:        histograms("upstream_call_duration_seconds", "Time of calls to agents, each attempt until the end of its response.", latencies, "agent", "operation", "outcome"),
		webhooks:        counters("webhook_attempts_total", "Attempts to deliver webhooks.", "outcome"),
	}
	m.registry.MustRegister(m.upstream, m.webhooks, m.refusals, m.audited, m.lost, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.registry.MustRegister(m.requestMetrics.all()...)
	m.registry.MustRegister(m.runMetrics.all()...)
	m.registry.MustRegister(m.databaseMetrics.all()...)
	for _, outcome := range []string{"delivered", "failed", "dead", "returned"} {
		m.webhooks.WithLabelValues(outcome)
	}
	return m
}

// namespace begins the names of all metrics except those of the process and the Go runtime.
const namespace = "apbridge"

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func gauge(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help})
}

func gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func histogram(name, help string, bounds []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: bounds})
}

func histograms(name, help string, bounds []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: bounds}, labels)
}

// asked registers a gauge whose value is computed at each scrape.
func (m *Metrics) asked(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, value))
}

// Handler returns a handler for the metrics in Prometheus' text format.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

// Built registers the version of the program. It must be called at most once.
func (m *Metrics) Built(version, revision, goVersion string) {
	if m != nil {
		info := gauges("build_info", "1, with the version from which the program was built.", "version", "revision", "goversion")
		info.WithLabelValues(version, revision, goVersion).Set(1)
		m.registry.MustRegister(info)
	}
}
