package store_test

import (
	"errors"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// After a failover the new server may lack a run whose key the process has cached, and may have reused the key for
// another run. Nothing is written to that run.
func TestKeyOfALostRunMayBelongToAnother(t *testing.T) {
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
