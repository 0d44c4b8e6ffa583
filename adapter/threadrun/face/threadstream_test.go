package face

import (
	"context"
	"iter"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
)

// fakeThreadLog yields the current entries and then reports that the thread was deleted.
func (f *fake) ThreadPosition(_ context.Context, id string, after adapter.Cursor) (adapter.Cursor, error) {
	f.lastQuery = after
	if _, ok := f.threads[id]; !ok {
		return after, notFound(mapping.CodeThreadNotFound, "thread")
	}
	return after, nil
}

func (f *fake) ThreadReplayStart(_ context.Context, _ string, after adapter.Cursor) (adapter.ReplayStart, error) {
	return adapter.ReplayStart{At: after}, nil
}

func (f *fake) AwaitThread(ctx context.Context, id string) error {
	_, err := f.ThreadPosition(ctx, id, adapter.Cursor{})
	return err
}

func (f *fake) ThreadEvents(_ context.Context, id string, _ adapter.Cursor, _ func()) iter.Seq2[*state.Entry, error] {
	return func(yield func(*state.Entry, error) bool) {
		for _, run := range f.order {
			fr := f.runs[run]
			if fr == nil || fr.run.ThreadID != id {
				continue
			}
			for _, e := range fr.entries {
				if !yield(e, nil) {
					return
				}
			}
		}
		yield(nil, notFound(mapping.CodeThreadNotFound, "thread"))
	}
}
