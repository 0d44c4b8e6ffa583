package service

import (
	"sync/atomic"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/maintenance"
	"github.com/apbridge/apbridge/proxy/service/owner"
	"github.com/apbridge/apbridge/proxy/service/stateupdate"
	"github.com/apbridge/apbridge/proxy/stepping"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
)

// Service implements adapter.Service. Safe for concurrent use.
type Service struct {
	*owner.Owners

	store    *store.Store
	log      *eventlog.Log
	engine   *engine.Engine
	dialects adapter.Dialects
	stepper  *stepping.Stepper
	updater  *stateupdate.Updater

	agentIDs atomic.Pointer[agentIDs] // agentsByID
	facts    factAnswers              // agents' answers about themselves
}

var _ adapter.Service = (*Service)(nil)

// New returns the service and lets it run the crons of the engine, which must not have been started yet.
func New(st *store.Store, log *eventlog.Log, e *engine.Engine, dialects adapter.Dialects, logger *zap.Logger) (*Service, error) {
	named := logger.Named("service")
	s := &Service{
		store: st, log: log, engine: e, dialects: dialects,
		updater: &stateupdate.Updater{Engine: e, Log: log, Store: st, Zap: named},
	}
	var err error
	if s.stepper, err = stepping.New(st, log, e, s, logger); err != nil {
		return nil, err
	}
	s.Owners = owner.New(st, e, s, named)
	e.OnRemoved(s.stepper.Forget)
	e.AddBackground(maintenance.NewCrons(st.Crons, func() config.Auth { return e.Config().Auth }, s.runCron, logger))
	return s, nil
}
