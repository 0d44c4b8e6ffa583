package bridge

import (
	"reflect"
	"strings"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/proxy/engine"
	"go.uber.org/zap"
)

// Reload puts what load reads in force, as far as that goes without a restart, and logs one line. What cannot be used
// changes nothing. It is not safe for concurrent use.
func (a *App) Reload(load func() (*config.Config, error)) (config.Change, error) {
	change, err := a.reload(load)
	a.reloads.Reloaded(err == nil)
	switch {
	case err != nil:
		a.log.Error("the configuration could not be reloaded: the one before stays in force", zap.String("reason", strings.ReplaceAll(err.Error(), "\n", "; ")))
	case len(change.Keys)+len(change.Restart) == 0:
		a.log.Info("configuration read again: nothing has changed")
	case len(change.Restart) > 0:
		a.log.Warn("configuration reloaded, but for what needs a restart", zap.Strings("changed", change.Keys), zap.Strings("needs_restart", change.Restart))
	default:
		a.log.Info("configuration reloaded", zap.Strings("changed", change.Keys))
	}
	return change, err
}

func (a *App) reload(load func() (*config.Config, error)) (config.Change, error) {
	read, err := load()
	if err != nil {
		return config.Change{}, err
	}
	change, err := a.engine.Config().Take(read, config.Options{Dialects: a.dialects.Names()})
	if err != nil {
		return change, err
	}
	next := sealsOf(change.Config) // before the files are read to be used: what changes after that is seen next time
	change.Keys = append(change.Keys, a.seals.renewed(next, change.Keys)...)
	if len(change.Keys) == 0 {
		return change, nil
	}
	return change, a.use(change.Config, next)
}

// use makes everything first, so that all of it comes in force or nothing. Agents come before the routes, which may
// name them.
func (a *App) use(cfg *config.Config, next seals) error {
	agents, err := a.redialled(cfg, next)
	if err != nil {
		return err
	}
	mount, err := a.routes(cfg)
	if err != nil {
		return err
	}
	answer, err := a.server.Reconfigure(cfg, mount)
	if err != nil {
		return err
	}
	a.relimit(cfg)
	a.engine.Reconfigure(cfg, agents)
	a.hooks.Reconfigure(cfg.Webhooks)
	a.measureAgents(cfg)
	answer()
	a.seals = next
	return nil
}

// redialled are the agents of a configuration. One of which nothing has changed stays.
func (a *App) redialled(cfg *config.Config, next seals) (map[string]*engine.Agent, error) {
	agents, now := a.engine.Agents(), a.engine.Config()
	for name := range agents {
		if _, stays := cfg.Agents[name]; !stays {
			delete(agents, name)
		}
	}
	for name, c := range cfg.Agents {
		if agents[name] != nil && sameForAgents(cfg.Limits, now.Limits) && reflect.DeepEqual(c, now.Agents[name]) && next[name] == a.seals[name] {
			continue
		}
		agent, err := a.dial(name, cfg)
		if err != nil {
			return nil, err
		}
		agents[name] = agent
	}
	return agents, nil
}
