package proxy

import (
	"context"
	"errors"
	"time"
)

// drain ends the service politely. The listener stays open meanwhile: a new request is told to come back, and /readyz
// tells why.
func (s *Server) drain() {
	s.ops.draining.Store(true)
	s.http.SetKeepAlivesEnabled(false)
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.ShutdownGrace)
	defer cancel()
	idle := s.door.admission.close()
	s.handOver(ctx)
	select {
	case <-idle:
	case <-ctx.Done():
	}
	// What is open now is streams, mostly of threads whose runs have ended. Their handlers return without an end frame,
	// so clients know to resume.
	s.cut(ErrShutdown)
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

// handOver waits for the work behind the requests, but not for ever: an agent that hangs must not keep the process.
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
		s.log.Warn("running work did not stop in time; it resumes at the next start")
	}
}
