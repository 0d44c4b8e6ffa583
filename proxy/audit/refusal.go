package audit

import (
	"sync"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"golang.org/x/time/rate"
)

// The number of lines about refused requests: a burst, and one more per interval, for all addresses together and for
// each. They are limited because any client can cause refusals at will.
const (
	refusalsBurst    = 100
	refusalsInterval = time.Second
	addressBurst     = 20
	addressInterval  = time.Minute
	keptAddresses    = 1024
)

// refusals limits those lines. Safe for concurrent use.
type refusals struct {
	mu      sync.Mutex
	all     *rate.Limiter
	from    map[string]*rate.Limiter
	leftOut int64
}

func newRefusals() *refusals {
	return &refusals{all: rate.NewLimiter(rate.Every(refusalsInterval), refusalsBurst), from: map[string]*rate.Limiter{}}
}

// Refuse writes the line of a request that was refused before its operation. It never waits. If the limit is reached,
// it drops the line, and the next line contains the number of dropped lines.
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

// allow reports whether the line of an address may be written. r.mu must be held.
func (r *refusals) allow(from string) bool {
	one := r.from[from]
	if one == nil {
		if len(r.from) >= keptAddresses { // a forgotten address starts again, within the common limit
			clear(r.from)
		}
		one = rate.NewLimiter(rate.Every(addressInterval), addressBurst)
		r.from[from] = one
	}
	return one.Allow() && r.all.Allow()
}
