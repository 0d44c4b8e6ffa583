package engine

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/store"
)

// taskLog is what is logged for tasks, each over all its runs. Safe for concurrent use.
type taskLog struct {
	events *store.Events
	links  *store.Links
}

// taskLink is the newest link that the runs of a task have logged.
func (t *taskLog) taskLink(ctx context.Context, taskID string) (l mapping.Link, err error) {
	err = t.eachOfTask(ctx, taskID, func(ev mapping.Event) error {
		if ev.Head.Link != nil {
			l = *ev.Head.Link
		}
		return nil
	})
	return l, err
}

// linkOf is what an agent calls the thread or task of a run.
func (t *taskLog) linkOf(ctx context.Context, r *mapping.Run, opaque bool) (mapping.Link, error) {
	switch {
	case opaque:
		return t.links.Get(ctx, r.ThreadID, r.Agent, r.TaskID)
	case r.Options.MayOverlap && (r.Multitask == mapping.StrategyConcurrent || r.Options.Resuming):
		return t.taskLink(ctx, r.TaskID)
	default:
		return t.links.Get(ctx, r.ThreadID, r.Agent, "")
	}
}

// eachOfTask goes through what is logged for a task, over all its runs.
func (t *taskLog) eachOfTask(ctx context.Context, taskID string, visit func(mapping.Event) error) error {
	for after := int64(0); ; {
		evs, err := t.events.ListOfTask(ctx, taskID, after, 512)
		if err != nil || len(evs) == 0 {
			return err
		}
		for _, ev := range evs {
			if err := visit(ev); err != nil {
				return err
			}
			after = ev.Seq
		}
	}
}

// done is what the steps logged for a task, over all its runs, have come to.
type done struct {
	steps int
	given mapping.Uploaded // the uploads that the agent was given with them
	call  string           // the tool call that waits for its result
}

func (t *taskLog) stepsDone(ctx context.Context, taskID string) (past done, err error) {
	err = t.eachOfTask(ctx, taskID, func(ev mapping.Event) error {
		if ev.Kind == mapping.KindUpdate && ev.Head.Step != nil {
			past.steps++
			past.given, past.call = max(past.given, ev.Head.Uploaded), rule.OpenCall(past.call, &ev)
		}
		return nil
	})
	return past, err
}
