package store_test

import (
	"slices"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

// only returns the same database for a key limited to these agents.
func (b *harness) only(key string, agents ...string) *harness {
	limited := *b
	limited.ctx = mapping.WithPrincipal(b.ctx, mapping.Principal{ID: key, Agents: agents})
	return &limited
}

func (b *harness) sees(thread string) bool {
	b.t.Helper()
	_, err := b.Threads.Get(b.ctx, thread)
	if err != nil && mapping.Classify(err).Class != mapping.NotFound {
		b.t.Fatal(err)
	}
	listed, total, failed := b.Threads.List(b.ctx, mapping.ThreadQuery{IDs: []string{thread}})
	b.ok(failed)
	if (err == nil) != (total == 1) || len(listed) != total {
		b.t.Errorf("thread %s: Get returned %v, listed %d times", thread, err, total)
	}
	return total == 1
}

// runOf creates a run of an agent, on a given or a new thread.
func (b *harness) runOf(agent, thread string) *store.CreateRunResult {
	b.t.Helper()
	n := newThreadRun()
	if thread != "" {
		n = newRun(thread, mapping.StrategyReject)
	}
	n.Run.Agent = agent
	if n.Task != nil {
		n.Task.Agent = agent
	}
	c := b.create(n)
	b.end(c, mapping.RunSuccess)
	return c
}

// A thread is visible to keys that may use all agents that have worked on it.
func TestKeysSeeTheThreadsOfTheirAgents(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		mine := b.runOf("one", "").Run.ThreadID
		both := b.runOf("one", "").Run.ThreadID
		b.runOf("two", both)
		b.runOf("one", both)
		copied, err := b.Threads.Copy(b.ctx, both, id(), store.IdempotencyKey{})
		b.ok(err)
		empty, _, err := b.only("first", "one").Threads.Create(b.only("first", "one").ctx, store.ThreadCreation{Thread: mapping.Thread{ID: id()}})
		b.ok(err)
		meant, _, err := b.Threads.Create(b.ctx, store.ThreadCreation{Thread: mapping.Thread{ID: id()}, Agent: "one"})
		b.ok(err)
		ids := []string{mine, both, copied.ID, empty.ID, meant.ID}
		for _, tt := range []struct {
			key    string
			agents []string
			want   []bool
		}{
			{"first", []string{"one"}, []bool{true, false, false, true, true}},
			{"second", []string{"one"}, []bool{true, false, false, false, true}},
			{"first", []string{"two"}, []bool{false, false, false, true, false}},
			{"first", []string{"one", "two"}, []bool{true, true, true, true, true}},
			{"second", []string{"on", "e", "/one/", ""}, []bool{false, false, false, false, false}},
			{"second", []string{}, []bool{false, false, false, false, false}},
			{"second", nil, []bool{true, true, true, true, true}},
		} {
			as := b.only(tt.key, tt.agents...)
			var got []bool
			for _, id := range ids {
				got = append(got, as.sees(id))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("key %s for %v sees %v, want %v", tt.key, tt.agents, got, tt.want)
			}
		}
	})
}
