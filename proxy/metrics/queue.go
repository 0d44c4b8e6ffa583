package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// queueTime bounds what a scrape waits for the count of runs.
const queueTime = time.Second

// queue asks how many runs wait when somebody looks.
type queue struct {
	desc   *prometheus.Desc
	agents func() []string
	count  func(context.Context) (map[string]int, error)
}

// Queue shows how many runs of each agent wait: what count says when somebody looks,
// and 0 for those of agents that it does not name. The gauge is missing where count
// fails or takes longer than a second. Call it once.
func (m *Metrics) Queue(agents func() []string, count func(context.Context) (map[string]int, error)) {
	if m == nil {
		return
	}
	m.registry.MustRegister(&queue{agents: agents, count: count, desc: prometheus.NewDesc("apbridge_runs_queued",
		"Runs in the database that wait to be started, delayed ones too. Processes that share a database each show all of them.", []string{"agent"}, nil)})
}

// Describe is as of prometheus.Collector.
func (q *queue) Describe(to chan<- *prometheus.Desc) { to <- q.desc }

// Collect is as of prometheus.Collector.
func (q *queue) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), queueTime)
	defer cancel()
	waiting, err := q.count(ctx)
	if err != nil {
		return
	}
	for _, agent := range q.agents() {
		if _, some := waiting[agent]; !some {
			q.show(to, agent, 0)
		}
	}
	for agent, n := range waiting {
		q.show(to, agent, n)
	}
}

func (q *queue) show(to chan<- prometheus.Metric, agent string, n int) {
	to <- prometheus.MustNewConstMetric(q.desc, prometheus.GaugeValue, float64(n), agent)
}
