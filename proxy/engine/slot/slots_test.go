package slot

import (
	"context"
	"testing"
	"testing/synctest"
)

// wants compares what is used and allowed, and whether one more may be had, which it gives back.
func wants(t *testing.T, s *Slots, used, all int, more bool) {
	t.Helper()
	if u, a := s.State(); u != used || a != all {
		t.Errorf("%d of %d are used, want %d of %d", u, a, used, all)
	}
	got := s.TryAcquire()
	if got {
		s.Release()
	}
	if got != more {
		t.Errorf("one more: %v", got)
	}
}

func TestSlotsAreResized(t *testing.T) {
	t.Parallel()
	s := New(2)
	wants(t, s, 0, 2, true)
	s.TryAcquire()
	s.TryAcquire()
	wants(t, s, 2, 2, false)
	s.Resize(3)
	wants(t, s, 2, 3, true)
	s.Resize(1) // both go on, and one more is let in only after both
	wants(t, s, 2, 1, false)
	s.Release()
	wants(t, s, 1, 1, false)
	s.Release()
	wants(t, s, 0, 1, true)
	s.TryAcquire()
	s.Take()
	wants(t, s, 2, 1, false)
	s.Resize(3)
	wants(t, s, 2, 3, true)
	s.Release()
	s.Release()
	wants(t, s, 0, 3, true)
}

// TestASlotIsWaitedFor: a larger bound lets in what waits, and an end of waiting takes nothing.
func TestASlotIsWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(1)
		s.TryAcquire()
		had := make(chan error, 1)
		go func() { had <- s.Acquire(t.Context()) }()
		left, leave := context.WithCancel(t.Context())
		go func() { had <- s.Acquire(left) }()
		synctest.Wait()
		leave()
		if err := <-had; err == nil {
			t.Fatal("a slot was had beyond the bound")
		}
		s.Resize(2)
		if err := <-had; err != nil {
			t.Fatal(err)
		}
		wants(t, s, 2, 2, false)
	})
}
