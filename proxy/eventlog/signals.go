package eventlog

import (
	"context"
	"sync"

	"github.com/apbridge/apbridge/mapping/pause"
)

// threadSignals wake readers that wait for something to happen on a thread. Safe for concurrent use; the zero value is
// ready.
type threadSignals struct {
	mu sync.Mutex
	of map[string]*threadSignal
}

type threadSignal struct {
	rung   chan struct{}            // closed and renewed by every notification
	beside map[string]chan struct{} // by run: closed and left out by a notification that is not for it alone
	users  int
}

// enter returns a thread's signal; leave must follow.
func (b *threadSignals) enter(threadID string) *threadSignal {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.of == nil {
		b.of = map[string]*threadSignal{}
	}
	one, ok := b.of[threadID]
	if !ok {
		one = &threadSignal{rung: make(chan struct{}), beside: map[string]chan struct{}{}}
		b.of[threadID] = one
	}
	one.users++
	return one
}

func (b *threadSignals) leave(threadID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if one := b.of[threadID]; one != nil {
		if one.users--; one.users == 0 {
			delete(b.of, threadID)
		}
	}
}

// next is closed at the next notification.
func (b *threadSignals) next(one *threadSignal) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return one.rung
}

// beside is closed at the next notification that is not for a run alone: readers of the run hear of what is published
// of it by its buffer.
func (b *threadSignals) beside(one *threadSignal, runID string) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	rung, ok := one.beside[runID]
	if !ok {
		rung = make(chan struct{})
		one.beside[runID] = rung
	}
	return rung
}

// notify wakes the readers of a thread. runID is the run that something was published of, where nothing else has
// happened.
func (b *threadSignals) notify(threadID, runID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if one := b.of[threadID]; one != nil {
		one.notify(runID)
	}
}

// notifyAll wakes the readers of every thread, as for something that no run alone did.
func (b *threadSignals) notifyAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.of {
		one.notify("")
	}
}

// notify is called with the lock of signals held.
func (one *threadSignal) notify(runID string) {
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
func (l *Log) WakeThread(threadID string) { l.signals.notify(threadID, "") }

// Waiter hears of a thread what happens in this process: that it is made, runs that wait, begin, are parked or end,
// their entries, updates. Of other processes it hears what is logged of runs whose log is held here (Log.Retain), that
// a run leaves the thread while others wait there, and the end of an update. Used by one goroutine; Leave must follow.
type Waiter struct {
	log    *Log
	thread string
	signal *threadSignal
}

// Watch begins to hear of a thread.
func (l *Log) Watch(threadID string) Waiter { return Waiter{l, threadID, l.signals.enter(threadID)} }

// Next returns a channel that is closed when something happens. Call it before looking at the thread.
func (w Waiter) Next() <-chan struct{} { return w.log.signals.next(w.signal) }

// Wait returns, with nil, when rung is closed or the thread should be looked at without that, and as soon as ctx ends,
// with its cause.
func (w Waiter) Wait(ctx context.Context, rung <-chan struct{}) error {
	return pause.Until(ctx, w.log.threadPoll, rung)
}

// Leave ends the watch.
func (w Waiter) Leave() { w.log.signals.leave(w.thread) }
