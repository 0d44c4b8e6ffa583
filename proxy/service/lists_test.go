package service_test

import (
	"context"
	"encoding/json"
	"iter"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/service/servicetest"
)

// C9: lists that are read while runs are rolled back or threads deleted show what exists. After a restart the states
// are read from the database.
func TestListsDuringRollbacksAndDeletes(t *testing.T) {
	t.Parallel()
	t.Run("rollbacks", func(t *testing.T) {
		t.Parallel()
		listsBeside(t, func(b *bench, r mapping.Run) error {
			return b.DeleteRun(t.Context(), adapter.RunRef{ThreadID: r.ThreadID, RunID: r.ID})
		})
	})
	t.Run("deletes", func(t *testing.T) {
		t.Parallel()
		listsBeside(t, func(b *bench, r mapping.Run) error { return b.DeleteThread(t.Context(), r.ThreadID) })
	})
}

// searched reads the threads with their states, which are read during the iteration.
func (b *bench) searched(ctx context.Context) error {
	list, _, err := b.SearchThreads(ctx, adapter.ThreadSearch{ThreadQuery: mapping.ThreadQuery{Limit: 1000}})
	return readAll(list, err)
}

// readAll iterates over a list, if there is one.
func readAll[T any](list iter.Seq2[T, error], err error) error {
	if err == nil {
		_, err = adapter.All(list)
	}
	return err
}

// entries returns the readable entries of a list.
func entries[T any](t *testing.T, list iter.Seq2[T, error]) []T {
	t.Helper()
	all, err := adapter.All(list)
	if err != nil {
		t.Error(err)
	}
	return all
}

// C9: a thread that is deleted during a search is skipped.
func TestThreadDeletedDuringASearch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := map[string]bool{}
	for range 3 {
		r, _ := b.Start(t, t.Context(), servicetest.NewRun(mapping.NewID(), "graph", "hi"))
		ids[r.ThreadID] = true
	}
	b.Again(t) // clears the states in memory
	list, _, err := b.SearchThreads(t.Context(), adapter.ThreadSearch{ThreadQuery: mapping.ThreadQuery{Limit: 10}})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for th, err := range list {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, th.ID)
		delete(ids, th.ID)
		for id := range ids {
			if err := b.DeleteThread(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		clear(ids)
	}
	if len(found) != 1 {
		t.Errorf("found %v, want the remaining one", found)
	}
}

// listsBeside lists threads while take removes the newest run of each.
func listsBeside(t *testing.T, take func(b *bench, newest mapping.Run) error) {
	t.Helper()
	b := setup(t)
	ctx := t.Context()
	var newest []mapping.Run
	for range 100 {
		first, _ := b.Start(t, ctx, servicetest.NewRun(mapping.NewID(), "graph", "hi"))
		last, _ := b.Start(t, ctx, servicetest.NewRun(first.ThreadID, "graph", "again"))
		newest = append(newest, last)
	}
	b.Again(t)
	looks := map[string]func() error{
		"search": func() error { return b.searched(ctx) },
		"search by values": func() error {
			_, _, err := b.SearchThreads(ctx, adapter.ThreadSearch{ThreadQuery: mapping.ThreadQuery{Limit: 1000}, NoValues: true, Values: json.RawMessage(`{"no":"such"}`)})
			return err
		},
		"topics": func() error {
			list, _, err := b.ListTopics(ctx, "graph", adapter.Page{Number: 1, Size: 1000})
			return readAll(list, err)
		},
		"tasks": func() error {
			list, _, err := b.ListTasks(ctx, adapter.TaskRef{Agent: "graph"}, adapter.Page{Number: 1, Size: 1000})
			return readAll(list, err)
		},
	}
	over := make(chan struct{})
	var wg sync.WaitGroup
	for name, look := range looks {
		wg.Go(func() {
			for {
				if err := look(); err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				select {
				case <-over:
					return
				default:
				}
			}
		})
	}
	for _, r := range newest {
		if err := take(b, r); err != nil {
			t.Error(err)
		}
	}
	close(over)
	wg.Wait()
}

// C9: a client that reads a thread during a rollback on another replica sees the state before or after it.
func TestReadsDuringRollbacksOnAnotherReplica(t *testing.T) {
	t.Parallel()
	all := replicas(t, 2)
	here, there, ctx := all[0], all[1], t.Context()
	var threads []string
	for range 3 {
		r, _ := here.Start(t, ctx, servicetest.NewRun(mapping.NewID(), "graph", "hi"))
		threads = append(threads, r.ThreadID)
	}
	looks := map[string]func(thread string) error{
		"search": func(string) error { return there.searched(ctx) },
		"topics": func(string) error {
			list, _, err := there.ListTopics(ctx, "graph", adapter.Page{Number: 1, Size: 10})
			return readAll(list, err)
		},
		"thread": func(thread string) error { _, err := there.GetThread(ctx, thread); return err },
		"state":  func(thread string) error { _, err := there.GetState(ctx, thread, ""); return err },
	}
	over := make(chan struct{})
	var wg sync.WaitGroup
	for name, look := range looks {
		wg.Go(func() {
			for i := 0; ; i++ {
				if err := look(threads[i%len(threads)]); err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				select {
				case <-over:
					return
				default:
				}
			}
		})
	}
	for i := range 60 {
		r, _ := here.Start(t, ctx, servicetest.NewRun(threads[i%len(threads)], "graph", "again"))
		if err := here.DeleteRun(ctx, adapter.RunRef{ThreadID: r.ThreadID, RunID: r.ID}); err != nil {
			t.Error(err)
		}
	}
	close(over)
	wg.Wait()
}
