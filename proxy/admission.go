package proxy

import "sync"

// admission counts the requests inside and closes the door.
type admission struct {
	mu      sync.Mutex
	inside  int
	lasting int // of those inside: they end with their clients alone
	idle    bool
	closed  chan struct{} // made by close; closed when none is inside that ends by itself
}

// enter reports whether the request may come in; if so, leave must follow.
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

// last notes that a request inside ends with its client alone: close does not wait for it. done must be called before
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

// close lets no request in any more. The channel is closed once all have left that end by themselves.
func (a *admission) close() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed == nil {
		a.closed = make(chan struct{})
		a.settle()
	}
	return a.closed
}

// settle is called, under the lock, when there may be none left to wait for.
func (a *admission) settle() {
	if a.closed != nil && !a.idle && a.inside <= a.lasting {
		a.idle = true
		close(a.closed)
	}
}
