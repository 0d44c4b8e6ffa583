package proxy

import "sync"

// admission counts the requests inside and closes the door.
type admission struct {
	mu     sync.Mutex
	inside int
	closed chan struct{} // made by close; closed when none is inside
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
	if a.closed != nil && a.inside == 0 {
		close(a.closed)
	}
}

// close lets no request in any more. The channel is closed once all have left.
func (a *admission) close() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed == nil {
		a.closed = make(chan struct{})
		if a.inside == 0 {
			close(a.closed)
		}
	}
	return a.closed
}
