package engine

import "sync"

// registry holds the executions of this process. Shutdown waits for them and for the goroutines of spawn. Safe for
// concurrent use.
type registry struct {
	work sync.WaitGroup // executions and goroutines of spawn

	mu       sync.Mutex
	live     map[string]*execution // by run
	broken   map[string]bool       // runs whose end panicked
	draining bool                  // no new runs are accepted
	stopped  bool                  // nothing more is started
}

// spawn runs f on a goroutine that Shutdown waits for. It does nothing if the engine has stopped.
func (g *registry) spawn(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.stopped {
		g.work.Go(f)
	}
}

// add adds an execution. The caller must then call remove and work.Done. It returns false if the engine has stopped.
func (g *registry) add(x *execution) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped {
		return false
	}
	if g.live == nil {
		g.live = map[string]*execution{}
	}
	g.live[x.Run.ID] = x
	g.work.Add(1)
	return true
}

func (g *registry) remove(x *execution) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.live[x.Run.ID] == x { // a parked run may already have continued
		delete(g.live, x.Run.ID)
	}
}

// find returns the execution of a run, or nil if there is none.
func (g *registry) find(runID string) *execution {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.live[runID]
}

func (g *registry) all() []*execution {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := make([]*execution, 0, len(g.live))
	for _, x := range g.live {
		list = append(list, x)
	}
	return list
}

func (g *registry) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.live)
}

// markBroken leaves a run to the next process, since it would fail here again.
func (g *registry) markBroken(runID string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.broken == nil {
		g.broken = map[string]bool{}
	}
	g.broken[runID] = true
}

// missing removes from held the runs that are executing or broken here, and returns the rest.
func (g *registry) missing(held map[string]int64) map[string]int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	for id := range held {
		if g.live[id] != nil || g.broken[id] {
			delete(held, id)
		}
	}
	return held
}

// drain makes the registry refuse new runs.
func (g *registry) drain() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.draining = true
}

func (g *registry) isDraining() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.draining
}

// stop makes the registry refuse new executions and goroutines.
func (g *registry) stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopped = true
}
