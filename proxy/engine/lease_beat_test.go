package engine

import (
	"path/filepath"
	"testing"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// TestALeaseThatCannotBeRenewedIsSaidOnce: a process beats every few seconds, and the log does not grow with each
// failed beat while the database is away.
func TestALeaseThatCannotBeRenewedIsSaidOnce(t *testing.T) {
	t.Parallel()
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "a.db"), store.Options{Synchronous: "normal"}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	log, err := eventlog.New(st)
	if err != nil {
		t.Fatal(err)
	}
	core, logged := observer.New(zap.WarnLevel)
	e := New(st, log, config.Default(), nil, nil, nil, zap.New(core))
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		e.peers.renewLease(t.Context())
	}
	if n := logged.Len(); n != 1 {
		t.Errorf("said %d times", n)
	}
}
