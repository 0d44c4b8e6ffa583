package bridge

import (
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/proxy"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/metrics"
	"github.com/apbridge/apbridge/proxy/webhook"
	"github.com/gorilla/mux"
	"go.uber.org/zap"
)

// reloader replaces the configuration.
type reloader struct {
	dialects adapter.Dialects
	dialer   *dialer
	through  passthroughs
	engine   *engine.Engine
	routes   func(*config.Config, routes) func(*mux.Router)
	server   *proxy.Server
	limits   *limits
	hooks    *webhook.Sender
	metrics  *metrics.Metrics
	counted  *metrics.Reloads
	log      *zap.Logger
	seals    fileHashes // file hashes of the current agents
	ways     routes     // the current ones
}

// reload implements App.Reload.
func (r *reloader) reload(load func() (*config.Config, error)) (config.Change, error) {
	change, err := r.take(load)
	r.counted.Reloaded(err == nil)
	switch {
	case err != nil:
		r.log.Error("could not reload configuration; keeping the previous one", zap.String("reason", strings.ReplaceAll(err.Error(), "\n", "; ")))
	case len(change.Keys)+len(change.Restart) == 0:
		r.log.Info("configuration reloaded; nothing changed")
	case len(change.Restart) > 0:
		r.log.Warn("configuration reloaded, except for keys that need a restart", zap.Strings("changed", change.Keys), zap.Strings("needs_restart", change.Restart))
	default:
		r.log.Info("configuration reloaded", zap.Strings("changed", change.Keys))
	}
	return change, err
}

// take applies the configuration that load reads.
func (r *reloader) take(load func() (*config.Config, error)) (config.Change, error) {
	read, err := load()
	if err != nil {
		return config.Change{}, err
	}
	change, err := r.engine.Config().Take(read, config.Options{Dialects: r.dialects.Names()})
	if err != nil {
		return change, err
	}
	next := fileHashesOf(change.Config) // before the files are used, so the next reload notices later changes
	change.Keys = append(change.Keys, r.seals.renewed(next, change.Keys)...)
	if len(change.Keys) == 0 {
		return change, nil
	}
	return change, r.use(change.Config, next)
}

// use creates all new parts before replacing any, so all or none take effect. Agents are replaced before the routes,
// which may refer to them.
func (r *reloader) use(cfg *config.Config, next fileHashes) error {
	stays := staying(cfg, r.engine.Config(), func(name string) bool { return next[name] != r.seals[name] })
	agents, err := r.dialer.dialAll(cfg, r.engine.Agents(), stays)
	if err != nil {
		return err
	}
	ways, err := r.through.create(cfg, r.ways, stays)
	if err != nil {
		return err
	}
	answer, err := r.server.Reconfigure(cfg, r.routes(cfg, ways))
	if err != nil {
		return err
	}
	r.limits.reconfigure(cfg)
	r.engine.Reconfigure(cfg, agents)
	r.hooks.Reconfigure(cfg.Webhooks)
	measureAgents(r.metrics, cfg)
	answer()
	r.ways.replaced(ways)
	r.seals, r.ways = next, ways
	return nil
}
