// Package complaint keeps the log readable where something fails again and again. Work in the background calls it, and
// work for requests of clients. It writes no line itself: it says when one is due.
package complaint

import (
	"sync"
	"time"

	"go.uber.org/zap"
)

// every is how often a failure that goes on is said.
const every = time.Minute

// Complaint is said once and then each minute as long as the failure goes on, with how often it came. The zero value is
// ready. Used by one goroutine.
type Complaint struct {
	next   time.Time
	failed int // since it was said
	times  int
}

// Due reports whether to say it now; it is called at each failure.
func (c *Complaint) Due() bool {
	c.failed++
	now := time.Now()
	if now.Before(c.next) {
		return false
	}
	c.times, c.failed = c.failed, 0
	c.next = now.Add(every)
	return true
}

// Times returns the field for how many failures the complaint that is due stands for, the newest included.
func (c *Complaint) Times() zap.Field { return zap.Int("times", c.times) }

// Over resets the complaint after a success: the next failure is said at once.
func (c *Complaint) Over() { *c = Complaint{} }

// Kinds are complaints about failures of a few kinds that come from everywhere. The zero value is ready. Safe for
// concurrent use.
type Kinds struct {
	mu sync.Mutex
	of map[string]*Complaint
}

// Due reports whether to say a failure of a kind now, and how many of them the line stands for.
func (k *Kinds) Due(kind string) (times int, due bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of == nil {
		k.of = map[string]*Complaint{}
	}
	if k.of[kind] == nil {
		k.of[kind] = &Complaint{}
	}
	due = k.of[kind].Due()
	return k.of[kind].times, due
}
