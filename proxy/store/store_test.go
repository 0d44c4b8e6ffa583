package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/storetest/blank"
	"github.com/google/uuid"
	"go.uber.org/zap"
)

// harness is an open database with the shorthands of the suite.
type harness struct {
	*store.Store
	t   testing.TB
	ctx context.Context
}

// opener opens an empty database.
type opener func(t testing.TB, o ...store.Options) *harness

// onBoth runs a test over both kinds of databases.
func onBoth(t *testing.T, test func(t *testing.T, open opener)) {
	t.Helper()
	blank.Databases(t, func(t *testing.T, fresh func(testing.TB) string) {
		test(t, func(t testing.TB, o ...store.Options) *harness {
			t.Helper()
			return openAt(t, fresh(t), append(o, store.Options{Synchronous: "normal"})[0])
		})
	})
}

func openAt(t testing.TB, path string, o store.Options) *harness {
	t.Helper()
	s, err := store.Open(context.Background(), path, o, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &harness{Store: s, t: t, ctx: context.Background()}
}

func (b *harness) ok(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// as returns the harness for a principal of another tenant.
func (b *harness) as(tenant string) *harness {
	c := *b
	c.ctx = mapping.WithPrincipal(b.ctx, mapping.Principal{ID: "key-" + tenant, Tenant: tenant})
	return &c
}

func id() string { return uuid.Must(uuid.NewV7()).String() }

func (b *harness) thread() mapping.Thread {
	b.t.Helper()
	th, _, err := b.Threads.Create(b.ctx, store.ThreadCreation{Thread: mapping.Thread{ID: id()}})
	b.ok(err)
	return th
}

// newRun returns a run with its own task on an existing thread.
func newRun(thread string, strategy mapping.Strategy) *store.CreateRun {
	run := mapping.Run{ID: id(), ThreadID: thread, Agent: "echo", AssistantID: "a", Multitask: strategy}
	return &store.CreateRun{Run: run, Task: &mapping.Task{ID: run.ID, Agent: "echo", Input: "hi", HasInput: true}, Claim: true,
		Events: []mapping.Event{{Kind: mapping.KindStarted, Head: mapping.Head{Attempt: 1}}}}
}

// newThreadRun returns a run that creates its thread.
func newThreadRun() *store.CreateRun {
	n := newRun(id(), mapping.StrategyReject)
	n.Thread, n.MustNotExist = &mapping.Thread{ID: n.Run.ThreadID}, true
	return n
}

func (b *harness) create(n *store.CreateRun) *store.CreateRunResult {
	b.t.Helper()
	c, err := b.Runs.Create(b.ctx, n)
	b.ok(err)
	return c
}

func (b *harness) append(c *store.CreateRunResult, events ...mapping.Event) []mapping.Event {
	b.t.Helper()
	got, _, err := b.Events.Append(b.ctx, store.Append{ThreadID: c.Run.ThreadID, RunID: c.Run.ID, Fence: c.Claimed.Fence, Events: events})
	b.ok(err)
	return got
}

func ending(status mapping.RunStatus) store.End {
	o := mapping.Outcome{Status: status}
	return store.End{Outcome: o, Thread: o.Thread()}
}

func (b *harness) end(c *store.CreateRunResult, status mapping.RunStatus) {
	b.t.Helper()
	e := ending(status)
	_, _, err := b.Events.Append(b.ctx, store.Append{ThreadID: c.Run.ThreadID, RunID: c.Run.ID, Fence: c.Claimed.Fence, End: &e,
		Events: []mapping.Event{{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &e.Outcome}}}})
	b.ok(err)
}

// update returns an event that changes the state and creates a checkpoint.
func update(data string) mapping.Event {
	return mapping.Event{Kind: mapping.KindUpdate, Data: []byte(data),
		Head: mapping.Head{Node: "step", Reduce: true, Checkpoint: &mapping.Checkpoint{ID: id(), Source: "loop"}}}
}

func token(data string) mapping.Event {
	return mapping.Event{Kind: mapping.KindDelta, Data: []byte(data)}
}

func wantClass(t testing.TB, err error, class mapping.Class, code string) {
	t.Helper()
	e := mapping.Classify(err)
	if err == nil || e.Class != class || code != "" && e.Code != code {
		t.Fatalf("got error %v, want class %s code %s", err, class, code)
	}
}

// later is a clock set by a test.
type later struct{ at time.Time }

func (l *later) now() time.Time { return l.at }
