package store_test

import (
	"errors"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// A standby that takes over may not have a run of which the process knows the key, and gives the key to another one:
// nothing is written into that.
func TestKeyOfALostRunIsAnothersByNow(t *testing.T) {
	t.Parallel()
	dsn := storetest.Schema(t)
	a := openAt(t, dsn, store.Options{})
	c := a.create(newThreadRun())
	behind(t, dsn, `UPDATE runs SET run_id = 'another'`)
	_, _, err := a.Events.Append(a.ctx, store.Append{ThreadID: c.Run.ThreadID, RunID: c.Run.ID, Fence: c.Claimed.Fence, Events: []mapping.Event{token("1")}})
	if !errors.Is(err, store.ErrFenced) {
		t.Errorf("the append of the lost run ended with %v", err)
	}
}
