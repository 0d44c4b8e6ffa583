package engine

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/outbox"
	"go.uber.org/zap"
)

// ending is what the store does together with the end event.
func (r *recorder) ending(out mapping.Outcome) *store.End {
	return r.x.works.exits.endings.of(&r.x.Run, out, r.x.works.now(), r.fold)
}

// deleteAfter is how long the thread of a run stays after its end at the least: readers and retries are still there.
const deleteAfter = 5 * time.Second

// endings are what the ends of runs take along. Safe for concurrent use.
type endings struct {
	settings   *configured
	log        *eventlog.Log
	dialects   Dialects
	background *background
	zap        *zap.Logger
}

// of is how a run leaves: with its webhook and, if asked for, the time its thread goes. state may be nil when it has to
// be read for a webhook.
func (w *endings) of(r *mapping.Run, out mapping.Outcome, now time.Time, state *state.Fold) *store.End {
	end := &store.End{Outcome: out, Thread: out.Thread()}
	if out.Parked {
		return end
	}
	if r.Options.Temporary || r.Options.DeleteAfter {
		end.Expire = now.Add(w.staysFor(r, out))
	}
	if r.Options.Webhook != "" {
		end.Webhook = w.webhook(r, out, now, state)
	}
	return end
}

// staysFor returns how long the thread of a temporary run stays after the run's end.
func (w *endings) staysFor(r *mapping.Run, out mapping.Outcome) time.Duration {
	keep := w.settings.Config().Retention
	switch {
	case out.Status == mapping.RunError || out.Status == mapping.RunTimeout:
		return max(deleteAfter, keep.Failed)
	case r.Options.DeleteAfter:
		return deleteAfter
	}
	return max(deleteAfter, keep.Stateless)
}

// webhook writes the body of a run's webhook. One that cannot be written does not keep the run from ending.
func (w *endings) webhook(r *mapping.Run, out mapping.Outcome, now time.Time, state *state.Fold) *outbox.Webhook {
	var err error
	if state == nil {
		ctx, stop := context.WithTimeout(context.WithoutCancel(w.background.of(r)), 5*time.Second)
		defer stop()
		state, _, err = w.log.State(ctx, r.ThreadID, "")
	}
	var body []byte
	if err == nil {
		ended := *r
		ended.Status, ended.Fault, ended.CancelReason, ended.EndedAt = out.Status, out.Fault, out.Reason, now
		body, err = w.dialects.Webhook(ended, out, state.JSON())
	}
	if err != nil {
		w.zap.Error("a webhook body could not be written", errField(err), runField(r.ID))
		return nil
	}
	return &outbox.Webhook{URL: r.Options.Webhook, Body: body}
}

// baseDistance is how far the run's base is from its snapshot.
func (r *recorder) baseDistance() store.Distance {
	ctx, stop := context.WithTimeout(r.x.works.background.of(&r.x.Run), 5*time.Second)
	defer stop()
	_, _, d, err := r.x.works.log.Distance(ctx, r.x.Run.ThreadID, r.x.Run.Base)
	if err != nil {
		return store.Distance{}
	}
	return d
}
