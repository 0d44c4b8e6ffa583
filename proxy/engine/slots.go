package engine

import (
	"context"
	"math"
	"sync"

	"golang.org/x/sync/semaphore"
)

// slots bound the runs of an agent that this process executes at a time. Safe for concurrent use.
//
// They are this process's own. Counting them in the database would have every claim of an agent
// wait for the commit of the one before it.
type slots struct {
	free *semaphore.Weighted // of any size, so that the bound may grow; what no run may take is held

	mu        sync.Mutex
	used, all int
	over      int // taken beyond the bound: as many go back to nobody
}

func newSlots(n int) *slots {
	s := &slots{free: semaphore.NewWeighted(math.MaxInt64), all: max(1, n)}
	s.free.TryAcquire(math.MaxInt64 - int64(s.all))
	return s
}

func (s *slots) tryAcquire() bool {
	ok := s.free.TryAcquire(1)
	if ok {
		s.count(1)
	}
	return ok
}

// acquire waits for its turn. The error is that of ctx.
func (s *slots) acquire(ctx context.Context) error {
	err := s.free.Acquire(ctx, 1)
	if err == nil {
		s.count(1)
	}
	return err
}

// take is for what cannot wait: it may pass the bound.
func (s *slots) take() {
	if s.tryAcquire() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over++
	s.used++
}

func (s *slots) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used += n
}

func (s *slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used--
	s.giveBack()
}

// giveBack frees one slot; with mu held.
func (s *slots) giveBack() {
	if s.over > 0 {
		s.over--
		return
	}
	s.free.Release(1)
}

// resize changes the bound. Runs that hold more than that go on.
func (s *slots) resize(n int) {
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

func (s *slots) state() (used, all int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, s.all
}
