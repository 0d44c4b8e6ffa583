package proxy

import (
	"net/http"
	"strconv"
	"sync"

	"github.com/apbridge/apbridge/mapping"
)

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

// withAdmission refuses requests while the bridge shuts down, or has more connections
// than it can serve. Those that watch it are let in always.
func (s *Server) withAdmission(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ops := s.ops[r.URL.Path]; ops {
			next.ServeHTTP(w, r)
			return
		}
		if s.connections.full() {
			s.tooMany(w, r)
			return
		}
		if !s.admission.enter() {
			w.Header().Set("Retry-After", strconv.Itoa(s.retryAfter()))
			s.refuse(w, r, mapping.Errorf(mapping.Unavailable, mapping.CodeShutdown,
				"The bridge is shutting down. Try again in a moment."))
			return
		}
		defer s.admission.leave()
		s.opt.Metrics.InFlight(1)
		defer s.opt.Metrics.InFlight(-1)
		next.ServeHTTP(w, r)
	})
}
