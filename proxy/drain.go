package proxy

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/apbridge/apbridge/mapping"
)

// drain ends the service politely. The listener stays open meanwhile: whoever
// comes is told to come back, and /readyz tells why.
func (s *Server) drain() {
	s.draining.Store(true)
	s.http.SetKeepAlivesEnabled(false)
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.ShutdownGrace)
	defer cancel()
	idle := s.intake.close()
	s.handOver(ctx)
	select {
	case <-idle:
	case <-ctx.Done():
		// What is open now is mostly streams. Their handlers return without
		// an end frame, so clients know to resume.
		s.cut(ErrShutdown)
	}
	s.finish()
}

// finish lets answers reach the wire whose handlers are returning.
func (s *Server) finish() {
	ctx, cancel := context.WithTimeout(context.Background(), s.times.winding/4)
	defer cancel()
	if err := s.http.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
		s.log.Warn("some requests did not end in time and were cut off")
	}
}

// handOver waits for the work behind the requests, but not for ever: an agent
// that hangs must not keep the process.
func (s *Server) handOver(ctx context.Context) {
	if s.opt.Drain == nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.opt.Drain(ctx)
	}()
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	s.cut(ErrShutdown)
	select {
	case <-done:
	case <-time.After(s.times.winding):
		s.log.Warn("running work did not stop in time; it is picked up at the next start")
	}
}

// intake counts the requests inside and closes the door.
type intake struct {
	mu     sync.Mutex
	inside int
	closed chan struct{} // made by close; closed when nobody is inside
}

// enter tells whether the request may come in; if so, leave must follow.
func (i *intake) enter() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed != nil {
		return false
	}
	i.inside++
	return true
}

func (i *intake) leave() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.inside--
	if i.closed != nil && i.inside == 0 {
		close(i.closed)
	}
}

// close lets nobody in any more. The channel is closed once all have left.
func (i *intake) close() <-chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed == nil {
		i.closed = make(chan struct{})
		if i.inside == 0 {
			close(i.closed)
		}
	}
	return i.closed
}

// withIntake refuses requests while the bridge shuts down, or has more connections
// than it can serve. Those that watch it are let in always.
func (s *Server) withIntake(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ops := s.ops[r.URL.Path]; ops {
			next.ServeHTTP(w, r)
			return
		}
		if s.crowd.full() {
			s.tooMany(w, r)
			return
		}
		if !s.intake.enter() {
			w.Header().Set("Retry-After", strconv.Itoa(s.retryAfter()))
			s.refuse(w, r, mapping.Errorf(mapping.Unavailable, mapping.CodeShutdown,
				"The bridge is shutting down. Try again in a moment."))
			return
		}
		defer s.intake.leave()
		s.opt.Metrics.InFlight(1)
		defer s.opt.Metrics.InFlight(-1)
		next.ServeHTTP(w, r)
	})
}

// retryAfter is in seconds: when the next process may be there.
func (s *Server) retryAfter() int { return int(s.cfg.ShutdownGrace.Seconds()) + 1 }
