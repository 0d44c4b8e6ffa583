package protocol

import (
	"context"
	"math"
	"sync"
	"time"
)

// settleTime is the pause between the last command that changes the subscriptions and the next event. A page sends
// several such commands at once and ignores events after the end of a run, so all commands must be read first.
const settleTime = 20 * time.Millisecond

// quiet lists the commands during which no events may be sent.
var quiet = map[string]bool{
	"run.start": true, "input.respond": true, "input.inject": true, "state.fork": true,
	"subscription.subscribe": true, "subscription.reconnect": true,
}

// pumping is the state of the goroutine that sends each event once for all subscriptions.
type pumping struct {
	mu    sync.Mutex
	held  bool // no events may be sent
	timer *time.Timer
	stop  context.CancelFunc // nil while no goroutine is sending
	ended chan struct{}
}

// hold stops the sending of events until release.
func (k *socket) hold() {
	p := &k.pumping
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = true
	if p.timer != nil {
		p.timer.Stop()
	}
	k.halt()
}

// release resumes sending after settleTime without further commands.
func (k *socket) release() {
	p := &k.pumping
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = false
	settle := k.s.settle
	if settle == 0 {
		settle = settleTime
	}
	p.timer = time.AfterFunc(settle, k.resume)
}

// resume sends the events of all subscriptions, each from its own position. Events of all subscriptions are sent in the
// order of the log, because SDKs do not expect events of a run after its end. So the same goroutine sends past events
// for a new subscription while the other subscriptions wait.
func (k *socket) resume() {
	p := &k.pumping
	p.mu.Lock()
	defer p.mu.Unlock()
	since, some := k.since()
	if p.held || p.stop != nil || !some {
		return
	}
	ctx, stop := context.WithCancel(k.ctx)
	ended := make(chan struct{})
	p.stop, p.ended = stop, ended
	k.working.Go(func() {
		defer close(ended)
		k.send(ctx, since)
	})
}

// since returns the position up to which all subscriptions are complete. It returns false if there are none.
func (k *socket) since() (since int64, some bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	since = math.MaxInt64
	for _, sub := range k.open {
		since = min(since, sub.behind())
	}
	return since, len(k.open) > 0
}

// halt stops sending. pumping.mu must be held.
func (k *socket) halt() {
	if p := &k.pumping; p.stop != nil {
		p.stop()
		<-p.ended
		p.stop = nil
	}
}
