package engine

import (
	"context"
	"testing"
	"testing/synctest"
)

// wantSlots compares the number of used and allowed slots, and whether another one is available.
func wantSlots(t *testing.T, s *slots, used, all int, more bool) {
	t.Helper()
	if u, a := s.state(); u != used || a != all {
		t.Errorf("%d of %d used, want %d of %d", u, a, used, all)
	}
	got := s.tryAcquire()
	if got {
		s.release()
	}
	if got != more {
		t.Errorf("another slot: %v", got)
	}
}

func TestSlotsAreResized(t *testing.T) {
	t.Parallel()
	s := newSlots(2)
	wantSlots(t, s, 0, 2, true)
	s.tryAcquire()
	s.tryAcquire()
	wantSlots(t, s, 2, 2, false)
	s.resize(3)
	wantSlots(t, s, 2, 3, true)
	s.resize(1) // both continue, and another one is admitted only after both
	wantSlots(t, s, 2, 1, false)
	s.release()
	wantSlots(t, s, 1, 1, false)
	s.release()
	wantSlots(t, s, 0, 1, true)
	s.tryAcquire()
	s.take()
	wantSlots(t, s, 2, 1, false)
	s.resize(3)
	wantSlots(t, s, 2, 3, true)
	s.release()
	s.release()
	wantSlots(t, s, 0, 3, true)
}

// A larger limit admits a waiter, and an abandoned wait takes no slot.
func TestAcquireWaitsForASlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(1)
		s.tryAcquire()
		had := make(chan error, 1)
		go func() { had <- s.acquire(t.Context()) }()
		left, leave := context.WithCancel(t.Context())
		go func() { had <- s.acquire(left) }()
		synctest.Wait()
		leave()
		if err := <-had; err == nil {
			t.Fatal("a slot was acquired beyond the limit")
		}
		s.resize(2)
		if err := <-had; err != nil {
			t.Fatal(err)
		}
		wantSlots(t, s, 2, 2, false)
	})
}
