package eventlog

import "sync"

// bells wake readers that wait for something to happen on a thread. Safe for concurrent
// use; the zero value is ready.
type bells struct {
	mu sync.Mutex
	of map[string]*bell
}

type bell struct {
	rung  chan struct{} // closed and renewed by every ring
	users int
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
		one = &bell{rung: make(chan struct{})}
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

func (b *bells) ring(threadID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if one := b.of[threadID]; one != nil {
		close(one.rung)
		one.rung = make(chan struct{})
	}
}

// WakeThread is Wake for readers that wait for something to happen on a thread.
func (l *Log) WakeThread(threadID string) { l.bells.ring(threadID) }

// Watch hears of a thread what happens in this process: entries of its runs, updates, ends.
// Used by one goroutine; Leave must follow.
type Watch struct {
	log    *Log
	thread string
	bell   *bell
}

// Watch begins to hear of a thread.
func (l *Log) Watch(threadID string) Watch { return Watch{l, threadID, l.bells.enter(threadID)} }

// Next is closed when something happens. Take it before looking at the thread.
func (w Watch) Next() <-chan struct{} { return w.log.bells.next(w.bell) }

// Leave ends the watch.
func (w Watch) Leave() { w.log.bells.leave(w.thread) }
