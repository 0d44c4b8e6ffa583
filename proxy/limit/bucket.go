package limit

import (
	"context"
	"sync"
	"time"
)

// bucket is the unused part of a rate. Safe for concurrent use.
type bucket interface {
	// take takes n, which is at most the rate's number per span. If wait is not zero, nothing was taken, and wait is
	// the time until that many are available.
	take(ctx context.Context, n int64) (wait time.Duration, err error)
	// giveBack returns n of those that were taken.
	giveBack(ctx context.Context, n int64)
	// left returns the number that could be taken at once.
	left(ctx context.Context) (int64, error)
}

// local is a bucket of one process. It counts in time, as a Ledger does. A refused take changes nothing, and giveBack
// returns exactly the amount that was taken, regardless of other calls in between. So a caller with many refusals or
// returns neither loses nor gains.
type local struct {
	rate
	mu   sync.Mutex
	from time.Time // the beginning of the line, which grows until now
}

func newLocal(r rate) *local {
	return &local{rate: r, from: time.Now().Add(-r.span)}
}

// long returns the current length of the line, at most a span. b.mu must be held.
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

// Ledger has the rates of all bridges over one database. It counts in time: a rate of n in a span is a line that grows
// as time passes, up to the span, and loses span/n for each that is taken.
type Ledger interface {
	// Take shortens the line called name by cost. If wait is not zero, the line was not shortened, and wait is the
	// time until it is long enough. A negative cost lengthens it.
	Take(ctx context.Context, name string, cost, span time.Duration) (wait time.Duration, err error)
	// Left returns the length of the line.
	Left(ctx context.Context, name string, span time.Duration) (time.Duration, error)
}

// lotsASecond limits how often a bridge uses the ledger for a rate that is used up as fast as it grows. A bridge's
// current lot may exceed the rate, by a tenth of a second's worth.
const lotsASecond = 10

// shared is a bucket of all bridges. It takes lots from the ledger, so that few requests wait for a statement.
type shared struct {
	rate
	name   string
	ledger Ledger
	lot    int64

	mu    sync.Mutex // also held during a call of the ledger, so that others do not repeat it
	have  int64      // rest of the last lot
	empty time.Time  // when one more is available, according to the ledger
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

// fetch adds at least need to the bridge's share: a lot, or as much as is available.
func (b *shared) fetch(ctx context.Context, need int64) (wait time.Duration, err error) {
	if wait := time.Until(b.empty); wait > 0 && need == 1 {
		return wait, nil
	}
	for _, n := range []int64{max(need, min(b.lot, b.n)), need} {
		wait, err = b.ledger.Take(ctx, b.name, b.cost(n), b.span)
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

// giveBack keeps at most a lot of what is returned. The rest returns to the ledger, since it would otherwise exceed the
// growth of the line.
func (b *shared) giveBack(ctx context.Context, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.have += n
	keep := b.lot
	if keep == 1 {
		keep = 0
	}
	if b.have > keep {
		// A failure loses the rest, which grows again.
		_, _ = b.ledger.Take(ctx, b.name, -b.cost(b.have-keep), b.span)
		b.have, b.empty = keep, time.Time{}
	}
}

func (b *shared) left(ctx context.Context) (int64, error) {
	long, err := b.ledger.Left(ctx, b.name, b.span)
	b.mu.Lock()
	defer b.mu.Unlock()
	return min(b.n, b.have+b.worth(long)), err
}
