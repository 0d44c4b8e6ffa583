package engine

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
)

// taskLink returns the newest link that the runs of a task have logged.
func (e *Engine) taskLink(ctx context.Context, taskID string) (l mapping.Link, err error) {
	err = e.eachOfTask(ctx, taskID, func(ev mapping.Event) error {
		if ev.Head.Link != nil {
			l = *ev.Head.Link
		}
		return nil
	})
	return l, err
}

// linkOf returns the link of a run to its upstream thread or task.
func (e *Engine) linkOf(ctx context.Context, r *mapping.Run, exposes mapping.Exposure) (mapping.Link, error) {
	switch {
	case !exposes.ReportsState():
		return e.store.Links.Get(ctx, r.ThreadID, r.Agent, r.TaskID)
	case r.Options.MayOverlap && (r.Multitask == mapping.StrategyConcurrent || r.Options.Resuming):
		return e.taskLink(ctx, r.TaskID)
	default:
		return e.store.Links.Get(ctx, r.ThreadID, r.Agent, "")
	}
}

// eachOfTask calls visit for each event in all runs of a task.
func (e *Engine) eachOfTask(ctx context.Context, taskID string, visit func(mapping.Event) error) error {
	for after := int64(0); ; {
		evs, err := e.store.Events.ListOfTask(ctx, taskID, after, 512)
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

// done summarizes the steps in all runs of a task.
type done struct {
	steps int
	given mapping.UploadCursor // the uploads that the agent received with them
	call  string               // tool call without a result
}

// stepsDone reads the steps that are logged for a task.
func (e *Engine) stepsDone(ctx context.Context, taskID string) (past done, err error) {
	err = e.eachOfTask(ctx, taskID, func(ev mapping.Event) error {
		if ev.Kind == mapping.KindUpdate && ev.Head.Step != nil {
			past.steps++
			past.given, past.call = max(past.given, ev.Head.Uploaded), rule.PendingToolCall(past.call, &ev)
		}
		return nil
	})
	return past, err
}
