package service

import (
	"context"

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

// agents has the configured agents; engine.Engine implements it. For what a caller may see of them there is
// directory.Directory.
type agents interface {
	Agent(name string) (*engine.Agent, bool)
}

// settings has the configuration, which may be replaced at any time; engine.Engine implements it.
type settings interface{ Config() *config.Config }

// New returns the service, and has the engine serve crons. The engine must not have been started yet.
func New(st *store.Store, log *eventlog.Log, e *engine.Engine, dialects plan.Dialects, logger *zap.Logger) (adapter.Service, error) {
	named, dir, atHead := logger.Named("service"), directory.New(st.Assistants, st.Agents, e), heads{st.Threads, log}
	planner := &plan.Planner{
		Directory: dir, Dialects: dialects, Engine: e, Threads: st.Threads, Runs: st.Runs, States: st.States, Heads: atHead, Now: st.Now,
	}
	updater := &stateupdate.Updater{
		Engine: e, Log: log, Threads: st.Threads, States: st.States, Links: st.Links, Artifacts: st.Artifacts, Now: st.Now, Zap: named,
	}
	stepper, err := stepping.New(st, log, e, planner, logger)
	if err != nil {
		return adapter.Service{}, err
	}
	maker, rem := threadMaker{st.Threads, log}, &remover{st.Runs, st.Tasks, e, log, stepper}
	findTask, findTopic := taskFinder{dir, st.Tasks, stepper, st.Shared()}, topicFinder{dir, st.Threads}
	onTopics := topicTasks{findTopic, st.Tasks, st.Artifacts, st.Now}
	kept := &items{st.Items, agentItems{dir, e}}
	ofThreads := &threads{st.Threads, st.Links, maker, atHead, updater, rem, dir, e, st.Now}

	e.OnRemoved(stepper.Forget)
	clock := &ticks{st.Threads, planner, e, func(ctx context.Context, cronID string) (context.Context, func(error)) {
		return e.Tracer().Cron(ctx, cronID)
	}}
	e.AddBackground(chore.NewCrons(st.Crons, func() config.Auth { return e.Config().Auth }, clock.fire, logger))
	return adapter.Service{
		Threads: ofThreads,
		Index:   &index{st.Threads, atHead, log},
		States: &states{
			st.Threads, st.States, st.Requests, st.Runs, st.Retention, log, updater, &agentCopies{dir, st.Links, st.States, st.Runs, st.Owners},
		},
		Past:      &past{st.States, st.Artifacts, st.Events},
		Storage:   &storage{st.Threads},
		ThreadLog: &threadLog{st.Events, log},

		Runs: &runs{
			runStarts{planner, st.Requests, st.Runs, e}, runReads{st.Runs, st.Events, st.States, log}, st.Runs, e,
		},
		RunIndex:  &runIndex{dir, st.Threads, st.Runs},
		Explainer: &explainer{st.Runs, st.Deliveries, e},
		Calls:     &calls{st.Calls, st.Runs, st.Events, e},
		Crons:     &crons{st.Crons, dir, planner, st.Now},

		Tasks:     &tasks{dir, findTask, findTopic, onTopics, maker, st.Tasks, st.Artifacts, stepper, st.Now},
		Steps:     &steps{findTask, stepper},
		Artifacts: &artifacts{findTask, st.Artifacts, e},
		Topics:    &topics{dir, findTopic, maker, st.Threads, kept, st.Artifacts, atHead, log, st.Now},
		Interactions: &interactions{
			sayings{findTopic, findTask, onTopics, st.Requests, st.Tasks, st.Runs, stepper, updater},
			conversations{findTopic, st.Tasks, st.Runs, log, atHead, stepper},
		},

		Items:      kept,
		Agents:     directory.NewAgents(dir),
		Assistants: directory.NewAssistants(dir, st.Threads, ofThreads.DeleteThread),
		Owners: owner.New(owner.Parts{
			Owned: st.Owners, Threads: st.Threads, Runs: st.Runs, Crons: st.Crons, Assistants: st.Assistants, Items: st.Items, Now: st.Now,
			Engine: e, Heads: atHead, Remover: rem,
		}, named),
	}, nil
}
