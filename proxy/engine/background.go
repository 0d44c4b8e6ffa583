package engine

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/trace"
)

// background has the contexts of work that belongs to no request. Safe for concurrent use.
type background struct {
	root   context.Context // of every execution; ends with errShutdown
	stop   context.CancelCauseFunc
	tracer *trace.Tracer // may be nil
}

func newBackground(o options) *background {
	root, stop := context.WithCancelCause(context.Background())
	if o.deed != nil {
		root = mapping.WithDeed(root, o.deed)
	}
	return &background{root: root, stop: stop, tracer: o.tracer}
}

// of is the context of work for a run.
func (b *background) of(r *mapping.Run) context.Context { return b.scope(b.root, r) }

// scope is of within another context than root.
func (b *background) scope(ctx context.Context, r *mapping.Run) context.Context {
	ctx = mapping.WithHops(ctx, r.Options.Hops)
	ctx = mapping.WithRequestID(ctx, r.Options.RequestID)
	ctx = mapping.WithTrace(ctx, b.placeOf(r))
	return mapping.WithPrincipal(ctx, mapping.Principal{ID: r.Owner, Tenant: r.Tenant})
}

// placeOf is where work for a run stands in a trace: below the run, or, where no spans are made, below the request that
// asked for it.
func (b *background) placeOf(r *mapping.Run) mapping.Trace {
	if b.tracer == nil {
		return traceOf(r)
	}
	return r.Place()
}
