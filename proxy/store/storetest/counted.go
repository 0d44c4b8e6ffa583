package storetest

import (
	"context"
	"sync/atomic"
)

// Counted is a context that counts calls of Value. Each read of a store calls it at least once, for the principal. Safe
// for concurrent use.
type Counted struct {
	context.Context
	asked atomic.Int64
}

// Count returns a counting context derived from ctx.
func Count(ctx context.Context) *Counted { return &Counted{Context: ctx} }

// Value implements context.Context.
func (c *Counted) Value(key any) any {
	c.asked.Add(1)
	return c.Context.Value(key)
}

// Looks returns how often the store is read with c, measured in calls of look, while look runs that many times.
func (c *Counted) Looks(times int, look func(context.Context)) int64 {
	one := Count(c.Context)
	look(one)
	before := c.asked.Load()
	for range times {
		look(c.Context)
	}
	return (c.asked.Load() - before) / one.asked.Load()
}
