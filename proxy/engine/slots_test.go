package engine

import (
	"context"
	"testing"
	"testing/synctest"
)

// wantSlots compares what is used and allowed, and whether one more may be had, which it gives back.
func wantSlots(t *testing.T, s *slots, used, all int, more bool) {
	t.Helper()
	if u, a := s.state(); u != used || a != all {
		t.Errorf("%d of %d are used, want %d of %d", u, a, used, all)
	}
	got := s.tryAcquire()
	if got {
		s.release()
	}
	if got != more {
		t.Errorf("one more: %v", got)
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
	s.resize(1) // both go on, and one more is let in only after both
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

// TestASlotIsWaitedFor: a larger bound lets in what waits, and an end of waiting takes nothing.
func TestASlotIsWaitedFor(t *testing.T) {
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
			t.Fatal("a slot was had beyond the bound")
		}
		s.resize(2)
		if err := <-had; err != nil {
			t.Fatal(err)
		}
		wantSlots(t, s, 2, 2, false)
	})
}
