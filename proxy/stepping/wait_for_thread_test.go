package stepping_test

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/service/servicetest"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// topicTasks are two tasks of one topic.
func (b *bench) topicTasks(t *testing.T) (first, second adapter.TaskRef) {
	t.Helper()
	topic, err := b.CreateTopic(t.Context(), adapter.TopicRequest{Agent: "legacy"})
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range []*adapter.TaskRef{&first, &second} {
		task, err := b.CreateTask(t.Context(), adapter.TaskRequest{Agent: "legacy", Topic: topic.ID, Input: say("do it")})
		if err != nil {
			t.Fatal(err)
		}
		*ref = adapter.TaskRef{Agent: "legacy", Topic: topic.ID, ID: task.ID}
	}
	return first, second
}

// holding makes the agent wait before the end of each step.
func (b *bench) holding(goOn <-chan struct{}) (reached <-chan struct{}) {
	there, steps := make(chan struct{}), servicetest.Lockstep(3)
	b.Legacy.Does(func(ctx context.Context, a adapter.Assignment, yield servicetest.Yielder) {
		steps(ctx, a, func(ev mapping.Event, err error) bool {
			if ev.Kind == mapping.KindEnd {
				there <- struct{}{}
				<-goOn
			}
			return yield(ev, err)
		})
	})
	return there
}

// asks requests a step of a task.
func (b *bench) asks(ctx context.Context, ref adapter.TaskRef) <-chan error {
	over := make(chan error, 1)
	go func() {
		h, err := b.ExecuteStep(ctx, ref, adapter.StepRequest{})
		if err == nil {
			h.Confirm()
		}
		over <- err
	}()
	return over
}

func blockedBy(t *testing.T, ref adapter.TaskRef, err error) {
	t.Helper()
	e := mapping.Classify(err)
	if by, _ := e.Detail.(map[string]string); err == nil || e.Code != mapping.CodeThreadBusy || by["task_id"] != ref.ID {
		t.Errorf("got %v, want an error that names task %s", err, ref.ID)
	}
}

// A POST that waits for the thread is notified at once when the run before its own is parked: the clock stands still.
func TestWaitingPOSTIsNotifiedOfAParkedRun(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	synctest.Test(t, func(t *testing.T) {
		b, goOn := &bench{servicetest.At(t, path)}, make(chan struct{})
		reached := b.holding(goOn)
		first, second := b.topicTasks(t)
		step := b.asks(t.Context(), first)
		<-reached
		waits := b.asks(t.Context(), second)
		synctest.Wait()
		parked := time.Now()
		close(goOn)
		blockedBy(t, first, <-waits)
		if late := time.Since(parked); late > 0 {
			t.Errorf("it was announced after %s", late)
		}
		if err := <-step; err != nil {
			t.Error(err)
		}
	})
}

// If no other process writes, a POST that waits for the thread causes no queries until there is a notification.
func TestWaitingPOSTDoesNotQueryTheStore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	synctest.Test(t, func(t *testing.T) {
		b, goOn := &bench{servicetest.At(t, path)}, make(chan struct{})
		defer close(goOn)
		reached := b.holding(goOn)
		first, second := b.topicTasks(t)
		b.asks(t.Context(), first)
		<-reached
		waits := b.asks(t.Context(), second)
		synctest.Wait()
		_ = b.Store.Close()
		time.Sleep(50 * time.Second)
		if len(waits) > 0 {
			t.Error("it queried without a notification:", <-waits)
		}
	})
}

// A POST that waits for the thread while another process uses it does not poll, and is notified when the run there is
// parked. Polling would take much longer in total.
func TestWaitingPOSTIsNotifiedByOtherProcesses(t *testing.T) {
	t.Parallel()
	all := replicas(t, 2)
	here, there, goOn := all[0], all[1], make(chan struct{})
	reached := there.holding(goOn)
	limit, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	const times = 8
	lasted, looks := time.Duration(0), int64(0)
	for range times {
		first, second := here.topicTasks(t)
		step := there.asks(limit, first)
		<-reached
		ctx := storetest.Count(limit)
		waits := here.asks(ctx, second)
		servicetest.Eventually(t, "the run that waits", func() bool { return here.runsOf(t, limit, second.ID) == 1 })
		looks += ctx.Looks(200, func(ctx context.Context) { here.runsOf(t, ctx, second.ID) })
		parked := time.Now()
		goOn <- struct{}{}
		blockedBy(t, first, <-waits)
		lasted += time.Since(parked)
		if err := <-step; err != nil {
			t.Fatal(err)
		}
	}
	if lasted > times*time.Second || looks > 3*times {
		t.Errorf("it took %s to learn of %d parked runs, with %d queries", lasted, times, looks)
	}
}
