package engine

import "sync/atomic"

// doorbell is what the dispatcher waits for. Safe for concurrent use.
type doorbell struct {
	rung    chan struct{}
	waiting atomic.Bool // there may be runs to start
}

func newDoorbell() *doorbell { return &doorbell{rung: make(chan struct{}, 1)} }

// wake schedules a look at the pending runs.
func (b *doorbell) wake() {
	select {
	case b.rung <- struct{}{}:
	default:
	}
}

// Freed has the runs that wait looked at: a thread, or a slot, may be free for them. It costs nothing while no run
// waits.
func (b *doorbell) Freed() {
	if b.waiting.Load() {
		b.wake()
	}
}

// release gives a slot back. Runs that had to wait, maybe for this very slot, are looked at again.
func (b *doorbell) release(agent *Agent) {
	agent.release()
	b.Freed()
}

// giveBack is release of a slot that was acquired, if it was.
func (b *doorbell) giveBack(agent *Agent, acquired bool) {
	if acquired {
		b.release(agent)
	}
}
