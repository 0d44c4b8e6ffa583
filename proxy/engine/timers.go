package engine

import (
	"sync"
	"time"
)

// timers are what is due later, by a name each. Safe for concurrent use.
type timers struct {
	Spawn func(func()) bool // begins what is due

	mu      sync.Mutex
	byName  map[string]*timer
	stopped bool
}

// timer is one of timers; a new one under the same name is another.
type timer struct{ *time.Timer }

// Set calls f once after d, in place of what was due under the same name. Nothing is called after Stop. A d of 0 is
// never.
func (t *timers) Set(name string, d time.Duration, f func()) {
	if d <= 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return
	}
	if old := t.byName[name]; old != nil {
		old.Stop()
	}
	one := &timer{}
	one.Timer = time.AfterFunc(d, func() {
		if t.take(name, one) {
			t.Spawn(f)
		}
	})
	if t.byName == nil {
		t.byName = map[string]*timer{}
	}
	t.byName[name] = one
}

// take removes a timer that has gone off; false: it was called off at the last moment.
func (t *timers) take(name string, one *timer) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byName[name] != one {
		return false
	}
	delete(t.byName, name)
	return true
}

// Has reports whether something is due under a name.
func (t *timers) Has(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byName[name] != nil
}

// Cancel calls off what is due under a name.
func (t *timers) Cancel(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.byName[name]; one != nil {
		one.Stop()
		delete(t.byName, name)
	}
}

// Stop calls off everything, now and later.
func (t *timers) Stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	for _, one := range t.byName {
		one.Stop()
	}
	clear(t.byName)
}
