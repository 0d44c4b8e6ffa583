package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// databaseMetrics count writes to the database.
type databaseMetrics struct {
	commits    prometheus.Histogram
	operations prometheus.Histogram
}

func newDatabaseMetrics() databaseMetrics {
	return databaseMetrics{
		commits:    histogram("commit_duration_seconds", "Time of a transaction that was committed, from its start until it was as durable as requested.", moments),
		operations: histogram("commit_operations", "Operations committed by one transaction: SQLite commits all waiting operations together, PostgreSQL each separately.", []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}),
	}
}

func (m databaseMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.commits, m.operations}
}

// Committed counts a transaction and its operations.
func (m *Metrics) Committed(operations int, took time.Duration) {
	if m != nil {
		m.commits.Observe(took.Seconds())
		m.operations.Observe(float64(operations))
	}
}

// DatabaseLog registers a gauge for the bytes of SQLite's write-ahead log, which size returns. It must be called at
// most once.
func (m *Metrics) DatabaseLog(size func() int64) {
	if m != nil {
		m.asked("database_log_bytes", "Size of SQLite's write-ahead log. It grows while another program reads the database.", func() float64 { return float64(size()) })
	}
}

// DatabaseSize registers gauges for the bytes of SQLite's file, which size returns, and its limit, 0 for none. It must
// be called at most once.
func (m *Metrics) DatabaseSize(limit int64, size func() int64) {
	if m == nil {
		return
	}
	m.asked("database_bytes", "Size of the SQLite file.", func() float64 { return float64(size()) })
	m.asked("database_limit_bytes", "Maximum size of the SQLite file (limits.database); 0 means limited only by the disk.", func() float64 { return float64(limit) })
}

// DatabaseFull registers a gauge for whether the newest write was refused for lack of space, which full reports. It
// must be called at most once.
func (m *Metrics) DatabaseFull(full func() bool) {
	if m == nil {
		return
	}
	m.asked("database_full", "1 while writes are refused because the database has reached its limit, or its disk is full.", func() float64 {
		if full() {
			return 1
		}
		return 0
	})
}
