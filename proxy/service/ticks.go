package service

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/service/plan"
	"github.com/apbridge/apbridge/proxy/store"
)

// ticks makes the runs of crons.
type ticks struct {
	threads *store.Threads
	planner *plan.Planner
	engine  beginner
	trace   func(ctx context.Context, cronID string) (_ context.Context, end func(error))
}

// fire makes the run of a cron's tick, the same way as a request for it. The tick is its idempotency key: made twice,
// it is one run.
func (c *ticks) fire(ctx context.Context, cr mapping.Cron) (err error) {
	ctx, end := c.trace(ctx, cr.ID)
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
func (c *ticks) seesThread(ctx context.Context, cr mapping.Cron) error {
	if cr.ThreadID == "" {
		return nil
	}
	_, err := c.threads.Get(ctx, cr.ThreadID)
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
	n.Temporary = cr.ThreadID == "" && !cr.Keep
	n.DeleteAfter = n.DeleteAfter && n.Temporary
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
