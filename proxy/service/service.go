package service

import (
	"sync"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/store"
	lru "github.com/hashicorp/golang-lru/v2"
	"go.uber.org/zap"
)

// keptSessions bounds the tasks whose folded steps are held in memory.
const keptSessions = 4096

// core is what the parts of the service share.
type core struct {
	st     *store.Store
	log    *eventlog.Log
	engine *engine.Engine
	cfg    *config.Config
	zap    *zap.Logger
	byID   map[string]string // assistant id → config name

	sessions *lru.Cache[string, *session]
	mu       sync.Mutex          // guards making sessions, and what follows
	held     map[string]*session // by task: those that the store is behind of
}

// New makes the service.
func New(st *store.Store, log *eventlog.Log, e *engine.Engine, cfg *config.Config, logger *zap.Logger) (adapter.Service, error) {
	sessions, err := lru.New[string, *session](keptSessions)
	if err != nil {
		return adapter.Service{}, err
	}
	c := &core{st: st, log: log, engine: e, cfg: cfg, zap: logger.Named("service"), byID: map[string]string{}, sessions: sessions, held: map[string]*session{}}
	for name := range cfg.Agents {
		c.byID[mapping.AssistantID(name)] = name
	}
	e.OnTick(c.tick)
	return adapter.Service{
		Threads: &threads{c}, Index: &index{c}, States: &states{c},
		Runs: &runs{c}, RunIndex: &runIndex{c},
		Tasks: &tasks{c}, Steps: &steps{c}, Items: &items{c}, Artifacts: &artifacts{c}, Agents: &agents{c},
		Crons:  &crons{c},
		Topics: &topics{c}, Interactions: &interactions{c},
	}, nil
}

func (c *core) now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
