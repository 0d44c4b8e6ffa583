package limit

import (
	"context"
	"math"
	"sync"
	"time"

	xrate "golang.org/x/time/rate"
)

// bucket is what is left of a rate. Safe for concurrent use.
type bucket interface {
	// take takes n, which is no more than the rate has in a span. undo gives them back. wait,
	// where it is not zero, is how long there will not be as many; then nothing was taken.
	take(ctx context.Context, n int64) (undo func(), wait time.Duration, err error)
	// left is how many could be taken at once.
	left(ctx context.Context) (int64, error)
}

// local is a bucket of one process.
type local struct {
	of *xrate.Limiter
}

func newLocal(r rate) local {
	return local{xrate.NewLimiter(xrate.Limit(float64(r.n)/r.span.Seconds()), int(r.n))}
}

func (b local) take(_ context.Context, n int64) (func(), time.Duration, error) {
	now := time.Now()
	taken := b.of.ReserveN(now, int(n))
	if wait := taken.DelayFrom(now); wait > 0 {
		taken.CancelAt(now)
		return nil, wait, nil
	}
	return func() { taken.CancelAt(now) }, 0, nil
}

func (b local) left(context.Context) (int64, error) {
	return int64(math.Floor(max(0, b.of.Tokens()))), nil
}

// Ledger keeps rates for all bridges over one database. It counts in time: a rate of n in a
// span is a line that grows as time passes, is never longer than the span, and loses span/n for each
// that is taken.
type Ledger interface {
	// TakeRate takes cost off the line called name. wait, where it is not zero, is how long it will
	// be too short; then nothing was taken. A cost below zero gives back.
	TakeRate(ctx context.Context, name string, cost, span time.Duration) (wait time.Duration, err error)
	// RateLeft is how long the line is.
	RateLeft(ctx context.Context, name string, span time.Duration) (time.Duration, error)
	// Shared reports whether there can be other bridges. Without them nothing is asked of the ledger.
	Shared() bool
}

// lotsASecond is how often a bridge asks the ledger at the most for a rate that is used up as fast
// as it grows. What a bridge holds of a lot may come besides: a tenth of a second's worth.
const lotsASecond = 10

// shared is a bucket of all bridges. It is taken from the ledger in lots, so that few requests wait
// for a statement.
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

func (b *shared) take(ctx context.Context, n int64) (func(), time.Duration, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.have < n {
		if wait, err := b.fetch(ctx, n-b.have); wait > 0 || err != nil {
			return nil, wait, err
		}
	}
	b.have -= n
	return func() { b.giveBack(n) }, 0, nil
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

func (b *shared) cost(n int64) time.Duration {
	return time.Duration(float64(b.span) * float64(n) / float64(b.n))
}

func (b *shared) giveBack(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.have = min(b.have+n, b.n)
}

func (b *shared) left(ctx context.Context) (int64, error) {
	long, err := b.ledger.RateLeft(ctx, b.name, b.span)
	b.mu.Lock()
	defer b.mu.Unlock()
	return min(b.n, b.have+int64(float64(b.n)*float64(long)/float64(b.span))), err
}
