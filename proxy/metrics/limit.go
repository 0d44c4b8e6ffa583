package metrics

import "github.com/prometheus/client_golang/prometheus"

// limitMetrics count refusals by the limits of keys and tenants, and lines of the audit log.
type limitMetrics struct {
	refusals *prometheus.CounterVec
	audited  prometheus.Counter
	lost     prometheus.Counter
}

// Audited counts a line of the audit log.
func (m *Metrics) Audited() {
	if m != nil {
		m.audited.Inc()
	}
}

// AuditLost counts a line of the audit log that could not be written.
func (m *Metrics) AuditLost() {
	if m != nil {
		m.lost.Inc()
	}
}

// Limited counts a refusal because of a limit of a key or a tenant.
func (m *Metrics) Limited(limit, of string) {
	if m != nil {
		m.refusals.WithLabelValues(limit, of).Inc()
	}
}

func newLimited() limitMetrics {
	m := limitMetrics{refusals: counters("limit_refusals_total", "Requests, runs and streams refused because a key or its tenant has used up its limit, by limit and its holder (key or tenant).", "limit", "of"),
		audited: counter("audit_lines_total", "Lines of the audit log that were written."),
		lost:    counter("audit_lines_lost_total", "Lines of the audit log that could not be written.")}
	for _, limit := range []string{"requests", "runs", "streams", "upload", "threads", "crons", "items", "files", "disk"} {
		for _, of := range []string{"key", "tenant"} {
			m.refusals.WithLabelValues(limit, of)
		}
	}
	return m
}
