package owner

import (
	"context"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
)

// one removes one object, with its own entry in the audit log. A missing object is not an error.
func (r *removal) one(kind, id string, remove func(context.Context) error) error {
	if _, stays := r.stays[id]; stays {
		return nil
	}
	ctx, done := mapping.BeginAudited(r.ctx, kind)
	mapping.SetAuditVerb(ctx, mapping.Deleted)
	mapping.AddAuditObject(ctx, kind, id)
	err := unlessGone(remove(ctx))
	done(err)
	if err != nil {
		return r.unless(kind, id, err)
	}
	return r.gone(kind, id)
}

// gone reports a removed object and counts it.
func (r *removal) gone(kind, id string) error {
	r.went++
	return r.tell(adapter.Removed{Outcome: adapter.IsRemoved, Kind: kind, ID: id})
}

func (r *removal) kept(kind, id, why string) error {
	return r.tell(adapter.Removed{Outcome: adapter.IsKept, Kind: kind, ID: id, Why: why})
}

// unless records that an object could not be removed. It returns an error only if the request has ended or the database
// is unavailable or full.
func (r *removal) unless(kind, id string, err error) error {
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	if mapping.Classify(err).Code == store.CodeUnavailable || mapping.Classify(err).Class == mapping.StorageFull {
		return err
	}
	r.stays[id] = struct{}{}
	return r.tell(adapter.Removed{Outcome: adapter.IsFailed, Kind: kind, ID: id, Why: r.reason(err)})
}

// reason returns an error message for administrators. Internal errors are only logged.
func (r *removal) reason(err error) string {
	if e := mapping.Classify(err); e.Class != mapping.Internal {
		return e.Message
	}
	r.zap.Error("part of an owner's data could not be removed", zap.Error(err))
	return "an internal error; see the bridge's log"
}
