package engine

import (
	"context"
	"math"
	"sync"

	"golang.org/x/sync/semaphore"
)

// slots limits the runs of one agent that this process executes at a time. The limit may change while runs hold slots.
// Safe for concurrent use.
//
// Each process has its own slots. If they were counted in the database, every claim for an agent would wait for the
// commit of the previous one.
type slots struct {
	free *semaphore.Weighted // has the maximum size, so that the limit can grow; slots beyond the limit are held

	mu        sync.Mutex
	used, all int
	over      int // slots taken beyond the limit; that many releases do not free a slot
}

// newSlots returns n slots, at least one.
func newSlots(n int) *slots {
	s := &slots{free: semaphore.NewWeighted(math.MaxInt64), all: max(1, n)}
	s.free.TryAcquire(math.MaxInt64 - int64(s.all))
	return s
}

// tryAcquire takes a slot if one is free and reports whether it did.
func (s *slots) tryAcquire() bool {
	ok := s.free.TryAcquire(1)
	if ok {
		s.count(1)
	}
	return ok
}

// acquire waits for a slot and takes it. If ctx ends first, it returns the error of ctx.
func (s *slots) acquire(ctx context.Context) error {
	err := s.free.Acquire(ctx, 1)
	if err == nil {
		s.count(1)
	}
	return err
}

// take takes a slot without waiting, beyond the limit if none is free.
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

// giveBack frees one slot. The lock must be held.
func (s *slots) giveBack() {
	if s.over > 0 {
		s.over--
		return
	}
	s.free.Release(1)
}

// resize changes the limit to n, at least one. Runs that hold more slots than that keep them.
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

// state returns the number of slots taken, and the limit.
func (s *slots) state() (used, all int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, s.all
}
