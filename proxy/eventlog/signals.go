package eventlog

import (
	"context"
	"sync"

	"github.com/apbridge/apbridge/mapping/pause"
)

// bells wake readers that wait for something to happen on a thread. Safe for concurrent use; the zero value is ready.
type bells struct {
	mu sync.Mutex
	of map[string]*bell
}

type bell struct {
	rung   chan struct{}            // closed and renewed by every ring
	beside map[string]chan struct{} // by run: closed and left out by a ring that is not for it alone
	users  int
}

// enter returns a thread's bell; leave must follow.
func (b *bells) enter(threadID string) *bell {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.of == nil {
		b.of = map[string]*bell{}
	}
	one, ok := b.of[threadID]
	if !ok {
		one = &bell{rung: make(chan struct{}), beside: map[string]chan struct{}{}}
		b.of[threadID] = one
	}
	one.users++
	return one
}

func (b *bells) leave(threadID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if one := b.of[threadID]; one != nil {
		if one.users--; one.users == 0 {
			delete(b.of, threadID)
		}
	}
}

// next is closed at the next ring.
func (b *bells) next(one *bell) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return one.rung
}

// beside is closed at the next ring that is not for a run alone: readers of the run hear of what is published of it by
// its buffer.
func (b *bells) beside(one *bell, runID string) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	rung, ok := one.beside[runID]
	if !ok {
		rung = make(chan struct{})
		one.beside[runID] = rung
	}
	return rung
}

// ring rings a thread's bell. runID is the run that something was published of, where nothing else has happened.
func (b *bells) ring(threadID, runID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if one := b.of[threadID]; one != nil {
		one.ring(runID)
	}
}

// ringAll rings every bell, as for something that no run alone did.
func (b *bells) ringAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.of {
		one.ring("")
	}
}

// ring is called with the lock of bells held.
func (one *bell) ring(runID string) {
	close(one.rung)
	one.rung = make(chan struct{})
	for id, rung := range one.beside {
		if id != runID {
			close(rung)
			delete(one.beside, id)
		}
	}
}

// WakeThread wakes readers that wait for something to happen on a thread.
func (l *Log) WakeThread(threadID string) { l.bells.ring(threadID, "") }

// Watch hears of a thread what happens in this process: that it is made, runs that wait, begin, are parked or end,
// their entries, updates. Of other processes it hears what is logged of runs whose log is held here (Log.Pin), that a
// run leaves the thread while others wait there, and the end of an update. Used by one goroutine; Leave must follow.
type Watch struct {
	log    *Log
	thread string
	bell   *bell
}

// Watch begins to hear of a thread.
func (l *Log) Watch(threadID string) Watch { return Watch{l, threadID, l.bells.enter(threadID)} }

// Next returns a channel that is closed when something happens. Call it before looking at the thread.
func (w Watch) Next() <-chan struct{} { return w.log.bells.next(w.bell) }

// Wait returns, with nil, when rung is closed or the thread should be looked at without that, and as soon as ctx ends,
// with its cause.
func (w Watch) Wait(ctx context.Context, rung <-chan struct{}) error {
	return pause.Until(ctx, w.log.threadPoll, rung)
}

// Leave ends the watch.
func (w Watch) Leave() { w.log.bells.leave(w.thread) }
