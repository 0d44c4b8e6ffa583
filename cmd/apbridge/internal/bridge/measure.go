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
)

// measure has the metrics show what is asked for at each scrape.
func (a *App) measure() {
	m := a.metrics
	m.Built(Version(), BuildSetting("vcs.revision"), runtime.Version())
	a.measureAgents(a.cfg)
	m.Backlog(func() []string { return slices.Sorted(maps.Keys(a.engine.Config().Agents)) }, a.backlog)
	m.DatabaseFull(a.store.Full)
	if _, ok := a.store.LogSize(); ok {
		m.DatabaseLog(func() int64 { n, _ := a.store.LogSize(); return n })
	}
	if _, ok := a.store.Size(); ok {
		m.DatabaseSize(int64(a.cfg.Limits.Database), func() int64 { n, _ := a.store.Size(); return n })
	}
}

// measureAgents has the metrics show agents of which nothing has happened yet.
func (a *App) measureAgents(cfg *config.Config) {
	var statuses []string
	for _, s := range engine.Statuses() {
		statuses = append(statuses, string(s))
	}
	a.metrics.Agents(slices.Sorted(maps.Keys(cfg.Agents)), statuses)
}

func (a *App) backlog(ctx context.Context) (metrics.Backlog, error) {
	found, err := a.store.Backlog(ctx)
	told := metrics.Backlog{Webhooks: found.Webhooks}
	for _, c := range found.Runs {
		told.Runs = append(told.Runs, metrics.RunCount(c))
	}
	return told, err
}

// meter reports what the engine does to the metrics, which know no types of ours.
type meter struct{ *metrics.Metrics }

func (m meter) RunEnded(agent string, status mapping.RunStatus, code string) {
	m.Metrics.RunEnded(agent, string(status))
	if code != "" {
		m.Metrics.RunFailed(agent, code)
	}
}

var _ engine.Meter = meter{}
