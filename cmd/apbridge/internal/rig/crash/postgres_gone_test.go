package crash

import (
	"context"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/jackc/pgx/v5"
)

// TestConnectionsCutDuringARun cuts all database connections twice during a run. Nothing is lost and no operator has
// to act.
func TestConnectionsCutDuringARun(t *testing.T) {
	t.Parallel()
	dsn, name := storetest.Schema(t), "c9-"+mapping.NewID()
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	g := rig.NewGate(agent, rig.StepPosts, 2)
	cfg := rig.ConfigFor(t, rig.AgentsAt(adaptertest.Serve(t, g).URL))
	cfg.Database = dsn + "&application_name=" + name
	b := rig.StartBridge(t, cfg)
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
	at := b.Thread()
	run := b.Begin(at, "")
	g.Await(t)
	cut()
	b.Expect(run, "status", "running")
	cut()
	g.Open()
	b.Get(run + "/join").OK()
	b.Expect(run, "status", "success")
	b.Expect(at, "status", "idle")
	if n := len(b.Get(at + "/state").OK().List("values.messages")); n != 4 {
		t.Errorf("the thread has %d messages", n)
	}
	if c := agent.Counts(); c.Creates != 1 || c.Steps != 3 {
		t.Errorf("%d tasks and %d steps, want 1 and 3", c.Creates, c.Steps)
	}
	b.Get("/readyz").OK()
}
