package crash

import (
	"context"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"zombiezen.com/go/sqlite"
)

// backups has ways to copy a database that is in use. Each returns the copy.
var backups = map[string]func(t *testing.T, dsn string) string{
	"vacuum into": func(t *testing.T, dsn string) string {
		copied := filepath.Join(t.TempDir(), "copy.db")
		if err := rig.SQLOn(dsn, "VACUUM INTO '"+copied+"'"); err != nil {
			t.Fatal(err)
		}
		return copied
	},
	"backup API": func(t *testing.T, dsn string) string {
		copied := filepath.Join(t.TempDir(), "copy.db")
		if err := copyPages(dsn, copied); err != nil {
			t.Fatal(err)
		}
		return copied
	},
	"pg_dump": func(t *testing.T, dsn string) string {
		copied := storetest.Schema(t)
		from, to := schemaOf(t, dsn), schemaOf(t, copied)
		server, _, _ := strings.Cut(dsn, "?")
		dump, err := exec.Command("pg_dump", "--schema="+from, "--no-owner", server).Output()
		if err != nil {
			t.Fatalf("pg_dump: %v", err)
		}
		text := strings.ReplaceAll(strings.ReplaceAll(string(dump), "CREATE SCHEMA "+from+";", ""), from, to)
		restore := exec.Command("psql", "--quiet", "--set=ON_ERROR_STOP=1", server)
		restore.Stdin = strings.NewReader(text)
		if out, err := restore.CombinedOutput(); err != nil {
			t.Fatalf("psql: %v: %s", err, out)
		}
		lapse(t, copied)
		return copied
	},
}

// copyPages copies a few pages at a time, like a backup that should not disturb writers. SQLite restarts the copy if
// the file is written to in the meantime.
func copyPages(from, to string) error {
	src, err := sqlite.OpenConn(from, sqlite.OpenReadOnly)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := sqlite.OpenConn(to, sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		return err
	}
	defer dst.Close()
	b, err := sqlite.NewBackup(dst, "main", src, "main")
	if err != nil {
		return err
	}
	for more := true; more && err == nil; {
		more, err = b.Step(50)
	}
	if e := b.Close(); err == nil {
		err = e
	}
	return err
}

func schemaOf(t *testing.T, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("search_path")
}

// lapse ends the leases in a copy, since their holder does not use it.
func lapse(t *testing.T, dsn string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), "UPDATE processes SET until_us = 0"); err != nil {
		t.Fatal(err)
	}
}

// TestBackupWhileRunning checks that a copy made while runs are active can be opened. It contains everything
// acknowledged before. The run that was waiting for its agent ends as after a crash, without a second request (A2). The
// next run is executed. The copied bridge is not affected.
func TestBackupWhileRunning(t *testing.T) {
	t.Parallel()
	for name, backup := range backups {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := adaptertest.NewStepAgent(adaptertest.JS) // it cannot report the outcome of a step
			g := rig.NewGate(agent, rig.StepPosts, 2)
			cfg := rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, g).URL, func(a *config.Agent) { a.Dialect = "taskstep" })})
			cfg.Database = databaseFor(t, name)
			b := rig.StartBridge(t, cfg)
			at := b.Thread()
			run := b.Begin(at, "")
			g.Await(t)
			queued := b.Begin(at, `"multitask_strategy":"enqueue",`)
			var kept []string
			for range 5 {
				other := b.Thread()
				b.Get(b.Begin(other, "") + "/join").OK()
				kept = append(kept, other)
			}
			if tells := rig.Says(string(b.Get("/metrics").OK().Body), "apbridge_database_log_bytes "); tells == (name == "pg_dump") {
				t.Errorf("the size of the log is in the response: %v", tells)
			}
			stop := keepBusy(b)
			copied := backup(t, cfg.Database)
			stop()

			twin := *cfg
			twin.Database = copied
			c := rig.StartBridge(t, &twin)
			if joined := c.Get(run + "/join").OK(); joined.At("__error__.error") != "outcome_unknown" {
				t.Errorf("the run in the copy: %s", joined.Body)
			}
			c.Get(queued + "/join").OK()
			c.Expect(queued, "status", "success")
			for _, other := range kept {
				c.Expect(other, "status", "idle")
				if n := len(c.Get(other + "/state").OK().List("values.messages")); n != 4 {
					t.Errorf("%s has %d messages in the copy", other, n)
				}
			}
			rig.Eventually(t, "the copy has no busy thread", func() bool { return string(c.Post("/threads/count", `{"status":"busy"}`).OK().Body) == "0" })
			c.End()
			checkCopy(t, copied)

			g.Open()
			texts := rig.Pluck(b.Get(run+"/join").OK().List("messages"), "content") // "three" would be missing if the copy had requested a step
			if diff := cmp.Diff([]any{"hi", "one", "two", "three"}, texts); diff != "" {
				t.Errorf("messages of the copied run (-want +got):\n%s", diff)
			}
			b.Get(queued + "/join").OK()
			b.Expect(queued, "status", "success")
		})
	}
}

func databaseFor(t *testing.T, backup string) string {
	t.Helper()
	if backup != "pg_dump" {
		return filepath.Join(t.TempDir(), "bridge.db")
	}
	if _, err := exec.LookPath("pg_dump"); err != nil {
		t.Skip("pg_dump is not installed; it belongs to PostgreSQL's client programs")
	}
	return storetest.Schema(t)
}

// keepBusy creates and executes runs until the returned stop is called.
func keepBusy(b *rig.Bridge) (stop func()) {
	over := make(chan struct{})
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					b.Post("/runs/wait", rig.OneRun).OK()
				}
			}
		})
	}
	stop = sync.OnceFunc(func() { close(over); all.Wait() })
	b.T.Cleanup(stop)
	return stop
}

// checkCopy checks every page and its contents.
func checkCopy(t *testing.T, dsn string) {
	t.Helper()
	if !strings.HasPrefix(dsn, "postgres") {
		conn, err := sqlite.OpenConn(dsn, sqlite.OpenReadOnly)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		st, _, err := conn.PrepareTransient("PRAGMA integrity_check")
		if err != nil {
			t.Fatal(err)
		}
		defer st.Finalize()
		if _, err := st.Step(); err != nil || st.ColumnText(0) != "ok" {
			t.Errorf("integrity: %s %v", st.ColumnText(0), err)
		}
	}
	checkRecord(t, dsn, true)
}
