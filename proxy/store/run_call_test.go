package store_test

import (
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

// Callers that can see a run can read its calls. The newest calls are kept, and they are deleted with the run.
func TestCallsOfRuns(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		c := b.create(newThreadRun())
		var many []store.RunCall
		for n := range 200 {
			many = append(many, store.RunCall{N: int64(n + 1), Head: []byte(`{}`), Sent: fmt.Append(nil, n), Received: []byte{0xff, 0}})
		}
		b.ok(b.Calls.Keep(b.ctx, c.Run.ID, c.Claimed.Fence, many))
		b.ok(b.Calls.Keep(b.ctx, c.Run.ID, c.Claimed.Fence, many))
		if err := b.Calls.Keep(b.ctx, c.Run.ID, c.Claimed.Fence+1, many); !errors.Is(err, store.ErrFenced) {
			t.Errorf("under another fence: %v", err)
		}
		list, err := b.Calls.List(b.ctx, c.Run.ThreadID, c.Run.ID)
		b.ok(err)
		if len(list) != 256 || list[0].N != 145 || list[255].N != 400 || list[0].Sent != nil {
			t.Errorf("%d calls from %+v", len(list), list[0])
		}
		one, err := b.Calls.Get(b.ctx, "", c.Run.ID, 400)
		if err != nil || string(one.Sent) != "199" || string(one.Received) != "\xff\x00" {
			t.Errorf("call %+v, %v", one, err)
		}
		if _, err := b.Calls.Get(b.ctx, "", c.Run.ID, 1); !errors.Is(err, sql.ErrNoRows) {
			t.Errorf("dropped call: %v", err)
		}
		other := b.as("other")
		if _, err := other.Calls.List(other.ctx, "", c.Run.ID); mapping.Classify(err).Class != mapping.NotFound {
			t.Errorf("of another tenant: %v", err)
		}
		if _, err := other.Calls.Get(other.ctx, "", c.Run.ID, 400); mapping.Classify(err).Class != mapping.NotFound {
			t.Errorf("of another tenant: %v", err)
		}
		b.end(c, mapping.RunError)
		b.ok(b.Runs.Delete(b.ctx, c.Run.ThreadID, c.Run.ID))
		again := b.create(newRun(c.Run.ThreadID, mapping.StrategyReject)) // SQLite reuses the key of the deleted run
		if list, err := b.Calls.List(b.ctx, "", again.Run.ID); err != nil || len(list) != 0 {
			t.Errorf("the next run has %d calls, %v", len(list), err)
		}
		b.ok(b.Calls.Keep(b.ctx, again.Run.ID, again.Claimed.Fence, many[:1]))
		b.end(again, mapping.RunError)
		b.ok(b.Threads.Delete(b.ctx, c.Run.ThreadID))
		last := b.create(newThreadRun())
		if list, err := b.Calls.List(b.ctx, "", last.Run.ID); err != nil || len(list) != 0 {
			t.Errorf("a run after deleting the thread has %d calls, %v", len(list), err)
		}
	})
}
