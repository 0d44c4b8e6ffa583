package audit

import (
	"sync"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"golang.org/x/time/rate"
)

// How many lines of refused requests are written: so many at once, and one more each interval; for all addresses
// together, and for one of them. Any client can have itself refused as often as it likes.
const (
	refusalsBurst    = 100
	refusalsInterval = time.Second
	addressBurst     = 20
	addressInterval  = time.Minute
	keptAddresses    = 1024
)

// refusals bounds those lines. Safe for concurrent use.
type refusals struct {
	mu      sync.Mutex
	all     *rate.Limiter
	from    map[string]*rate.Limiter
	leftOut int64
}

func newRefusals() *refusals {
	return &refusals{all: rate.NewLimiter(rate.Every(refusalsInterval), refusalsBurst), from: map[string]*rate.Limiter{}}
}

// Refuse writes the line of a request that was refused before it came to an operation. It never waits. Where it writes
// none, it reports no error: the next line that is written says how many were left out.
func (l *Log) Refuse(e Entry) {
	if l == nil {
		return
	}
	r := l.refused
	r.mu.Lock()
	defer r.mu.Unlock()
	e.Operation, e.Kind, e.Outcome, e.LeftOut = mapping.Refused, "request", Refused, r.leftOut
	if line, err := lineOf(e); err == nil && r.allow(e.From) {
		select {
		case l.lines <- line:
			r.leftOut = 0
			return
		default:
		}
	}
	r.leftOut++
}

// allow reports whether the line of an address may be written. With mu held.
func (r *refusals) allow(from string) bool {
	one := r.from[from]
	if one == nil {
		if len(r.from) >= keptAddresses { // a forgotten address begins anew, within the bound for all
			clear(r.from)
		}
		one = rate.NewLimiter(rate.Every(addressInterval), addressBurst)
		r.from[from] = one
	}
	return one.Allow() && r.all.Allow()
}
