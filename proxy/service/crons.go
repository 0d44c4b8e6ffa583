package service

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/chore"
	"github.com/apbridge/apbridge/proxy/store/cron"
)

// crons keeps requests for runs that chore.Crons repeats.
type crons struct{ *core }

func (s *crons) Create(ctx context.Context, n adapter.NewCron) (mapping.Cron, error) {
	if err := checkKey(n.Run.IdempotencyKey); err != nil {
		return mapping.Cron{}, err
	}
	key := keyOfCron(ctx, n)
	n.Run.IdempotencyKey = "" // each tick has its own
	agent, assistant, err := s.Assistant(ctx, n.Run.Agent)
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
	made, err := s.st.Crons.Create(ctx, c, key)
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
	return s.st.Crons.Get(ctx, id)
}

func (s *crons) Update(ctx context.Context, id string, n adapter.NewCron) (mapping.Cron, error) {
	old, err := s.st.Crons.Get(ctx, id)
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
	return s.st.Crons.Update(ctx, c)
}

func (s *crons) Delete(ctx context.Context, id string) error { return s.st.Crons.Delete(ctx, id) }

func (s *crons) Search(ctx context.Context, q adapter.CronQuery) ([]mapping.Cron, int, error) {
	out := cron.Query{
		ThreadID: q.ThreadID, Enabled: q.Enabled, Metadata: q.Metadata, SortBy: q.SortBy, Asc: q.Asc, Limit: q.Limit, Offset: q.Offset,
	}
	out.Agent, out.Assistant = s.Named(q.Agent)
	return s.st.Crons.List(ctx, out)
}

// tick makes the run of a cron's tick, the same way as a request for it. The tick is its idempotency key: made twice,
// it is one run.
func (c *core) tick(ctx context.Context, cr mapping.Cron) (err error) {
	ctx, end := c.engine.Tracer().Cron(ctx, cr.ID)
	defer func() { end(err) }()
	if err := c.seesThread(ctx, cr); err != nil {
		return err
	}
	n, err := runOf(cr)
	if err != nil {
		return err
	}
	o, _, err := c.planner.Plan(ctx, &n)
	if err != nil {
		return err
	}
	o.New.IdempotencyRoute, o.New.IdempotencyKey = "cron", cr.ID+"/"+strconv.FormatInt(cr.Next.UnixMicro(), 10)
	_, err = c.engine.Begin(ctx, o)
	return err
}

// seesThread refuses a tick on a thread that is out of its key's sight, which it goes when another agent is set to work
// on it. A cron of a thread that is deleted is deleted with it.
func (c *core) seesThread(ctx context.Context, cr mapping.Cron) error {
	if cr.ThreadID == "" {
		return nil
	}
	_, err := c.st.Threads.Get(ctx, cr.ThreadID)
	if notFound(err) {
		return mapping.Errorf(mapping.NotFound, mapping.CodeThreadNotFound,
			"The key %q, which made this cron, may not see thread %s any more: an agent has worked on it that the key may not use. "+
				"Make the cron on another thread, or with a key that may use all of the thread's agents.", cr.Owner, cr.ThreadID)
	}
	return err
}

// runOf reads back the request that a cron's runs are made by.
func runOf(cr mapping.Cron) (n adapter.NewRun, err error) {
	if err := json.Unmarshal(cr.Run, &n); err != nil {
		return n, err
	}
	for _, raw := range []*json.RawMessage{&n.Kwargs, &n.Input, &n.Messages, &n.Metadata, &n.Config, &n.Context} {
		absent(raw)
	}
	if n.Command != nil {
		absent(&n.Command.Resume)
		absent(&n.Command.Update)
		absent(&n.Command.Goto)
	}
	n.ByClock = true
	n.ThreadID, n.Agent = cr.ThreadID, cr.AssistantID // what the assistant says is read at each tick
	n.DeleteAfter = cr.ThreadID == "" && !cr.Keep
	if n.Multitask == "" {
		n.Multitask = mapping.StrategyReject // a tick is left out while its thread is busy: runs do not pile up
	}
	n.Metadata, err = rule.MergeMetadata(rawjson.OrEmpty(n.Metadata), rule.MadeByCron(cr.ID))
	return n, err
}

// absent undoes what encoding did: nothing was written as null.
func absent(raw *json.RawMessage) {
	if string(*raw) == "null" {
		*raw = nil
	}
}

var _ adapter.Crons = (*crons)(nil)
