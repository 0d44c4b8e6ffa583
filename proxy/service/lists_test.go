package service_test

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// C9: lists that are read while runs are rolled back or threads deleted show what is
// there. A restart before has the states read from the database.
func TestListsBesideRollbacksAndDeletes(t *testing.T) {
	t.Parallel()
	t.Run("rollbacks", func(t *testing.T) {
		t.Parallel()
		listsBeside(t, func(b *bench, r mapping.Run) error {
			return b.Runs.Delete(t.Context(), adapter.RunRef{ThreadID: r.ThreadID, RunID: r.ID})
		})
	})
	t.Run("deletes", func(t *testing.T) {
		t.Parallel()
		listsBeside(t, func(b *bench, r mapping.Run) error { return b.Threads.Delete(t.Context(), r.ThreadID) })
	})
}

// listsBeside lists threads while the newest run of each is taken away.
func listsBeside(t *testing.T, take func(b *bench, newest mapping.Run) error) {
	t.Helper()
	b := setup(t)
	ctx := t.Context()
	var newest []mapping.Run
	for range 100 {
		first, _ := b.start(t, ctx, newRun(mapping.NewID(), "graph", "hi"))
		last, _ := b.start(t, ctx, newRun(first.ThreadID, "graph", "again"))
		newest = append(newest, last)
	}
	b.again(t)
	looks := map[string]func() error{
		"search": func() error {
			_, _, err := b.Index.Search(ctx, adapter.ThreadQuery{Limit: 1000})
			return err
		},
		"search by values": func() error {
			_, _, err := b.Index.Search(ctx, adapter.ThreadQuery{Limit: 1000, NoValues: true, Values: json.RawMessage(`{"no":"such"}`)})
			return err
		},
		"topics": func() error {
			_, _, err := b.Topics.List(ctx, "graph", adapter.Page{Number: 1, Size: 1000})
			return err
		},
		"tasks": func() error {
			_, _, err := b.Tasks.List(ctx, adapter.TaskRef{Agent: "graph"}, adapter.Page{Number: 1, Size: 1000})
			return err
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
