package service

import (
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/proxy/chore"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/service/directory"
	"github.com/apbridge/apbridge/proxy/service/owner"
	"github.com/apbridge/apbridge/proxy/service/plan"
	"github.com/apbridge/apbridge/proxy/service/stateupdate"
	"github.com/apbridge/apbridge/proxy/stepping"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
)

// core is what the parts of the service share.
type core struct {
	st      *store.Store
	log     *eventlog.Log
	engine  *engine.Engine
	planner *plan.Planner
	heads   heads
	updater *stateupdate.Updater
	zap     *zap.Logger

	*directory.Directory
	stepper *stepping.Stepper
	remover *remover
}

// New returns the service, and has the engine serve crons. The engine must not have been started yet.
func New(st *store.Store, log *eventlog.Log, e *engine.Engine, dialects plan.Dialects, logger *zap.Logger) (adapter.Service, error) {
	c := &core{st: st, log: log, engine: e, heads: heads{st.Threads, log}, zap: logger.Named("service"), Directory: directory.New(st.Assistants, st.Agents, e)}
	c.planner = &plan.Planner{
		Directory: c.Directory, Dialects: dialects, Engine: e, Threads: st.Threads, Runs: st.Runs, States: st.States, Heads: c.heads,
	}
	c.updater = &stateupdate.Updater{
		Engine: e, Log: log, Threads: st.Threads, States: st.States, Links: st.Links, Artifacts: st.Artifacts, Zap: c.zap,
	}
	var err error
	if c.stepper, err = stepping.New(st, log, e, c.planner, logger); err != nil {
		return adapter.Service{}, err
	}
	c.remover = &remover{st.Runs, st.Tasks, e, log, c.stepper}
	e.OnRemoved(c.remover.ForgetRun)
	e.Beside(chore.NewCrons(st.Crons, func() config.Auth { return e.Config().Auth }, c.tick, logger))
	owners := owner.New(owner.Parts{
		Owned: st.Owners, Threads: st.Threads, Runs: st.Runs, Crons: st.Crons, Assistants: st.Assistants, Items: st.Items,
		Engine: e, Heads: c.heads, Remover: c.remover,
	}, c.zap)
	return adapter.Service{
		Threads: &threads{c}, Index: &index{c}, States: &states{c}, Past: &past{c},
		Runs: &runs{c}, ThreadLog: &threadLog{c}, RunIndex: &runIndex{c}, Explainer: &explainer{c}, Storage: &storage{c},
		Tasks: &tasks{c}, Steps: &steps{c}, Items: &items{c}, Artifacts: &artifacts{c}, Agents: directory.NewAgents(c.Directory),
		Assistants: directory.NewAssistants(c.Directory, st.Threads, (&threads{c}).Delete), Crons: &crons{c}, Calls: &calls{c},
		Topics: &topics{c}, Interactions: &interactions{c}, Owners: owners,
	}, nil
}

func (c *core) now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
