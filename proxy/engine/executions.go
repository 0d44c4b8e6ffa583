package engine

import "sync"

// executions are those of this process, and what else goes on in it until the engine has stopped. Safe for concurrent
// use.
type executions struct {
	work sync.WaitGroup // executions, and what spawn began

	mu       sync.Mutex
	live     map[string]*execution // by run
	broken   map[string]bool       // runs whose end panicked
	draining bool                  // no new runs are taken
	stopped  bool                  // nothing is started any more
}

// spawn runs f beside everything else; Shutdown waits for it. false: too late.
func (l *executions) spawn(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return false
	}
	l.work.Go(f)
	return true
}

// enlist puts an execution on the books, which Shutdown waits for: remove and then work.Done must follow. false: too
// late.
func (l *executions) enlist(x *execution) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return false
	}
	if l.live == nil {
		l.live = map[string]*execution{}
	}
	l.live[x.Run.ID] = x
	l.work.Add(1)
	return true
}

func (l *executions) remove(x *execution) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.live[x.Run.ID] == x { // a parked run may be going on already
		delete(l.live, x.Run.ID)
	}
}

// find returns the execution of a run, nil for none.
func (l *executions) find(runID string) *execution {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.live[runID]
}

func (l *executions) all() []*execution {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]*execution, 0, len(l.live))
	for _, x := range l.live {
		list = append(list, x)
	}
	return list
}

func (l *executions) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.live)
}

// markBroken leaves a run to the next process: this one would fail at it again and again.
func (l *executions) markBroken(runID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken == nil {
		l.broken = map[string]bool{}
	}
	l.broken[runID] = true
}

// missing returns those of the held runs that are neither executed nor broken. It takes the others out of held.
func (l *executions) missing(held map[string]int64) map[string]int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id := range held {
		if l.live[id] != nil || l.broken[id] {
			delete(held, id)
		}
	}
	return held
}

// drain has no new runs taken.
func (l *executions) drain() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.draining = true
}

func (l *executions) isDraining() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.draining
}

// stop has nothing new started.
func (l *executions) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
}
