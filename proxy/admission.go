package proxy

import "sync"

// admission counts the requests in progress and can refuse new ones.
type admission struct {
	mu      sync.Mutex
	inside  int
	lasting int // number of those that end only with their clients
	idle    bool
	closed  chan struct{} // set by close; closed when only lasting requests are in progress
}

// enter reports whether the request is admitted. If so, the caller must call leave later.
func (a *admission) enter() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed != nil {
		return false
	}
	a.inside++
	return true
}

func (a *admission) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inside--
	a.settle()
}

// last marks a request that ends only with its client, so that close does not wait for it. done must be called before
// the request leaves.
func (a *admission) last() (done func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lasting++
	a.settle()
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.lasting--
	}
}

// close refuses further requests. The channel is closed when only lasting requests are left.
func (a *admission) close() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed == nil {
		a.closed = make(chan struct{})
		a.settle()
	}
	return a.closed
}

// settle closes the channel if no request is left to wait for. It must be called with the lock held.
func (a *admission) settle() {
	if a.closed != nil && !a.idle && a.inside <= a.lasting {
		a.idle = true
		close(a.closed)
	}
}
