package adapter

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
)

// spoken returns a dialect whose servers respond with 200 at its path, and whose backends yield its name.
func spoken(name string, asked *atomic.Int64) Dialect {
	return Dialect{
		Name: name,
		Detect: func(ctx context.Context, up Upstream) (bool, error) {
			asked.Add(1)
			req, err := http.NewRequestWithContext(ctx, "GET", up.Config.URL+"/"+name, nil)
			if err != nil {
				return false, err
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				return false, err
			}
			return res.StatusCode == 200, res.Body.Close()
		},
		Dial: func(up Upstream) (Backend, error) { return named(up.Config.Dialect), nil },
	}
}

type named string

func (n named) Run(context.Context, *Assignment) iter.Seq2[mapping.Event, error] {
	return func(yield func(mapping.Event, error) bool) {
		yield(mapping.Event{Kind: mapping.KindEnd, RunID: string(n)}, nil)
	}
}

func server(t *testing.T, path string) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func auto(url string, asked *atomic.Int64) *Auto {
	return NewAuto(Upstream{Name: "a", Config: config.Agent{URL: url, Dialect: "auto"}},
		[]Dialect{{Name: "face only"}, spoken("one", asked), spoken("two", asked)})
}

func TestAutoDetectsOnce(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	a := auto(server(t, "/two"), &asked)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if b, err := a.Resolve(t.Context()); err != nil || b != named("two") {
				t.Errorf("got %v, %v", b, err)
			}
		})
	}
	all.Wait()
	for ev, err := range a.Run(t.Context(), &Assignment{}) {
		if err != nil || ev.RunID != "two" {
			t.Errorf("run: %v, %v", ev, err)
		}
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("%d requests, want one per dialect", n)
	}
}

func TestAutoDetectsAgainAfterAFailure(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	away.Store(true)
	d := Dialect{
		Name: "late",
		Detect: func(context.Context, Upstream) (bool, error) {
			if away.Load() {
				return false, errors.New("connection refused")
			}
			return true, nil
		},
		Dial: func(up Upstream) (Backend, error) { return named(up.Config.Dialect), nil },
	}
	a := NewAuto(Upstream{Name: "a", Config: config.Agent{URL: "http://127.0.0.1:9"}}, []Dialect{d})
	for _, err := range a.Run(t.Context(), &Assignment{}) {
		if e := mapping.Classify(err); e.Code != mapping.CodeUpstreamUnreachable || e.Class != mapping.Upstream {
			t.Errorf("error %v", err)
		}
	}
	away.Store(false)
	if b, err := a.Resolve(t.Context()); err != nil || b != named("late") {
		t.Errorf("got %v, %v", b, err)
	}
}

func TestAutoFailsForAnUnknownDialect(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	_, err := auto(server(t, "/three"), &asked).Resolve(t.Context())
	if e := mapping.Classify(err); e.Code != mapping.CodeBadUpstream {
		t.Errorf("error %v", err)
	}
}

func TestAutoCallersCanLeave(t *testing.T) {
	t.Parallel()
	in, out := make(chan struct{}), make(chan struct{})
	d := Dialect{
		Name:   "slow",
		Detect: func(context.Context, Upstream) (bool, error) { close(in); <-out; return true, nil },
		Dial:   func(Upstream) (Backend, error) { return named("slow"), nil },
	}
	a := NewAuto(Upstream{}, []Dialect{d})
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		_, err := a.Resolve(ctx)
		gone <- err
	}()
	<-in
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	close(out)
	if b, err := a.Resolve(t.Context()); err != nil || b != named("slow") {
		t.Errorf("got %v, %v", b, err)
	}
}

// The detection of a hanging agent takes no longer than step_timeout.
func TestAutoDetectsNoLongerThanStepTimeout(t *testing.T) {
	t.Parallel()
	for step, want := range map[time.Duration]time.Duration{0: detectTimeout, time.Hour: detectTimeout, 3 * time.Second: 3 * time.Second} {
		var left time.Duration
		d := Dialect{
			Name: "hangs",
			Detect: func(ctx context.Context, _ Upstream) (bool, error) {
				end, _ := ctx.Deadline()
				left = time.Until(end)
				return false, context.DeadlineExceeded
			},
			Dial: func(Upstream) (Backend, error) { return named("hangs"), nil },
		}
		if _, err := NewAuto(Upstream{Config: config.Agent{StepTimeout: step}}, []Dialect{d}).Resolve(t.Context()); err == nil {
			t.Error("a hanging agent was detected")
		}
		if left > want || left < want-time.Second {
			t.Errorf("step_timeout %v: time limit %v, want %v", step, left, want)
		}
	}
}
