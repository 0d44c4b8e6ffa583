package service

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/proxy/chore"
	"github.com/apbridge/apbridge/proxy/service/directory"
	"github.com/apbridge/apbridge/proxy/service/plan"
	"github.com/apbridge/apbridge/proxy/store"
)

// crons keeps requests for runs that chore.Crons repeats.
type crons struct {
	table     *store.Crons
	directory *directory.Directory
	planner   *plan.Planner
	now       func() time.Time // store.Store.Now
}

func (s *crons) Create(ctx context.Context, n adapter.NewCron) (mapping.Cron, error) {
	if err := store.CheckIdempotencyKey(n.Run.IdempotencyKey); err != nil {
		return mapping.Cron{}, err
	}
	key := keyOfCron(ctx, n)
	n.Run.IdempotencyKey = "" // each tick has its own
	agent, assistant, err := s.directory.Assistant(ctx, n.Run.Agent)
	if err != nil {
		return mapping.Cron{}, err
	}
	c := mapping.Cron{ID: mapping.NewID(), ThreadID: n.Run.ThreadID, Agent: agent.Name, AssistantID: assistant.ID}
	if err := s.fill(ctx, &c, n); err != nil {
		return c, err
	}
	if c.Next, err = chore.NextTick(c, s.now()); err != nil {
		return c, err
	}
	made, err := s.table.Create(ctx, c, key)
	mapping.NoteObject(ctx, "cron", cmp.Or(made.ID, c.ID)) // with an Idempotency-Key it may be an earlier one
	return made, err
}

// fill sets what a request says of a cron. The run it asks for is laid out once, so that what could never run is
// refused now.
func (s *crons) fill(ctx context.Context, c *mapping.Cron, n adapter.NewCron) (err error) {
	n.Run.Agent, n.Run.ThreadID = c.AssistantID, c.ThreadID
	run := n.Run
	if _, _, err := s.planner.Plan(ctx, &run); err != nil {
		return err
	}
	c.Schedule, c.Timezone, c.Enabled, c.Keep, c.End = n.Schedule, n.Timezone, n.Enabled, n.Keep, n.End
	c.Metadata, c.Payload = rawjson.OrEmpty(n.Run.Metadata), rawjson.OrEmpty(n.Payload)
	c.Run, err = json.Marshal(n.Run)
	return err
}

func (s *crons) Get(ctx context.Context, id string) (mapping.Cron, error) {
	return s.table.Get(ctx, id)
}

func (s *crons) Update(ctx context.Context, id string, n adapter.NewCron) (mapping.Cron, error) {
	old, err := s.table.Get(ctx, id)
	if err != nil {
		return old, err
	}
	c := old
	if err := s.fill(ctx, &c, n); err != nil {
		return c, err
	}
	next, err := chore.NextTick(c, s.now())
	if err != nil {
		return c, err
	}
	if c.Schedule != old.Schedule || c.Timezone != old.Timezone || c.Enabled != old.Enabled || !c.End.Equal(old.End) {
		c.Next = next
	}
	return s.table.Update(ctx, c)
}

func (s *crons) Delete(ctx context.Context, id string) error { return s.table.Delete(ctx, id) }

func (s *crons) Search(ctx context.Context, q adapter.CronQuery) ([]mapping.Cron, int, error) {
	out := store.CronQuery{
		ThreadID: q.ThreadID, Enabled: q.Enabled, Metadata: q.Metadata, SortBy: q.SortBy, Asc: q.Asc, Limit: q.Limit, Offset: q.Offset,
	}
	out.Agent, out.Assistant = s.directory.Named(q.Agent)
	return s.table.List(ctx, out)
}

var _ adapter.Crons = (*crons)(nil)
