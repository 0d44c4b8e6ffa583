package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/jackc/pgx/v5"
)

// C9: the commit took place, and its answer never came.
func TestC9CommitWithoutAnswerIsAskedFor(t *testing.T) {
	t.Parallel()
	w, dsn := storetest.Through(t, storetest.Schema(t))
	a := openAt(t, dsn, store.Options{})
	c := a.create(newThreadRun())
	for i := range 10 {
		w.CutAnswer()
		a.append(c, token(fmt.Sprint(i)))
	}
	if n := w.Cuts(); n != 10 {
		t.Fatalf("%d commits were cut", n)
	}
	evs, err := a.Events(a.ctx, c.Thread.ID, "", 1, 0)
	a.ok(err)
	if len(evs) != 10 {
		t.Fatalf("%d events of 10: one was lost, or written twice", len(evs))
	}
}

// quiet keeps the server from writing its log by itself, so that a crash loses what no commit has waited for.
var quiet = []string{"wal_writer_delay=10s", "autovacuum=off"}

// C9: the server crashes while a commit is on its way to it, and gives the number of the lost
// transaction to another one, which commits. What was acknowledged is there, once.
func TestC9CommitThatACrashLost(t *testing.T) {
	t.Parallel()
	ways := map[string]func(*storetest.Cluster, uint32){
		"immediate shutdown": func(c *storetest.Cluster, _ uint32) { c.Crash(); c.Start() },
		"server killed":      func(c *storetest.Cluster, _ uint32) { c.Kill(); c.Start() },
		"backend killed":     func(c *storetest.Cluster, pid uint32) { c.KillBackend(pid) },
	}
	for name, crash := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := storetest.Private(t, quiet...)
			w, dsn := storetest.Through(t, cluster.URL())
			a := openAt(t, dsn, store.Options{})
			c := a.create(newThreadRun())
			a.append(c, token("0"))
			held := w.HoldCommits(1)
			acknowledged := make(chan error, 1)
			go func() {
				_, _, err := a.AppendRun(a.ctx, store.Append{ThreadID: c.Thread.ID, RunID: c.Run.ID, Fence: c.Fence, Events: []mapping.Event{token("1")}})
				acknowledged <- err
			}()
			await(t, held)
			crash(cluster, cluster.Backend())
			cluster.Exec("CREATE TABLE others (n INTEGER)")
			for n := range 40 {
				cluster.Exec(fmt.Sprintf("INSERT INTO others VALUES (%d)", n))
			}
			w.Cut()
			if err := <-acknowledged; err != nil {
				t.Fatal(err)
			}
			evs, err := a.Events(a.ctx, c.Thread.ID, "", 2, 0)
			a.ok(err)
			if len(evs) != 1 {
				t.Fatalf("%d events were logged where 1 was acknowledged", len(evs))
			}
		})
	}
}

// C9: a commit that was given up, and done again, reaches the server after all.
func TestC9LateCommitIsRefused(t *testing.T) {
	t.Parallel()
	server := storetest.Schema(t)
	w, dsn := storetest.Through(t, server)
	a := openAt(t, dsn, store.Options{})
	c := a.create(newThreadRun())
	held := w.HoldCommits(1)
	acknowledged := make(chan error, 1)
	go func() {
		_, _, err := a.AppendRun(a.ctx, store.Append{ThreadID: c.Thread.ID, RunID: c.Run.ID, Fence: c.Fence, Events: []mapping.Event{token("1")}})
		acknowledged <- err
	}()
	await(t, held)
	w.HangUp()
	for givenUp := false; !givenUp; {
		givenUp = count(t, server, `SELECT count(*) FROM commits WHERE n % 2 = 1`) > 0
	}
	w.Deliver()
	a.ok(<-acknowledged)
	evs, err := a.Events(a.ctx, c.Thread.ID, "", 1, 0)
	a.ok(err)
	if len(evs) != 1 {
		t.Errorf("%d events were logged where 1 was acknowledged", len(evs))
	}
}

// A standby that takes over may not have a run of which the process knows the key, and gives
// the key to another one: nothing is written into that.
func TestKeyOfALostRunIsAnothersByNow(t *testing.T) {
	t.Parallel()
	dsn := storetest.Schema(t)
	a := openAt(t, dsn, store.Options{})
	c := a.create(newThreadRun())
	behind(t, dsn, `UPDATE runs SET run_id = 'another'`)
	_, _, err := a.AppendRun(a.ctx, store.Append{ThreadID: c.Thread.ID, RunID: c.Run.ID, Fence: c.Fence, Events: []mapping.Event{token("1")}})
	if !errors.Is(err, store.ErrFenced) {
		t.Errorf("the append of the lost run ended with %v", err)
	}
}

func count(t *testing.T, dsn, query string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := conn.QueryRow(context.Background(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Every connection of the pool breaks in the middle of a commit. What became of the commits is
// asked for at once: nobody waits for a connection that the others hold.
func TestAllConnectionsBreakInACommit(t *testing.T) {
	t.Parallel()
	const pool = 4
	w, dsn := storetest.Through(t, storetest.Schema(t))
	a := openAt(t, dsn+"&pool_max_conns="+fmt.Sprint(pool), store.Options{})
	var runs [pool]store.Created
	for i := range runs {
		runs[i] = a.create(newThreadRun())
	}
	held := w.HoldCommits(pool)
	acknowledged := make(chan error, pool)
	for _, c := range runs {
		go func() {
			_, _, err := a.AppendRun(a.ctx, store.Append{ThreadID: c.Thread.ID, RunID: c.Run.ID, Fence: c.Fence, Events: []mapping.Event{token("1")}})
			acknowledged <- err
		}()
	}
	await(t, held)
	w.Cut()
	for range runs {
		a.ok(<-acknowledged)
	}
	for _, c := range runs {
		evs, err := a.Events(a.ctx, c.Thread.ID, "", 1, 0)
		a.ok(err)
		if len(evs) != 1 {
			t.Errorf("%d events were logged where 1 was acknowledged", len(evs))
		}
	}
}

func await(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(time.Minute):
		t.Fatal("waited for a minute")
	}
}
