package eventlog_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

// An entry of another run between the entries of a run is reported to idle before the reader waits again; otherwise a
// client would get it late. Time passes only while all goroutines wait.
func TestFollowersOfAThreadAreIdleAfterInterleavedEvents(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	synctest.Test(t, func(t *testing.T) {
		b, thread := open(t, path), mapping.NewID()
		first, second := b.concurrent(thread), b.concurrent(thread)
		defer first.end()
		defer second.end()
		ctx, stop := context.WithCancel(t.Context())
		got, idle, left := make(chan string, 10), make(chan int, 1000), make(chan struct{})
		go func() {
			defer close(left)
			n := 0
			for e, err := range b.FollowThread(ctx, thread, 0, func() { idle <- n }) {
				if err != nil {
					return
				}
				n++
				got <- e.RunID
			}
		}()
		defer func() { stop(); <-left }()
		<-got
		<-got
		told := 0
		hear := func(n int) {
			for told < n {
				told = <-idle
			}
		}
		hear(2)
		for n := 3; n < 8; n++ {
			second.add(some(1, 5)...)
			if run := <-got; run != second.run.ID {
				t.Fatal("another run's entry was read:", run)
			}
			came := time.Now()
			if hear(n); time.Since(came) > 0 {
				t.Fatalf("the reader waited for %s before it called idle", time.Since(came))
			}
		}
	})
}

// A token for many readers causes no queries, because no other process has written on the thread.
func TestFollowersOfAThreadQueryOnlyForOtherEvents(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	synctest.Test(t, func(t *testing.T) {
		b := open(t, path)
		thread := mapping.NewID()
		first := b.concurrent(thread)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		got := make(chan error, 10)
		go func() {
			for _, err := range b.FollowThread(ctx, thread, 0, nil) {
				got <- err
			}
		}()
		synctest.Wait()
		told := len(got)
		_ = b.st.Close()
		first.publish(1, some(3, 5)...)
		synctest.Wait()
		if len(got) != told+3 {
			t.Errorf("%d of 3 entries arrived", len(got)-told)
		}
		for range len(got) {
			if err := <-got; err != nil {
				t.Error(err)
			}
		}
		b.WakeThread(thread)
		synctest.Wait()
		if len(got) != 1 || <-got == nil {
			t.Error("it did not poll for events of others")
		}
		b.Release(first.buffer)
	})
}

// If no other process writes, an idle thread causes no queries, whether or not it has an active run. Time passes only
// while all goroutines wait.
func TestFollowersOfAQuietThreadDoNotQueryTheStore(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]bool{"a run is active": false, "no run is active": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "a.db")
			synctest.Test(t, func(t *testing.T) {
				b, thread := open(t, path), mapping.NewID()
				run := b.concurrent(thread)
				if ends {
					run.end()
				} else {
					defer b.Release(run.buffer)
				}
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				got := make(chan error, 10)
				go func() {
					for _, err := range b.FollowThread(ctx, thread, 0, nil) {
						if err != nil {
							got <- err
						}
					}
				}()
				synctest.Wait()
				_ = b.st.Close()
				time.Sleep(50 * time.Second)
				if len(got) > 0 {
					t.Fatal("it queried without a notification:", <-got)
				}
				b.WakeThread(thread)
				if err := <-got; err == nil {
					t.Error("it did not query after a notification")
				}
			})
		})
	}
}

// A caller that waits for a thread is notified of its creation with its first run, without polling. Time passes only
// while all goroutines wait.
func TestAwaitThread(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	synctest.Test(t, func(t *testing.T) {
		b := open(t, path)
		for range 20 {
			thread := mapping.NewID()
			there := make(chan error, 1)
			go func() { there <- b.AwaitThread(t.Context(), thread) }()
			synctest.Wait()
			made := time.Now()
			defer b.concurrent(thread).end()
			if err := <-there; err != nil || time.Since(made) > 0 {
				t.Fatalf("it was announced after %s: %v", time.Since(made), err)
			}
		}
		ctx, leave := context.WithCancel(t.Context())
		leave()
		if err := b.AwaitThread(ctx, mapping.NewID()); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// If no other process writes, waiting for a missing thread causes no queries until there is a notification.
func TestAwaitThreadRarelyPolls(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	synctest.Test(t, func(t *testing.T) {
		b, thread := open(t, path), mapping.NewID()
		there := make(chan error, 1)
		go func() { there <- b.AwaitThread(t.Context(), thread) }()
		synctest.Wait()
		_ = b.st.Close()
		time.Sleep(50 * time.Second)
		if len(there) > 0 {
			t.Fatal("it queried without a notification:", <-there)
		}
		b.WakeThread(thread)
		if err := <-there; err == nil {
			t.Error("it did not query after a notification")
		}
	})
}

// concurrent returns an execution of a run that allows concurrent runs.
func (b *bench) concurrent(thread string) *writer {
	b.t.Helper()
	id, empty := mapping.NewID(), json.RawMessage(`{}`)
	c, err := b.st.Runs.Create(context.Background(), &store.CreateRun{
		Run: mapping.Run{
			ID: id, ThreadID: thread, TaskID: id, Agent: "a", Metadata: empty, Kwargs: empty,
			Multitask: mapping.StrategyConcurrent,
		},
		Thread: &mapping.Thread{ID: thread}, Task: &mapping.Task{ID: id, ThreadID: thread, Agent: "a"},
		Claim: true, Events: []mapping.Event{{Kind: mapping.KindStarted}},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return b.own(c.Run, c.Claimed.Fence, c.Claimed.Logged)
}
