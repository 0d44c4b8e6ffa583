package engine

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	startEvery  = 5 * time.Millisecond  // so often one execution begins, however many runs are being made
	startCalm   = 10 * time.Millisecond // when none was made for so long, more begin:
	startFresh  = 64                    // so many at a time,
	startOld    = 50 * time.Millisecond // of which those that take longer do not count
	startLatest = time.Second           // no execution waits longer
)

// starters has executions that nobody waits for give way to requests for runs:
// in a crowd of those, a request would wait behind the work of all runs that
// were accepted before it. Nor do they begin all at once when the crowd has
// gone, each with a connection to its agent. Who comes alone begins at once.
// Safe for concurrent use.
type starters struct {
	mu      sync.Mutex
	making  int        // runs that are being made durable
	made    time.Time  // when the last one was
	begun   time.Time  // when an execution was let begin last
	fresh   []*starter // what has begun a short time ago
	waiting []*starter // in the order of their coming
}

// starter is an execution that nobody waits for.
type starter struct {
	since time.Time     // it came, then began
	turn  chan struct{} // closed when it may begin
	ended bool
}

// make brackets the making of a run.
func (s *starters) make() (made func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.making++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.making--
		s.made = time.Now()
	}
}

// await returns when an execution may begin, or ctx has ended; end must follow.
func (s *starters) await(ctx context.Context) (end func()) {
	w := s.join()
	select {
	case <-w.turn:
	case <-ctx.Done():
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		w.ended = true
	}
}

// join lets an execution begin, or queues it.
func (s *starters) join() *starter {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &starter{since: time.Now(), turn: make(chan struct{})}
	s.waiting = append(s.waiting, w)
	switch {
	case len(s.waiting) > 1: // a tick is to come
	case w.since.Sub(s.begun) >= startEvery:
		s.forget(w.since)
		s.begin(w.since)
	default:
		time.AfterFunc(startEvery, s.tick)
	}
	return w
}

// tick lets those begin whose turn it is, and comes again while others wait.
func (s *starters) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for n := s.due(now); n > 0 && len(s.waiting) > 0; n-- {
		s.begin(now)
	}
	if len(s.waiting) > 0 {
		time.AfterFunc(startEvery, s.tick)
	}
}

// begin lets the first begin. The lock must be held.
func (s *starters) begin(now time.Time) {
	w := s.waiting[0]
	s.waiting = slices.Delete(s.waiting, 0, 1)
	w.since, s.begun = now, now
	s.fresh = append(s.fresh, w)
	close(w.turn)
}

// due is how many may begin now. The lock must be held.
func (s *starters) due(now time.Time) int {
	s.forget(now)
	n := 1
	if s.making == 0 && now.Sub(s.made) >= startCalm {
		n = max(n, startFresh-len(s.fresh))
	}
	for n < len(s.waiting) && now.Sub(s.waiting[n].since) >= startLatest {
		n++
	}
	return n
}

// forget drops what is fresh no more. The lock must be held.
func (s *starters) forget(now time.Time) {
	s.fresh = slices.DeleteFunc(s.fresh, func(w *starter) bool { return w.ended || now.Sub(w.since) >= startOld })
}
