package protocol

import (
	"sync"
	"time"
)

// heartbeat calls a function repeatedly, with a fixed pause between calls, until the function returns false or stop is
// called. stop does not interrupt a call in progress.
type heartbeat struct {
	every time.Duration
	do    func() bool

	mu    sync.Mutex
	timer *time.Timer
	ended bool
}

func newHeartbeat(every time.Duration, do func() bool) *heartbeat {
	b := &heartbeat{every: every, do: do}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.timer = time.AfterFunc(every, b.strike)
	return b
}

func (b *heartbeat) strike() {
	again := b.do()
	b.mu.Lock()
	defer b.mu.Unlock()
	if again && !b.ended {
		b.timer.Reset(b.every)
	}
}

func (b *heartbeat) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	b.timer.Stop()
}
