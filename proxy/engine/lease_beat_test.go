package engine

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// A process renews its lease every few seconds, and the log must not grow with each failed renewal while the database
// is unavailable.
func TestFailedLeaseRenewalIsLoggedOnce(t *testing.T) {
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
		e.renewLease(t.Context())
	}
	if n := logged.Len(); n != 1 {
		t.Errorf("logged %d times", n)
	}
}

// Stop requests are read at each renewal, and the database may take long to answer.
func TestLeaseIsRenewedWhileStopRequestsAreRead(t *testing.T) {
	t.Parallel()
	open := func(dsn string) *store.Store {
		st, err := store.Open(t.Context(), dsn, store.Options{}, zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		return st
	}
	dsn := storetest.Schema(t)
	locked, st := open(dsn), open(storetest.Schema(t))
	log, err := eventlog.New(st)
	if err != nil {
		t.Fatal(err)
	}
	e := New(st, log, config.Default(), nil, nil, nil, zap.NewNop())
	e.store.Claims = locked.Claims
	lock, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Close(context.Background()) })
	if _, err := lock.Exec(t.Context(), `BEGIN; LOCK TABLE runs IN ACCESS EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	var kept sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	kept.Go(func() { e.keepLease(ctx) })
	kept.Go(func() { e.watchStops(ctx) })
	renewed := map[time.Duration]bool{}
	for late := time.After(4 * beatEvery); len(renewed) < 3; {
		select {
		case <-late:
			t.Fatalf("renewed %d times", len(renewed))
		case <-time.After(beatEvery / 10):
			e.lease.mu.Lock()
			renewed[e.lease.until] = true
			e.lease.mu.Unlock()
		}
	}
	stop()
	_ = lock.Close(context.Background())
	kept.Wait()
}
