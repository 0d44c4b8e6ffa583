package eventlog_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/store"
)

// withState creates a thread with a state of the given size and returns both ids.
func (b *bench) withState(size int) (thread, checkpoint string) {
	b.t.Helper()
	thread, checkpoint = mapping.NewID(), mapping.NewID()
	ev := mapping.Event{
		Kind: mapping.KindInput, At: time.Now(), Data: json.RawMessage(fmt.Sprintf(`{"text":"%0*d"}`, size, 0)),
		Head: mapping.Head{Checkpoint: &mapping.Checkpoint{ID: checkpoint, Source: "update"}},
	}
	_, _, err := b.st.Threads.Create(b.t.Context(), store.ThreadCreation{Thread: mapping.Thread{ID: thread}, Events: []mapping.Event{ev}})
	if err != nil {
		b.t.Fatal(err)
	}
	return thread, checkpoint
}

// A listing reads any number of states and caches only a few of them.
func TestListingCachesFewStates(t *testing.T) {
	t.Parallel()
	const size = 300_000
	b := setup(t)
	states := b.Listing()
	for range 20 {
		thread, checkpoint := b.withState(size)
		f, err := states.Base(t.Context(), thread, checkpoint)
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Once()) < size {
			t.Fatalf("read %d bytes", len(f.Once()))
		}
	}
	if held := b.Folds(); held < eventlog.ListingKeeps-2*size || held > eventlog.ListingKeeps {
		t.Errorf("%d bytes kept, want about %d", held, eventlog.ListingKeeps)
	}
}
