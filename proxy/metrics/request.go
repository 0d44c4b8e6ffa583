package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// requestMetrics count requests of clients.
type requestMetrics struct {
	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
	inFlight  prometheus.Gauge
	streams   *prometheus.GaugeVec
	lag       prometheus.Histogram
	errors    *prometheus.CounterVec
	codes     *few
	refused   *prometheus.CounterVec
	panics    prometheus.Counter
}

func newRequestMetrics() requestMetrics {
	m := requestMetrics{
		requests:  counters("requests_total", "HTTP requests answered.", "dialect", "route", "method", "status"),
		durations: histograms("request_duration_seconds", "Time from a request's header to the end of its response; for streams, the time that they were open.", latencies, "dialect", "route", "method"),
		inFlight:  gauge("requests_in_flight", "HTTP requests being answered."),
		streams:   gauges("streams_open", "Streams and WebSockets that clients have open.", "transport"),
		lag:       histogram("event_lag_seconds", "Time from the commit of a run's event to its delivery to a waiting reader of the stream.", moments),
		errors:    counters("errors_total", "Requests refused or failed, by the code sent to the client.", "dialect", "code"),
		codes:     newFew(),
		refused:   counters("auth_failures_total", "Requests refused for their API key: missing, twice, wrong, slowed (too many wrong ones came from the address), right (the key has no right to it), expired, or issuer (the keys of a token cannot be read).", "reason"),
		panics:    counter("panics_total", "Requests that ended in a bug."),
	}
	for _, transport := range []string{StreamSSE, StreamWebSocket} {
		m.streams.WithLabelValues(transport)
	}
	for _, reason := range []string{"missing", "twice", "wrong", "slowed", "right"} {
		m.refused.WithLabelValues(reason)
	}
	return m
}

func (m requestMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.requests, m.durations, m.inFlight, m.streams, m.lag, m.errors, m.refused, m.panics}
}

// Request is one answered HTTP request.
type Request struct {
	Dialect  string // of the path
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

// The transports of streams.
const (
	StreamSSE       = "sse"
	StreamWebSocket = "websocket"
)

// Streams adds n, which may be negative, to the open streams of a transport.
func (m *Metrics) Streams(transport string, n int) {
	if m != nil {
		m.streams.WithLabelValues(transport).Add(float64(n))
	}
}

// EventTold records the time between a commit and the delivery of its event to a reader.
func (m *Metrics) EventTold(lag time.Duration) {
	if m != nil {
		m.lag.Observe(lag.Seconds())
	}
}

// Failed counts a request with an error, by the dialect of its path.
func (m *Metrics) Failed(dialect, code string) {
	if m != nil {
		m.errors.WithLabelValues(dialect, m.codes.label(code)).Inc()
	}
}

// Panicked counts a request that panicked.
func (m *Metrics) Panicked() {
	if m != nil {
		m.panics.Inc()
	}
}

// AuthFailed counts a request that was refused for its credentials, by reason: those of auth.Reason, or right.
func (m *Metrics) AuthFailed(reason string) {
	if m != nil {
		m.refused.WithLabelValues(reason).Inc()
	}
}

// knownMethod bounds the label, since clients may invent methods.
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
