package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/jackc/pgx/v5"
)

// Connections that fall silent, without being reset, are given up within seconds: what waits for them is done
// over new ones, and those that lie idle in the pool are not tried one by one.
func TestConnectionsFallSilent(t *testing.T) {
	t.Parallel()
	const many = 8
	server := storetest.Schema(t)
	w, dsn := storetest.Through(t, server)
	a := openAt(t, dsn, store.Options{})
	var runs [many]store.Created
	for i := range runs {
		runs[i] = a.create(newThreadRun())
	}
	append1 := func(c store.Created) error {
		_, _, err := a.AppendRun(a.ctx, store.Append{ThreadID: c.Thread.ID, RunID: c.Run.ID, Fence: c.Fence, Events: []mapping.Event{token("1")}})
		return err
	}
	each := func() {
		t.Helper()
		done := make(chan error, many)
		for _, c := range runs {
			go func() { done <- append1(c) }()
		}
		late := time.After(30 * time.Second)
		for range runs {
			select {
			case err := <-done:
				a.ok(err)
			case <-late:
				t.Fatal("an operation waits still after half a minute")
			}
		}
	}
	each() // on as many connections
	w.Silence()
	brief, stop := context.WithTimeout(a.ctx, time.Second)
	defer stop()
	wantClass(t, a.Ping(brief), mapping.Unavailable, "")
	each()
	a.ok(a.Ping(a.ctx))
	for _, c := range runs {
		evs, err := a.Events(a.ctx, c.Thread.ID, "", 1, 0)
		a.ok(err)
		if len(evs) != 2 {
			t.Errorf("%d events were logged where 2 were acknowledged", len(evs))
		}
	}
}

// A statement that takes long is not taken for a silent connection.
func TestLongStatementIsNotCut(t *testing.T) {
	t.Parallel()
	server := storetest.Schema(t)
	w, dsn := storetest.Through(t, server)
	a := openAt(t, dsn, store.Options{})
	c := a.create(newThreadRun())
	locker, let := lockThreads(t, server)
	done := make(chan error, 1)
	go func() {
		_, _, err := a.AppendRun(a.ctx, store.Append{ThreadID: c.Thread.ID, RunID: c.Run.ID, Fence: c.Fence, Events: []mapping.Event{token("1")}})
		done <- err
	}()
	waits := fmt.Sprintf(`SELECT coalesce(min(pid), 0) FROM pg_stat_activity WHERE %d = ANY (pg_blocking_pids(pid))`, locker)
	pid := 0
	for pid == 0 {
		pid = count(t, server, waits)
	}
	for before := w.Connections(); w.Connections() < before+3; { // the server is asked three times
		select {
		case err := <-done:
			t.Fatalf("the statement was cut: %v", err)
		default:
		}
	}
	if now := count(t, server, waits); now != pid {
		t.Errorf("process %d waits, and now it is %d", pid, now)
	}
	let()
	a.ok(<-done)
}

// lockThreads locks the numbers of all threads, until let is called, as process pid.
func lockThreads(t *testing.T, dsn string) (pid uint32, let func()) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	for _, text := range []string{"BEGIN", "SELECT 1 FROM thread_seq FOR UPDATE"} {
		if _, err := conn.Exec(context.Background(), text); err != nil {
			t.Fatal(err)
		}
	}
	return conn.PgConn().PID(), func() {
		if _, err := conn.Exec(context.Background(), "ROLLBACK"); err != nil {
			t.Error(err)
		}
	}
}
