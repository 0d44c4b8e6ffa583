package store

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
)

// TestLateRecoveryLeavesUpdatesAlone covers a process that started on a full disk. Once there is space, it frees the
// threads held by an earlier process, but not those that it holds itself by then.
func TestLateRecoveryLeavesUpdatesAlone(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, err := Open(ctx, filepath.Join(t.TempDir(), "apbridge.db"), Options{}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.behind.Store(&errNotRecovered)
	var threads []string
	for range 2 {
		th, _, err := s.Threads.Create(ctx, ThreadCreation{Thread: mapping.Thread{ID: mapping.NewID()}})
		if err != nil {
			t.Fatal(err)
		}
		threads = append(threads, th.ID)
	}
	token, err := s.States.Hold(ctx, threads[0], "", IdempotencyKey{})
	if err != nil {
		t.Fatal(err)
	}
	owner := s.base.Owner
	s.base.Owner = "an earlier process"
	if _, err := s.States.Hold(ctx, threads[1], "", IdempotencyKey{}); err != nil {
		t.Fatal(err)
	}
	s.base.Owner = owner
	if err := s.Recover(ctx); err != nil {
		t.Fatal(err)
	}
	for i, held := range []string{token, ""} {
		ev := mapping.Event{Kind: mapping.KindState, Data: []byte(`{"a":1}`), Head: mapping.Head{Checkpoint: &mapping.Checkpoint{ID: mapping.NewID(), Source: "update"}}}
		if _, err := s.States.Append(ctx, threads[i], "", []mapping.Event{ev}, StateOptions{Held: held}); err != nil {
			t.Errorf("thread %d: %v", i, err)
		}
	}
}
