package engine

import (
	"context"

	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/apbridge/apbridge/proxy/store"
)

// listen is woken by what other processes have committed. Everything it does is done now and then anyway: notices may
// be lost.
func (p *peers) listen(ctx context.Context) {
	for {
		select {
		case n := <-p.database.Notices():
			p.heard(ctx, n)
		case <-ctx.Done():
			return
		}
	}
}

func (p *peers) heard(ctx context.Context, n store.Notice) {
	switch n.Kind {
	case store.NoticeLogged:
		p.log.Wake(n.About)
	case store.NoticePending:
		if n.About != "" {
			p.log.WakeThread(n.About)
		}
		p.bell.wake()
	case store.NoticeStop:
		if p.running.find(n.About) != nil {
			p.stopAsked(ctx)
		}
	case store.NoticeGone:
		p.log.Removed(n.About)
	case store.NoticeDue:
		p.database.RingDue(n.About)
	default:
		p.database.RingDue("")
		p.log.WakeAll()
		p.stopAsked(ctx)
		p.bell.wake()
	}
}

// watchStops does what a lost notice would have had done: it stops executions, and has waiting runs looked for. The
// database may take long to answer, for which the lease cannot wait.
func (p *peers) watchStops(ctx context.Context) {
	for pause.For(ctx, beatEvery) == nil {
		if p.lease.holds() {
			p.stopAsked(ctx)
			p.bell.wake()
		}
	}
}

// stopAsked stops the executions that another process wants stopped.
func (p *peers) stopAsked(ctx context.Context) {
	asked, err := p.claims.StopRequests(ctx)
	if err != nil {
		if ctx.Err() == nil {
			p.zap.Warn("requests to stop runs could not be read", errField(err))
		}
		return
	}
	for id, stop := range asked {
		if x := p.running.find(id); x != nil {
			x.cancel(Cancellation{Reason: stop.Reason})
		}
	}
}
