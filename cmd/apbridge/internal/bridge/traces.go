package bridge

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/proxy/trace"
	"go.uber.org/zap"
)

// tracing records spans if the environment enables it, and sends the last ones at shutdown.
type tracing struct{ tracer *trace.Tracer } // nil if disabled

// Traced returns an Option that enables spans with the settings, which may be nil.
func Traced(s *trace.Settings) Option { return func(a *App) { a.tracing = newTracing(s, a.log) } }

func newTracing(s *trace.Settings, log *zap.Logger) tracing {
	if s == nil {
		return tracing{}
	}
	log.Info("sending traces", zap.String("endpoint", s.Endpoint()))
	if unread := s.Unread(); len(unread) > 0 {
		log.Warn("ignoring OpenTelemetry variables", zap.Strings("variables", unread))
	}
	return tracing{trace.New(s, Version(), log.Named("trace"))}
}

// ofCalls returns the tracer for calls to agents, or nil.
func (t tracing) ofCalls() adapter.Tracer {
	if t.tracer == nil {
		return nil
	}
	return t.tracer
}

// leastFlush is the minimum time reserved for sending the last spans.
const leastFlush = time.Second

// flushed reserves the end of the grace period for the last spans. The period begins when ctx ends. flush must be
// called when the bridge has drained.
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

// sendLast sends the remaining spans and takes no longer than most. It may be called again.
func (t tracing) sendLast(most time.Duration) {
	ctx, stop := context.WithTimeout(context.Background(), most)
	defer stop()
	t.tracer.Close(ctx)
}
