package store_test

import (
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

// TestThreadNames checks that a name belongs to one thread of an owner for an agent, as long as the thread exists.
func TestThreadNames(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t, store.Options{})
		named := func(b *harness, agent, name string) (*store.CreateRunResult, error) {
			n := newThreadRun()
			n.Thread.Name, n.Thread.NamedFor = name, agent
			return b.Runs.Create(b.ctx, n)
		}
		first, err := named(b, "a", "trip")
		b.ok(err)
		_, err = named(b, "a", "trip")
		wantClass(t, err, mapping.Conflict, store.CodeNameTaken)
		for _, other := range []struct {
			b           *harness
			agent, name string
		}{{b, "b", "trip"}, {b, "a", "Trip"}, {b.as("tenant"), "a", "trip"}, {b, "a", ""}, {b, "a", ""}} {
			_, err := named(other.b, other.agent, other.name)
			b.ok(err)
		}
		id, err := b.Threads.Named(b.ctx, "a", "trip")
		b.ok(err)
		none, err := b.Threads.Named(b.ctx, "a", "")
		b.ok(err)
		if id != first.Run.ThreadID || none != "" {
			t.Errorf("%q, %q", id, none)
		}
		task, err := b.Tasks.Get(b.ctx, first.Run.TaskID)
		b.ok(err)
		if task.ThreadName != "trip" {
			t.Errorf("the task's thread is named %q", task.ThreadName)
		}
		b.end(first, mapping.RunSuccess)
		b.ok(b.Threads.Delete(b.ctx, id))
		again, err := named(b, "a", "trip")
		b.ok(err)
		if again.Run.ThreadID == id {
			t.Error("a deleted thread exists again")
		}
	})
}
