package main

import (
	"context"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/jackc/pgx/v5"
)

// TestC9_ConnectionsKilledUnderARun: every connection to the server is cut while
// a run goes on, twice; nothing is lost, and nobody has to do anything.
func TestC9_ConnectionsKilledUnderARun(t *testing.T) {
	t.Parallel()
	dsn, name := storetest.Schema(t), "c9-"+mapping.NewID()
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	g := newGate(agent, stepPosts, 2)
	cfg := configFor(t, agentsAt(adaptertest.Serve(t, g).URL))
	cfg.Database = dsn + "&application_name=" + name
	b := startBridge(t, cfg)
	cut := func() {
		t.Helper()
		conn, err := pgx.Connect(context.Background(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		var n int
		if err := conn.QueryRow(context.Background(), `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = $1`, name).Scan(&n); err != nil || n == 0 {
			t.Fatalf("%d connections were cut, %v", n, err)
		}
	}
	at := b.thread()
	run := b.begin(at, "")
	g.await(t)
	cut()
	b.expect(run, "status", "running")
	cut()
	g.open()
	b.get(run + "/join").ok()
	b.expect(run, "status", "success")
	b.expect(at, "status", "idle")
	if n := len(b.get(at + "/state").ok().list("values.messages")); n != 4 {
		t.Errorf("%d messages", n)
	}
	if c := agent.Counts(); c.Creates != 1 || c.Steps != 3 {
		t.Errorf("%d tasks and %d steps, want 1 and 3", c.Creates, c.Steps)
	}
	b.get("/readyz").ok()
}
