package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// backlogTime limits the time for which a scrape waits for the counts.
	backlogTime = time.Second
	// backlogRest is the time for which counts are reused, as a multiple of their duration. So scrapes use at most a
	// twentieth of one connection's time.
	backlogRest = 20
)

// Backlog counts the runs and webhooks in the database that have not ended, and the items without up-to-date vectors.
type Backlog struct {
	Runs          []RunCount
	Webhooks      int // to be delivered
	ItemsWaiting  int // for their vectors
	ItemsSetAside int // because the embeddings endpoint refuses them
}

// RunCount is the number of an agent's runs in a state: queued, running or parked.
type RunCount struct {
	Agent, State string
	Runs         int
}

var states = []string{"queued", "running", "parked"}

// backlog collects the counts for a scrape. Safe for concurrent use.
type backlog struct {
	runs, webhooks *prometheus.Desc
	items          *prometheus.Desc
	agents         func() []string
	count          func(context.Context) (Backlog, error)

	mu   sync.Mutex
	last Backlog
	kept time.Time // until when the counts are reused
}

// Backlog registers gauges for the counts that count returns at a scrape. They are 0 for agents and states without a
// count. The gauges are missing if count fails or takes longer than a second. It must be called at most once.
func (m *Metrics) Backlog(agents func() []string, count func(context.Context) (Backlog, error)) {
	if m == nil {
		return
	}
	m.registry.MustRegister(&backlog{agents: agents, count: count,
		runs: prometheus.NewDesc("apbridge_runs", "Runs in the database that have not ended: queued (including delayed ones), running, or parked until their client requests the next step. "+
			"Processes that share a database each show all of them.", []string{"agent", "state"}, nil),
		webhooks: prometheus.NewDesc("apbridge_webhooks_pending", "Webhooks in the database that are still to be delivered, including those that wait for another attempt. "+
			"Processes that share a database each show all of them.", nil, nil),
		items: prometheus.NewDesc("apbridge_items_without_vectors", "Items of the store whose vectors are not computed yet (waiting), or with a text that the embeddings endpoint refuses while it accepts others (set_aside). "+
			"Processes that share a database each show all of them.", []string{"state"}, nil)})
}

// Describe implements prometheus.Collector.
func (b *backlog) Describe(to chan<- *prometheus.Desc) { to <- b.runs; to <- b.webhooks; to <- b.items }

// Collect implements prometheus.Collector.
func (b *backlog) Collect(to chan<- prometheus.Metric) {
	found, err := b.countRuns()
	if err != nil {
		return
	}
	runs := map[[2]string]int{}
	for _, agent := range b.agents() {
		for _, state := range states {
			runs[[2]string{agent, state}] = 0
		}
	}
	for _, c := range found.Runs {
		runs[[2]string{c.Agent, c.State}] += c.Runs
	}
	for of, n := range runs {
		to <- prometheus.MustNewConstMetric(b.runs, prometheus.GaugeValue, float64(n), of[0], of[1])
	}
	to <- prometheus.MustNewConstMetric(b.webhooks, prometheus.GaugeValue, float64(found.Webhooks))
	to <- prometheus.MustNewConstMetric(b.items, prometheus.GaugeValue, float64(found.ItemsWaiting), "waiting")
	to <- prometheus.MustNewConstMetric(b.items, prometheus.GaugeValue, float64(found.ItemsSetAside), "set_aside")
}

// countRuns counts, unless the last counts are recent. Concurrent scrapes share a count.
func (b *backlog) countRuns() (Backlog, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	begun := time.Now()
	if begun.Before(b.kept) {
		return b.last, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), backlogTime)
	defer cancel()
	found, err := b.count(ctx)
	if err != nil {
		return Backlog{}, err
	}
	end := time.Now()
	b.last, b.kept = found, end.Add(backlogRest*end.Sub(begun))
	return found, nil
}
