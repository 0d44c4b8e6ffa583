package engine

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/store"
)

// endOf is what the store does together with the end event.
func (r *recorder) endOf(out mapping.Outcome) *store.End {
	return r.x.e.endOf(r.x.run, out, r.x.now(), r.fold)
}

// endOf is how a run leaves: with its webhook and, if asked for, the time its
// thread goes. state may be nil when it has to be read for a webhook.
func (e *Engine) endOf(r mapping.Run, out mapping.Outcome, now time.Time, state *state.Fold) *store.End {
	end := &store.End{Outcome: out, Thread: out.Thread()}
	if out.Parked {
		return end
	}
	if r.Options.DeleteAfter {
		end.Expire = now.Add(deleteAfter)
	}
	if r.Options.Webhook != "" && e.hook != nil {
		r.Status, r.Fault, r.EndedAt = out.Status, out.Fault, now
		end.Webhook = e.webhook(r, out, state)
	}
	return end
}

// webhook writes the body of a run's webhook. One that cannot be written does
// not keep the run from ending.
func (e *Engine) webhook(r mapping.Run, out mapping.Outcome, state *state.Fold) *store.Webhook {
	var err error
	if state == nil {
		ctx, stop := context.WithTimeout(context.WithoutCancel(e.scope(e.root, r)), 5*time.Second)
		defer stop()
		state, _, err = e.log.State(ctx, r.ThreadID, "")
	}
	var body []byte
	if err == nil {
		body, err = e.hook(r, out, state.JSON())
	}
	if err != nil {
		e.zap.Error("a webhook body could not be written", errField(err), runField(r.ID))
		return nil
	}
	return &store.Webhook{URL: r.Options.Webhook, Body: body}
}

// distance is how far the run's base is from its snapshot.
func (e *Engine) distance(x *execution) store.Distance {
	ctx, stop := context.WithTimeout(e.scope(e.root, x.run), 5*time.Second)
	defer stop()
	_, _, d, err := e.log.Distance(ctx, x.run.ThreadID, x.run.Base)
	if err != nil {
		return store.Distance{}
	}
	return d
}
