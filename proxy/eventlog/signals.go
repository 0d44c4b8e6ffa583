package eventlog

import (
	"context"
	"sync"

	"github.com/apbridge/apbridge/mapping/pause"
)

// threadSignals wakes readers that wait for activity on a thread. The zero value is ready to use. Safe for concurrent
// use.
type threadSignals struct {
	mu sync.Mutex
	of map[string]*threadSignal
}

type threadSignal struct {
	ch       chan struct{}            // closed and replaced by every notification
	ofOthers map[string]chan struct{} // by run: closed and removed by a notification that is not only for it
	users    int
}

// enter returns a thread's signal. The caller must call leave.
func (b *threadSignals) enter(threadID string) *threadSignal {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.of == nil {
		b.of = map[string]*threadSignal{}
	}
	one, ok := b.of[threadID]
	if !ok {
		one = &threadSignal{ch: make(chan struct{}), ofOthers: map[string]chan struct{}{}}
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

// next returns a channel that is closed at the next notification.
func (b *threadSignals) next(one *threadSignal) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return one.ch
}

// nextOfOthers returns a channel that is closed at the next notification that is not only about the run. Readers of the run
// learn about published entries from its buffer.
func (b *threadSignals) nextOfOthers(one *threadSignal, runID string) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	ch, ok := one.ofOthers[runID]
	if !ok {
		ch = make(chan struct{})
		one.ofOthers[runID] = ch
	}
	return ch
}

// notify wakes the readers of a thread. runID is the run whose entries were published, or "" if something else
// happened.
func (b *threadSignals) notify(threadID, runID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if one := b.of[threadID]; one != nil {
		one.notify(runID)
	}
}

// notifyAll wakes the readers of every thread.
func (b *threadSignals) notifyAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.of {
		one.notify("")
	}
}

// notify must be called with the lock of threadSignals held.
func (one *threadSignal) notify(runID string) {
	close(one.ch)
	one.ch = make(chan struct{})
	for id, ch := range one.ofOthers {
		if id != runID {
			close(ch)
			delete(one.ofOthers, id)
		}
	}
}

// WakeThread wakes readers that wait for activity on a thread.
func (l *Log) WakeThread(threadID string) { l.signals.notify(threadID, "") }

// Waiter waits for activity on a thread. It reports activity in this process: the thread's creation, state updates,
// entries of its runs, and runs that are queued, begin, are parked or end. From other processes it reports entries of
// runs whose log is retained here (Log.Retain), a run that leaves the thread while others wait there, and the end of a
// state update. Not safe for concurrent use. The caller must call Leave.
type Waiter struct {
	log    *Log
	thread string
	signal *threadSignal
}

// Watch starts waiting for activity on a thread.
func (l *Log) Watch(threadID string) Waiter { return Waiter{l, threadID, l.signals.enter(threadID)} }

// Next returns a channel that is closed at the next activity. Call it before looking at the thread.
func (w Waiter) Next() <-chan struct{} { return w.log.signals.next(w.signal) }

// Wait returns nil when changed is closed or when it is time to look at the thread anyway. It returns the cause of
// ctx's end as soon as ctx ends.
func (w Waiter) Wait(ctx context.Context, changed <-chan struct{}) error {
	return pause.Until(ctx, w.log.threadPoll, changed)
}

// Leave stops waiting.
func (w Waiter) Leave() { w.log.signals.leave(w.thread) }
