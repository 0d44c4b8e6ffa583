package storetest

import (
	"context"
	"sync/atomic"
)

// Counted is a context that counts what it is asked for: each look at a store asks for the principal at least. Safe for
// concurrent use.
type Counted struct {
	context.Context
	asked atomic.Int64
}

// Count returns a context below ctx that counts.
func Count(ctx context.Context) *Counted { return &Counted{Context: ctx} }

// Value implements context.Context.
func (c *Counted) Value(key any) any {
	c.asked.Add(1)
	return c.Context.Value(key)
}

// Looks returns how often a store is looked at under c while look looks at it that many times beside.
func (c *Counted) Looks(times int, look func(context.Context)) int64 {
	one := Count(c.Context)
	look(one)
	before := c.asked.Load()
	for range times {
		look(c.Context)
	}
	return (c.asked.Load() - before) / one.asked.Load()
}
