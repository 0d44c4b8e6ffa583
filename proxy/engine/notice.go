package engine

import (
	"context"

	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/apbridge/apbridge/proxy/store"
)

// listen handles notices from other processes. They may be lost, so all of this work is also done periodically.
func (e *Engine) listen(ctx context.Context) {
	for {
		select {
		case n := <-e.store.Notices():
			e.heard(ctx, n)
		case <-ctx.Done():
			return
		}
	}
}

func (e *Engine) heard(ctx context.Context, n store.Notice) {
	switch n.Kind {
	case store.NoticeLogged:
		e.log.Wake(n.About)
	case store.NoticePending:
		if n.About != "" {
			e.log.WakeThread(n.About)
		}
		e.wakeup.send()
	case store.NoticeStop:
		if e.runs.find(n.About) != nil {
			e.stopRequested(ctx)
		}
	case store.NoticeGone:
		e.log.Evict(n.About)
	case store.NoticeDue:
		e.store.WakeDue(n.About)
	default:
		e.store.WakeDue("")
		e.log.WakeAll()
		e.stopRequested(ctx)
		e.wakeup.send()
	}
}

// watchStops stops executions and wakes the dispatcher even if notices are lost. The lease is renewed by another
// goroutine, since the database may take long to answer.
func (e *Engine) watchStops(ctx context.Context) {
	for pause.For(ctx, beatEvery) == nil {
		if e.lease.holds() {
			e.stopRequested(ctx)
			e.wakeup.send()
		}
	}
}

// stopRequested stops the executions whose stop another process has requested.
func (e *Engine) stopRequested(ctx context.Context) {
	asked, err := e.store.Claims.StopRequests(ctx)
	if err != nil {
		if ctx.Err() == nil {
			e.logger.Warn("stop requests could not be read", errField(err))
		}
		return
	}
	for id, stop := range asked {
		if x := e.runs.find(id); x != nil {
			x.cancel(Cancellation{Reason: stop.Reason})
		}
	}
}
