package proxy

import (
	"context"
	"errors"
	"time"
)

// drain shuts the service down gracefully. The listener stays open: new requests get 503 with Retry-After, and /readyz
// reports the reason.
func (s *Server) drain() {
	s.ops.draining.Store(true)
	s.http.SetKeepAlivesEnabled(false)
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.ShutdownGrace)
	defer cancel()
	idle := s.admission.requests.close()
	s.handOver(ctx)
	select {
	case <-idle:
	case <-ctx.Done():
	}
	// The remaining requests are streams, mostly of threads whose runs have ended. Their handlers return without an end
	// frame, so clients know that they can resume.
	s.cut(ErrShutdown)
	s.finish()
}

// finish waits until the responses of returning handlers are sent.
func (s *Server) finish() {
	ctx, cancel := context.WithTimeout(context.Background(), s.times.winding/4)
	defer cancel()
	if err := s.http.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
		s.log.Warn("some requests did not finish in time and were cut off")
	}
}

// handOver waits for the work behind the requests, but only for a limited time, since an agent that hangs must not keep
// the process alive.
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
