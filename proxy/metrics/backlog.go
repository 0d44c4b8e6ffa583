package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// backlogTime bounds what a scrape waits for the counts.
	backlogTime = time.Second
	// backlogRest is how many times as long as they took the counts are kept: scrapes, however many there are, cost the
	// database a twentieth of one connection's time at most.
	backlogRest = 20
)

// Backlog counts the runs and webhooks in the database that have not ended, and the items that are not found by all
// that they mean.
type Backlog struct {
	Runs          []RunCount
	Webhooks      int // that are to be delivered
	ItemsWaiting  int // for their vectors to be made
	ItemsSetAside int // since the embeddings endpoint refuses them
}

// RunCount is how many runs of an agent are in a state: queued, running or parked.
type RunCount struct {
	Agent, State string
	Runs         int
}

var states = []string{"queued", "running", "parked"}

// backlog asks at a scrape what there is. Safe for concurrent use.
type backlog struct {
	runs, webhooks *prometheus.Desc
	items          *prometheus.Desc
	agents         func() []string
	count          func(context.Context) (Backlog, error)

	mu   sync.Mutex
	last Backlog
	kept time.Time // until when last is told
}

// Backlog shows what count says at a scrape, and 0 for agents and states that it does not name. The gauges are missing
// where count fails or takes longer than a second. Call it once.
func (m *Metrics) Backlog(agents func() []string, count func(context.Context) (Backlog, error)) {
	if m == nil {
		return
	}
	m.registry.MustRegister(&backlog{agents: agents, count: count,
		runs: prometheus.NewDesc("apbridge_runs", "Runs in the database that have not ended: queued (delayed ones too), running, or parked until their client asks for the next step. "+
			"Processes that share a database each show all of them.", []string{"agent", "state"}, nil),
		webhooks: prometheus.NewDesc("apbridge_webhooks_pending", "Webhooks in the database that are to be delivered, those that wait for another attempt too. "+
			"Processes that share a database each show all of them.", nil, nil),
		items: prometheus.NewDesc("apbridge_items_without_vectors", "Items of the store whose vectors are to be made (waiting), or of which the embeddings endpoint refuses a text while it takes others (set_aside). "+
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

// countRuns counts, unless that was done a moment ago. Scrapes that come together share a count.
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
