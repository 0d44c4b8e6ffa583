package bridge

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/proxy/trace"
	"go.uber.org/zap"
)

// tracing makes spans, if the environment says so, and sends the last of them at the end.
type tracing struct{ tracer *trace.Tracer } // nil: none are made

// Traced returns an Option that has the bridge make spans, as the environment says; none where s is nil.
func Traced(s *trace.Settings) Option { return func(a *App) { a.tracing = newTracing(s, a.log) } }

func newTracing(s *trace.Settings, log *zap.Logger) tracing {
	if s == nil {
		return tracing{}
	}
	log.Info("sending traces", zap.String("endpoint", s.Endpoint()))
	if unread := s.Unread(); len(unread) > 0 {
		log.Warn("OpenTelemetry variables without effect here", zap.Strings("variables", unread))
	}
	return tracing{trace.New(s, Version(), log.Named("trace"))}
}

// ofCalls gets the calls of agents; nil: there is none.
func (t tracing) ofCalls() adapter.Tracer {
	if t.tracer == nil {
		return nil
	}
	return t.tracer
}

// leastFlush is how long the last spans may take where the grace is over.
const leastFlush = time.Second

// flushed gives the last spans what is left of the grace that begins with the end of ctx. The result must be called
// when the bridge has drained.
func (t tracing) flushed(ctx context.Context, grace time.Duration) (flush func()) {
	var ended atomic.Pointer[time.Time]
	stop := context.AfterFunc(ctx, func() {
		now := time.Now()
		ended.Store(&now)
	})
	return func() {
		stop()
		rest := grace
		if at := ended.Load(); at != nil {
			rest -= time.Since(*at)
		}
		t.sendLast(max(leastFlush, rest))
	}
}

// sendLast sends what is left within most. It may be called again.
func (t tracing) sendLast(most time.Duration) {
	ctx, stop := context.WithTimeout(context.Background(), most)
	defer stop()
	t.tracer.Close(ctx)
}
