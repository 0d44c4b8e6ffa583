package engine

import (
	"context"

	"github.com/apbridge/apbridge/proxy/store"
)

// listen is woken by what other processes have committed. Everything it does is done now and then anyway: notices may
// be lost.
func (e peers) listen(ctx context.Context) {
	for {
		select {
		case n := <-e.st.Notices():
			e.heard(ctx, n)
		case <-ctx.Done():
			return
		}
	}
}

func (e peers) heard(ctx context.Context, n store.Notice) {
	switch n.Kind {
	case store.NoticeLogged:
		e.log.Wake(n.About)
	case store.NoticePending:
		if n.About != "" {
			e.log.WakeThread(n.About)
		}
		e.dispatch.wake()
	case store.NoticeStop:
		if e.running.find(n.About) != nil {
			e.stopAsked(ctx)
		}
	case store.NoticeGone:
		e.log.Removed(n.About)
	case store.NoticeDue:
		e.st.RingDue(n.About)
	default:
		e.st.RingDue("")
		e.log.WakeAll()
		e.stopAsked(ctx)
		e.dispatch.wake()
	}
}

// stopAsked stops the executions that another process wants stopped.
func (e peers) stopAsked(ctx context.Context) {
	asked, err := e.st.Claims.StopRequests(ctx)
	if err != nil {
		if ctx.Err() == nil {
			e.zap.Warn("requests to stop runs could not be read", errField(err))
		}
		return
	}
	for id, stop := range asked {
		if x := e.running.find(id); x != nil {
			x.cancel(Cancellation{Reason: stop.Reason})
		}
	}
}
