package limit

import (
	"context"
	"sync"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/tables"
	lru "github.com/hashicorp/golang-lru/v2"
)

// keptBuckets limits the memory of rates to about 4 MB. The least recently used one starts again.
const keptBuckets = 16384

// Limiter counts the use of limits. Safe for concurrent use.
type Limiter struct {
	allowed *Allowances
	ledger  Ledger // nil if rates are per process
	refused func(limit, of string)

	mu      sync.Mutex
	buckets *lru.Cache[string, kept]
	open    map[string]int // streams
}

// kept is a bucket and its rate.
type kept struct {
	rate
	bucket
}

// New returns a Limiter for allowed. ledger may be nil. refused, which may be nil, is called at each refusal.
func New(allowed *Allowances, ledger Ledger, refused func(limit, of string)) (*Limiter, error) {
	buckets, err := lru.New[string, kept](keptBuckets)
	if err != nil {
		return nil, err
	}
	if refused == nil {
		refused = func(string, string) {}
	}
	return &Limiter{allowed: allowed, ledger: ledger, refused: refused, buckets: buckets, open: map[string]int{}}, nil
}

// Take takes n of the principal's rate of a limit, or returns an error of class Limited. giveBack returns unneeded
// ones, and is never nil.
func (l *Limiter) Take(ctx context.Context, who mapping.Principal, limit string, n int64) (giveBack func(n int64), err error) {
	var taken []bucket
	giveBack = func(n int64) {
		for _, b := range taken {
			b.giveBack(context.WithoutCancel(ctx), n)
		}
	}
	for _, s := range l.allowed.subjects(who) {
		b, err := l.takeOf(ctx, s, limit, n)
		if err != nil {
			giveBack(n)
			return func(int64) {}, err
		}
		if b != nil {
			taken = append(taken, b)
		}
	}
	return giveBack, nil
}

// takeOf returns the bucket from which n were taken, or nil if there is no limit.
func (l *Limiter) takeOf(ctx context.Context, s subject, limit string, n int64) (bucket, error) {
	r := s.rate(limit)
	if r.n == 0 {
		return nil, nil
	}
	if n > r.n {
		l.refused(limit, s.of)
		return nil, s.overOnce(limit, r, n)
	}
	b := l.bucketOf(s, limit, r)
	wait, err := b.take(ctx, n)
	if err == nil && wait > 0 {
		l.refused(limit, s.of)
		err = s.overRate(limit, r, wait)
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// bucketOf returns the bucket of a rate.
func (l *Limiter) bucketOf(s subject, limit string, r rate) bucket {
	name := s.of + "/" + limit + "/" + s.name
	l.mu.Lock()
	defer l.mu.Unlock()
	if b, ok := l.buckets.Get(name); ok && b.rate == r {
		return b.bucket
	}
	var b bucket = newLocal(r)
	if l.ledger != nil {
		b = newShared(name, r, l.ledger)
	}
	l.buckets.Add(name, kept{r, b})
	return b
}

// OpenStream counts a stream until done is called, or refuses it.
func (l *Limiter) OpenStream(who mapping.Principal) (done func(), err error) {
	subjects := l.allowed.subjects(who)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range subjects {
		if s.Streams > 0 && l.open[s.of+"/"+s.name] >= s.Streams {
			l.refused(Streams, s.of)
			return nil, s.overStreams()
		}
	}
	names := []string{tables.QuotaOfKey + "/" + who.ID, tables.QuotaOfTenant + "/" + who.Tenant}
	for _, name := range names {
		l.open[name]++
	}
	return sync.OnceFunc(func() { l.closeStream(names) }), nil
}

func (l *Limiter) closeStream(names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range names {
		if l.open[name]--; l.open[name] <= 0 {
			delete(l.open, name)
		}
	}
}

// Request counts a request, or returns an error of class Limited.
func (l *Limiter) Request(ctx context.Context, who mapping.Principal) error {
	_, err := l.Take(ctx, who, Requests, 1)
	return err
}

// Runs counts n new runs. giveBack must be called with the number of those that were not created, and is never nil.
func (l *Limiter) Runs(ctx context.Context, n int) (giveBack func(n int), err error) {
	back, err := l.Take(ctx, mapping.PrincipalOf(ctx), Runs, int64(n))
	return func(n int) { back(int64(n)) }, err
}
