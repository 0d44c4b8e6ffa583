package eventlog_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

// What comes between the entries of a run, of one beside it, is told before its
// reader waits on: a client would have it late else.
func TestFollowersOfAThreadAreIdleBehindWhatComesBetween(t *testing.T) {
	t.Parallel()
	b, thread := setup(t), mapping.NewID()
	first, second := b.beside(thread), b.beside(thread)
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
		if hear(n); time.Since(came) > time.Second {
			t.Fatalf("its reader went on waiting for %s before it said so", time.Since(came))
		}
	}
}

// beside is an execution of a run that others may run beside.
func (b *bench) beside(thread string) *writer {
	b.t.Helper()
	id, empty := mapping.NewID(), json.RawMessage(`{}`)
	c, err := b.st.CreateRun(context.Background(), store.RunCreation{
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
	return b.own(c.Run, c.Fence, c.Events)
}
