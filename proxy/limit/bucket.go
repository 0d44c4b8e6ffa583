package limit

import (
	"context"
	"sync"
	"time"
)

// bucket is what is left of a rate. Safe for concurrent use.
type bucket interface {
	// take takes n, which is no more than the rate has in a span. wait, where it is not zero, is how long there will
	// not be as many; then nothing was taken.
	take(ctx context.Context, n int64) (wait time.Duration, err error)
	// giveBack adds n of those that were taken.
	giveBack(ctx context.Context, n int64)
	// left is how many could be taken at once.
	left(ctx context.Context) (int64, error)
}

// local is a bucket of one process. It counts in time, as a Ledger does. What is refused takes nothing, and what is
// given back is what was taken and no more, whatever others took meanwhile: a caller that is refused often, or has what
// it took given back often, has neither less nor more for that.
type local struct {
	rate
	mu   sync.Mutex
	from time.Time // when the line began that has grown until now
}

func newLocal(r rate) *local {
	return &local{rate: r, from: time.Now().Add(-r.span)}
}

// long is how long the line is by now, a span at most. With mu held.
func (b *local) long() time.Duration {
	now := time.Now()
	if now.Sub(b.from) > b.span {
		b.from = now.Add(-b.span)
	}
	return now.Sub(b.from)
}

func (b *local) take(_ context.Context, n int64) (time.Duration, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	cost := b.cost(n)
	if long := b.long(); long < cost {
		return cost - long, nil
	}
	b.from = b.from.Add(cost)
	return 0, nil
}

func (b *local) giveBack(_ context.Context, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.from = b.from.Add(-b.cost(n))
}

func (b *local) left(context.Context) (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.worth(b.long()), nil
}

// Ledger keeps rates for all bridges over one database. It counts in time: a rate of n in a span is a line that grows
// as time passes, is never longer than the span, and loses span/n for each that is taken.
type Ledger interface {
	// TakeRate takes cost off the line called name. wait, where it is not zero, is how long it will be too short; then
	// nothing was taken. A cost below zero gives back.
	TakeRate(ctx context.Context, name string, cost, span time.Duration) (wait time.Duration, err error)
	// RateLeft returns how long the line is.
	RateLeft(ctx context.Context, name string, span time.Duration) (time.Duration, error)
	// Shared reports whether there can be other bridges. Without them nothing is asked of the ledger.
	Shared() bool
}

// lotsASecond is how often a bridge asks the ledger at the most for a rate that is used up as fast as it grows. What a
// bridge holds of a lot may come besides: a tenth of a second's worth.
const lotsASecond = 10

// shared is a bucket of all bridges. It is taken from the ledger in lots, so that few requests wait for a statement.
type shared struct {
	rate
	name   string
	ledger Ledger
	lot    int64

	mu    sync.Mutex // also while the ledger is asked: a caller in the meantime would ask the same
	have  int64      // of the last lot
	empty time.Time  // when one more can be had, by what the ledger said
}

func newShared(name string, r rate, of Ledger) *shared {
	return &shared{rate: r, name: name, ledger: of, lot: max(1, int64(float64(r.n)/r.span.Seconds()/lotsASecond))}
}

func (b *shared) take(ctx context.Context, n int64) (time.Duration, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.have < n {
		if wait, err := b.fetch(ctx, n-b.have); wait > 0 || err != nil {
			return wait, err
		}
	}
	b.have -= n
	return 0, nil
}

// fetch adds need at least to what the bridge has: a lot, or what there is room for.
func (b *shared) fetch(ctx context.Context, need int64) (wait time.Duration, err error) {
	if wait := time.Until(b.empty); wait > 0 && need == 1 {
		return wait, nil
	}
	for _, n := range []int64{max(need, min(b.lot, b.n)), need} {
		wait, err = b.ledger.TakeRate(ctx, b.name, b.cost(n), b.span)
		if err != nil {
			return 0, err
		}
		if wait == 0 {
			b.have += n
			return 0, nil
		}
		if n == need {
			break
		}
	}
	if need == 1 {
		b.empty = time.Now().Add(wait)
	}
	return wait, nil
}

// giveBack keeps a lot of what is given back at the most. The rest goes to the ledger: kept here, it would come besides
// what the line grows by.
func (b *shared) giveBack(ctx context.Context, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.have += n
	keep := b.lot
	if keep == 1 {
		keep = 0
	}
	if b.have > keep {
		// What fails here is lost, and grows anew.
		_, _ = b.ledger.TakeRate(ctx, b.name, -b.cost(b.have-keep), b.span)
		b.have, b.empty = keep, time.Time{}
	}
}

func (b *shared) left(ctx context.Context) (int64, error) {
	long, err := b.ledger.RateLeft(ctx, b.name, b.span)
	b.mu.Lock()
	defer b.mu.Unlock()
	return min(b.n, b.have+b.worth(long)), err
}
