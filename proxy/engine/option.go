package engine

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/trace"
)

// Option adds something to the engine that New makes.
type Option func(*options)

type options struct {
	tracer *trace.Tracer // may be nil
	allow  func(ctx context.Context, n int) (giveBack func(n int), err error)
	deed   *mapping.Deed // may be nil
}

// WithTracer has spans made of runs; a nil tracer makes none.
func WithTracer(t *trace.Tracer) Option { return func(o *options) { o.tracer = t } }

// WithRunLimit has allow asked before runs are made for the principal of ctx, and giveBack told how many of them were
// not.
func WithRunLimit(allow func(ctx context.Context, n int) (giveBack func(n int), err error)) Option {
	return func(o *options) { o.allow = allow }
}

// WithWitness has d told of what is done in the background.
func WithWitness(d *mapping.Deed) Option { return func(o *options) { o.deed = d } }

func optionsOf(list []Option) options {
	o := options{allow: func(context.Context, int) (func(int), error) { return func(int) {}, nil }}
	for _, add := range list {
		add(&o)
	}
	return o
}
