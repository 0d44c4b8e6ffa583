package protocol

import (
	"sync"
	"time"
)

// beat does something again and again, each time so long after the last, until that reports false or end is called.
// What is under way then goes on.
type beat struct {
	every time.Duration
	do    func() bool

	mu    sync.Mutex
	timer *time.Timer
	ended bool
}

func newBeat(every time.Duration, do func() bool) *beat {
	b := &beat{every: every, do: do}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.timer = time.AfterFunc(every, b.strike)
	return b
}

func (b *beat) strike() {
	again := b.do()
	b.mu.Lock()
	defer b.mu.Unlock()
	if again && !b.ended {
		b.timer.Reset(b.every)
	}
}

func (b *beat) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	b.timer.Stop()
}
