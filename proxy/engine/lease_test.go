package engine_test

import (
	"context"
	"database/sql"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
)

// unbeaten is an engine whose lease only the test renews; on PostgreSQL it is renewed every three seconds.
func unbeaten(t *testing.T, s *script) *bench {
	t.Helper()
	return open(t, filepath.Join(t.TempDir(), "bridge.db"), s)
}

// poster changes something at an agent, like a backend.
func poster(t *testing.T, url string) func(context.Context) error {
	client := upstream.New(adapter.Upstream{Name: "a"}, upstream.Options{Root: url})
	t.Cleanup(client.CloseIdle)
	return func(ctx context.Context) error {
		_, err := client.Once(ctx, &upstream.Call{Method: http.MethodPost})
		return err
	}
}

// TestNothingIsSentAfterTheLease suspends the process after a step is committed and before the next one is requested.
// Another process may continue by then, so nothing is sent and the run is left unchanged.
func TestNothingIsSentAfterTheLease(t *testing.T) {
	t.Parallel()
	var posts atomic.Int64
	agent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { posts.Add(1) }))
	t.Cleanup(agent.Close)
	post := poster(t, agent.URL)
	s := &script{exposes: mapping.ExposesNothing}
	b := unbeaten(t, s)
	b.Lease(time.Minute)
	before, after := make(chan error, 1), make(chan error, 1)
	s.run = func(ctx context.Context, task adapter.Assignment, yield func(mapping.Event, error) bool) {
		before <- post(ctx)
		link := &mapping.Link{Agent: "a", TaskID: task.TaskID, Remote: "t"}
		yield(mapping.Event{RunID: task.Run.ID, Kind: mapping.KindLinked, Head: mapping.Head{Link: link}}, nil)
		yield(rule.StepUpdate(task.Run.ID, task.TaskID, 1, mapping.StepInfo{ID: "1", Output: []byte(`"one"`)}, nil, mapping.ApprovalAuto), nil)
		eventually(t, "the step is committed", func() bool {
			logged, err := b.st.Events.List(context.WithoutCancel(ctx), task.Run.ThreadID, task.Run.ID, 0, 0)
			return err == nil && len(logged) > 0 && logged[len(logged)-1].Head.Step != nil
		})
		b.Suspend(2 * time.Minute)
		err := post(ctx)
		after <- err
		yield(mapping.Event{}, mapping.Classify(err))
	}
	r := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
	if err := <-before; err != nil || posts.Load() != 1 {
		t.Fatalf("under the lease: %v, %d calls arrived", err, posts.Load())
	}
	if err := <-after; err == nil || posts.Load() != 1 {
		t.Errorf("after the lease: %v, %d calls arrived", err, posts.Load())
	}
	eventually(t, "the run leaving", func() bool { return b.Live() == 0 })
	if s := b.status(t, r); s == mapping.RunError || s == mapping.RunInterrupted {
		t.Errorf("the run is %s, though another process may be executing it", s)
	}
}

// TestNothingIsSentUnderALaterLease checks that a call outside an execution, such as a state update, is not sent after
// the lease it began under has ended, even if there is a new lease.
func TestNothingIsSentUnderALaterLease(t *testing.T) {
	t.Parallel()
	var posts atomic.Int64
	agent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { posts.Add(1) }))
	t.Cleanup(agent.Close)
	post := poster(t, agent.URL)
	b := unbeaten(t, &script{exposes: mapping.ExposesNothing, run: twoSteps})
	b.Lease(time.Minute)
	ctx, stop := b.UnderLease(t.Context())
	defer stop()
	if err := post(ctx); err != nil || posts.Load() != 1 {
		t.Fatalf("under the lease: %v, %d calls arrived", err, posts.Load())
	}
	for name, lose := range map[string]func(){
		"suspended": func() { b.Suspend(2 * time.Minute) },
		"renewed":   func() { b.Lapse(); b.Lease(time.Minute) },
	} {
		b.Lease(time.Minute)
		ctx, stop := b.UnderLease(t.Context())
		lose()
		if err := post(ctx); err == nil || posts.Load() != 1 || ctx.Err() == nil {
			t.Errorf("%s: %v, %d calls arrived", name, err, posts.Load())
		}
		stop()
	}
}

// Go's monotonic clock stops while the machine is suspended.
func TestSuspendedMachineHoldsNoLease(t *testing.T) {
	t.Parallel()
	b := unbeaten(t, &script{exposes: mapping.ExposesNothing, run: twoSteps})
	b.Lease(time.Hour)
	b.Suspend(58 * time.Minute)
	if out := b.end(t, b.begin(t, order(mapping.NewID(), mapping.StrategyReject))); out.Status != mapping.RunSuccess {
		t.Fatalf("a run under the lease ended with %s", out.Status)
	}
	b.Suspend(2 * time.Minute)
	if r := b.begin(t, order(mapping.NewID(), mapping.StrategyReject)); b.Live() != 0 || b.status(t, r) != mapping.RunPending {
		t.Errorf("a run is %s after the lease, want pending", b.status(t, r))
	}
	b.Lease(time.Minute)
}

// The timeout of a run does not restart when another process takes it over.
func TestRunTimeoutContinuesAcrossTakeovers(t *testing.T) {
	t.Parallel()
	hour := func(a *config.Agent) { a.RunTimeout = time.Hour }
	for ago, over := range map[time.Duration]bool{59 * time.Minute: false, 61 * time.Minute: true, -time.Hour: false} {
		t.Run(ago.String(), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "bridge.db")
			started := make(chan struct{}, 1)
			b := open(t, path, &script{exposes: mapping.ExposesNothing, run: waiting(started)}, hour)
			r := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
			<-started
			b.close()
			db, err := sql.Open("sqlite", "file:"+path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.Exec(`UPDATE runs SET started_us = started_us - ?`, ago.Microseconds()); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			again := open(t, path, &script{exposes: mapping.ExposesNothing, run: func(ctx context.Context, task adapter.Assignment, yield func(mapping.Event, error) bool) {
				if ctx.Err() != nil {
					yield(mapping.Event{}, mapping.Classify(context.Cause(ctx)))
					return
				}
				twoSteps(ctx, task, yield)
			}}, hour)
			want := mapping.RunSuccess
			if over {
				want = mapping.RunTimeout
			}
			if out := again.end(t, r); out.Status != want {
				t.Errorf("the run ended with %s, want %s", out.Status, want)
			}
		})
	}
}

// A state update, which belongs to no run, is sent to an agent while the lease ends. Nothing more of it is sent, even
// under a new lease, since the protection against other processes has lapsed.
func TestCallsOutsideRunsEndWithTheLease(t *testing.T) {
	t.Parallel()
	var posts atomic.Int64
	agent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { posts.Add(1) }))
	t.Cleanup(agent.Close)
	post := poster(t, agent.URL)
	b := unbeaten(t, &script{exposes: mapping.ExposesNothing})
	b.Lease(time.Minute)
	under, end := b.UnderLease(t.Context())
	defer end()
	tell := func() error {
		// The context itself may have ended; the permit must suffice.
		return post(context.WithoutCancel(under))
	}
	if err := tell(); err != nil || posts.Load() != 1 {
		t.Fatalf("under the lease: %v, %d calls arrived", err, posts.Load())
	}
	b.Suspend(2 * time.Minute)
	if err := tell(); err == nil || posts.Load() != 1 {
		t.Errorf("after the lease: %v, %d calls arrived", err, posts.Load())
	}
	b.Lease(time.Minute)
	if err := tell(); err == nil || under.Err() == nil || posts.Load() != 1 {
		t.Errorf("under a new lease: %v, %d calls arrived", err, posts.Load())
	}
}
