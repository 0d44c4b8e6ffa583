package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
)

// paced is an agent whose one step takes as long as took says, and then waits for
// held, where that is set.
type paced struct {
	script
	took time.Duration
	held chan struct{}
}

func newPaced() *paced {
	p := &paced{script: script{opaque: true}}
	p.run = func(ctx context.Context, task adapter.Task, yield func(mapping.Event, error) bool) {
		_ = yield(linked("up"), nil)
		<-time.After(p.took) // the time of an agent's step is what is tested
		if !yield(step(task, 1, "x", true), nil) {
			return
		}
		if p.held != nil {
			p.held <- struct{}{}
			<-ctx.Done()
			return
		}
		_ = yield(ended(mapping.RunSuccess), nil)
	}
	return p
}

func staying() engine.Order {
	o := order(mapping.NewID(), mapping.StrategyReject)
	o.Stays = true
	return o
}

// stay begins a run for who waits for its end, and waits where it is executed
// elsewhere.
func (b *bench) stay(t *testing.T) (engine.Begun, bool) {
	t.Helper()
	c, err := b.Begin(t.Context(), staying())
	if err != nil {
		t.Fatal(err)
	}
	if c.Work == nil {
		b.read(t, c.Run)
	}
	return c, c.Work != nil
}

// untilLeft begins runs until the agent is known for a quick one, so that a run is left
// to who stays. Its work has not begun.
func (b *bench) untilLeft(t *testing.T) engine.Begun {
	t.Helper()
	for range 500 { // a busy machine makes any agent slow for a while
		if c, left := b.stay(t); left {
			return c
		}
	}
	t.Fatal("the run of a quick agent was not left to who stays")
	return engine.Begun{}
}

// TestWhoStaysExecutesTheRunOfAQuickAgent, and nobody else's: of one that is not
// known, or slow, nobody waits longer than for a reader's goroutine.
func TestWhoStaysExecutesTheRunOfAQuickAgent(t *testing.T) {
	t.Parallel()
	p := newPaced()
	b := setup(t, &p.script)
	p.took = 40 * time.Millisecond
	if _, left := b.stay(t); left {
		t.Error("the run of an agent that nobody knows was left to who stays")
	}
	if _, left := b.stay(t); left {
		t.Error("the run of a slow agent was left to who stays")
	}
	p.took = 0
	b.untilLeft(t).Work()
	other, err := b.Begin(t.Context(), order(mapping.NewID(), mapping.StrategyReject))
	if err != nil || other.Work != nil {
		t.Fatalf("a run that nobody stays for was left to its maker (%v)", err)
	}
	b.read(t, other.Run)
	c := b.untilLeft(t)
	before := p.runs.Load()
	if s := b.status(t, c.Run); s != mapping.RunRunning || b.Live() == 0 {
		t.Errorf("before its work the run is %s, and %d are live", s, b.Live())
	}
	c.Work()
	if n := p.runs.Load() - before; n != 1 {
		t.Errorf("the agent was asked %d times", n)
	}
	if s := b.status(t, c.Run); s != mapping.RunSuccess {
		t.Errorf("after its work the run is %s", s)
	}
}

// A run on its caller's goroutine is stopped and handed over like any other.
func TestARunOnItsCallersGoroutineCanBeStopped(t *testing.T) {
	t.Parallel()
	for what, stop := range map[string]func(b *bench, r mapping.Run) error{
		"cancelled": func(b *bench, r mapping.Run) error { return b.Cancel(context.Background(), r, false) },
		"handed over": func(b *bench, _ mapping.Run) error {
			b.Shutdown(cancelledContext())
			return nil
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := newPaced()
			b := setup(t, &p.script)
			c := b.untilLeft(t)
			p.held = make(chan struct{})
			stopped := make(chan error, 1)
			go func() {
				<-p.held
				stopped <- stop(b, c.Run)
			}()
			c.Work()
			if err := <-stopped; err != nil {
				t.Fatal(err)
			}
			want := mapping.RunInterrupted
			if what == "handed over" {
				want = mapping.RunRunning
			}
			if s := b.status(t, c.Run); s != want {
				t.Errorf("the run is %s, not %s", s, want)
			}
			eventually(t, "the run is off the books", func() bool { return b.Live() == 0 })
		})
	}
}
