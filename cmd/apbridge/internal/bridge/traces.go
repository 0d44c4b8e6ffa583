package bridge

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/proxy/trace"
	"go.uber.org/zap"
)

// Traced returns an Option that has the bridge make spans, as the environment says; none where s is nil.
func Traced(s *trace.Settings) Option { return func(a *App) { a.traced(s) } }

func (a *App) traced(s *trace.Settings) {
	if s == nil {
		return
	}
	a.tracer = trace.New(s, Version(), a.log.Named("trace"))
	a.log.Info("traces are sent", zap.String("endpoint", s.Endpoint()))
	if unread := s.Unread(); len(unread) > 0 {
		a.log.Warn("variables of OpenTelemetry that say nothing to this bridge", zap.Strings("variables", unread))
	}
}

// callTracer gets the calls of agents; nil: there is none.
func (a *App) callTracer() adapter.Tracer {
	if a.tracer == nil {
		return nil
	}
	return a.tracer
}

// leastFlush is how long the last spans may take where the grace is over.
const leastFlush = time.Second

// flushed gives the last spans what is left of the grace that begins with the end of ctx. The result must be called
// when the bridge has drained.
func (a *App) flushed(ctx context.Context) (flush func()) {
	var ended atomic.Pointer[time.Time]
	stop := context.AfterFunc(ctx, func() {
		now := time.Now()
		ended.Store(&now)
	})
	return func() {
		stop()
		rest := a.cfg.ShutdownGrace
		if at := ended.Load(); at != nil {
			rest -= time.Since(*at)
		}
		a.endTraces(max(leastFlush, rest))
	}
}

// endTraces sends what is left within most. It may be called again.
func (a *App) endTraces(most time.Duration) {
	ctx, stop := context.WithTimeout(context.Background(), most)
	defer stop()
	a.tracer.Close(ctx)
}
