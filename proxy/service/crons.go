package service

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"

	"github.com/apbridge/apbridge/proxy/store"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/maintenance"
)

func (s *Service) CreateCron(ctx context.Context, n adapter.CronRequest) (mapping.Cron, error) {
	if err := store.CheckIdempotencyKey(n.Run.IdempotencyKey); err != nil {
		return mapping.Cron{}, err
	}
	key := keyOfCron(ctx, n)
	n.Run.IdempotencyKey = "" // each tick has its own
	agent, assistant, err := s.findAssistant(ctx, n.Run.Agent)
	if err != nil {
		return mapping.Cron{}, err
	}
	c := mapping.Cron{ID: mapping.NewID(), ThreadID: n.Run.ThreadID, Agent: agent.Name, AssistantID: assistant.ID}
	if err := s.fillCron(ctx, &c, n); err != nil {
		return c, err
	}
	if c.Next, err = maintenance.NextTick(c, s.store.Now()); err != nil {
		return c, err
	}
	made, err := s.store.Crons.Create(ctx, c, key)
	mapping.AddAuditObject(ctx, "cron", cmp.Or(made.ID, c.ID)) // with an Idempotency-Key it may be an earlier one
	return made, err
}

// fillCron sets the fields of a cron from a request. It plans the run once, so that a run that could never start is
// refused immediately.
func (s *Service) fillCron(ctx context.Context, c *mapping.Cron, n adapter.CronRequest) (err error) {
	n.Run.Agent, n.Run.ThreadID = c.AssistantID, c.ThreadID
	run := n.Run
	if _, err := s.planRun(ctx, &run); err != nil {
		return err
	}
	c.Schedule, c.Timezone, c.Enabled, c.Keep, c.End = n.Schedule, n.Timezone, n.Enabled, n.Keep, n.End
	c.Metadata, c.Payload = rawjson.OrEmpty(n.Run.Metadata), rawjson.OrEmpty(n.Payload)
	c.Run, err = json.Marshal(n.Run)
	return err
}

func (s *Service) GetCron(ctx context.Context, id string) (mapping.Cron, error) {
	return s.store.Crons.Get(ctx, id)
}

func (s *Service) UpdateCron(ctx context.Context, id string, n adapter.CronRequest) (mapping.Cron, error) {
	old, err := s.store.Crons.Get(ctx, id)
	if err != nil {
		return old, err
	}
	c := old
	if err := s.fillCron(ctx, &c, n); err != nil {
		return c, err
	}
	next, err := maintenance.NextTick(c, s.store.Now())
	if err != nil {
		return c, err
	}
	if c.Schedule != old.Schedule || c.Timezone != old.Timezone || c.Enabled != old.Enabled || !c.End.Equal(old.End) {
		c.Next = next
	}
	return s.store.Crons.Update(ctx, c)
}

func (s *Service) DeleteCron(ctx context.Context, id string) error {
	return s.store.Crons.Delete(ctx, id)
}

func (s *Service) SearchCrons(ctx context.Context, q adapter.CronQuery) ([]mapping.Cron, int, error) {
	out := store.CronQuery{
		ThreadID: q.ThreadID, Enabled: q.Enabled, Metadata: q.Metadata, SortBy: q.SortBy, Asc: q.Asc, Limit: q.Limit, Offset: q.Offset,
	}
	out.Agent, out.Assistant = s.agentFilter(q.Agent)
	return s.store.Crons.List(ctx, out)
}

// runCron creates the run of a cron's tick like a request for it. The tick is its idempotency key, so that the run is
// created only once.
func (s *Service) runCron(ctx context.Context, cr mapping.Cron) (err error) {
	ctx, end := s.engine.Tracer().Cron(ctx, cr.ID)
	defer func() { end(err) }()
	if err := s.checkCronThread(ctx, cr); err != nil {
		return err
	}
	n, err := runOf(cr)
	if err != nil {
		return err
	}
	o, err := s.planRun(ctx, &n)
	if err != nil {
		return err
	}
	o.New.IdempotencyRoute, o.New.IdempotencyKey = "cron", cr.ID+"/"+strconv.FormatInt(cr.Next.UnixMicro(), 10)
	_, err = s.engine.Begin(ctx, o)
	return err
}

// checkCronThread refuses a tick on a thread that the cron's key may no longer see because another agent has worked on
// it. A cron of a deleted thread is deleted with it.
func (s *Service) checkCronThread(ctx context.Context, cr mapping.Cron) error {
	if cr.ThreadID == "" {
		return nil
	}
	_, err := s.store.Threads.Get(ctx, cr.ThreadID)
	if notFound(err) {
		return mapping.Errorf(mapping.NotFound, mapping.CodeThreadNotFound,
			"The key %q, which created this cron, can no longer see thread %s because an agent that the key may not use has worked on it. "+
				"Create the cron on another thread, or with a key that may use all of the thread's agents.", cr.Owner, cr.ThreadID)
	}
	return err
}

// runOf decodes the request for the runs of a cron.
func runOf(cr mapping.Cron) (n adapter.RunRequest, err error) {
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
	n.ThreadID, n.Agent = cr.ThreadID, cr.AssistantID // the assistant's settings are read at each tick
	n.Temporary = cr.ThreadID == "" && !cr.Keep
	n.DeleteAfter = n.DeleteAfter && n.Temporary
	if n.Multitask == "" {
		n.Multitask = mapping.StrategyReject // skip a tick while its thread is busy, so that runs do not pile up
	}
	n.Metadata, err = rule.MergeMetadata(rawjson.OrEmpty(n.Metadata), rule.MadeByCron(cr.ID))
	return n, err
}

// absent restores nil, which was encoded as null.
func absent(raw *json.RawMessage) {
	if string(*raw) == "null" {
		*raw = nil
	}
}
