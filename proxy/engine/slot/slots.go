// Package slot bounds what goes on at a time, as an agent's runs. The engine has one bound for each agent, and changes
// it while runs go on. It knows neither agents nor runs.
package slot

import (
	"context"
	"math"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Slots bound the runs of an agent that this process executes at a time. Safe for concurrent use.
//
// They are this process's own. Counting them in the database would have every claim of an agent wait for the commit of
// the one before it.
type Slots struct {
	free *semaphore.Weighted // of any size, so that the bound may grow; what no run may take is held

	mu        sync.Mutex
	used, all int
	over      int // taken beyond the bound: as many that are released do not become free
}

// New returns Slots with n slots, at least one.
func New(n int) *Slots {
	s := &Slots{free: semaphore.NewWeighted(math.MaxInt64), all: max(1, n)}
	s.free.TryAcquire(math.MaxInt64 - int64(s.all))
	return s
}

// TryAcquire takes a slot if one is free, and reports whether it did.
func (s *Slots) TryAcquire() bool {
	ok := s.free.TryAcquire(1)
	if ok {
		s.count(1)
	}
	return ok
}

// Acquire takes a slot, and waits for its turn until ctx ends. The error is that of ctx.
func (s *Slots) Acquire(ctx context.Context) error {
	err := s.free.Acquire(ctx, 1)
	if err == nil {
		s.count(1)
	}
	return err
}

// Take takes a slot without waiting, beyond the bound where none is free.
func (s *Slots) Take() {
	if s.TryAcquire() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over++
	s.used++
}

func (s *Slots) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used += n
}

// Release gives a slot back.
func (s *Slots) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used--
	s.giveBack()
}

// giveBack frees one slot; with mu held.
func (s *Slots) giveBack() {
	if s.over > 0 {
		s.over--
		return
	}
	s.free.Release(1)
}

// Resize changes the bound to n, at least one. Runs that hold more slots than that go on.
func (s *Slots) Resize(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n = max(1, n); s.all < n; s.all++ {
		s.giveBack()
	}
	for ; s.all > n; s.all-- {
		if !s.free.TryAcquire(1) {
			s.over++
		}
	}
}

// State returns how many slots are taken, and the bound.
func (s *Slots) State() (used, all int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, s.all
}
