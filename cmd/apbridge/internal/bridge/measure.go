package bridge

import (
	"context"
	"maps"
	"runtime"
	"slices"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/metrics"
	"github.com/apbridge/apbridge/proxy/store"
)

// measure registers the metrics that are computed at each scrape. inForce is called at each scrape.
func measure(m *metrics.Metrics, st *store.Store, cfg *config.Config, inForce func() *config.Config) {
	m.Built(Version(), BuildSetting("vcs.revision"), runtime.Version())
	measureAgents(m, cfg)
	m.Backlog(func() []string { return agentNames(inForce()) }, func(ctx context.Context) (metrics.Backlog, error) { return backlog(ctx, st) })
	m.DatabaseFull(st.Full)
	if _, ok := st.LogSize(); ok {
		m.DatabaseLog(func() int64 { n, _ := st.LogSize(); return n })
	}
	if _, ok := st.Size(); ok {
		m.DatabaseSize(int64(cfg.Limits.Database), func() int64 { n, _ := st.Size(); return n })
	}
}

// measureAgents initialises the metrics of agents.
func measureAgents(m *metrics.Metrics, cfg *config.Config) {
	var statuses []string
	for _, s := range engine.Statuses() {
		statuses = append(statuses, string(s))
	}
	m.Agents(agentNames(cfg), statuses)
}

func agentNames(cfg *config.Config) []string { return slices.Sorted(maps.Keys(cfg.Agents)) }

func backlog(ctx context.Context, st *store.Store) (metrics.Backlog, error) {
	found, err := st.Backlog(ctx)
	told := metrics.Backlog{Webhooks: found.Webhooks, ItemsWaiting: found.Items.Waiting, ItemsSetAside: found.Items.SetAside}
	for _, c := range found.Runs {
		told.Runs = append(told.Runs, metrics.RunCount(c))
	}
	return told, err
}

// meter passes the engine's reports to the metrics, whose package does not use our types.
type meter struct{ *metrics.Metrics }

func (m meter) RunEnded(agent string, status mapping.RunStatus, code string) {
	m.Metrics.RunEnded(agent, string(status))
	if code != "" {
		m.Metrics.RunFailed(agent, code)
	}
}

var _ engine.Meter = meter{}
