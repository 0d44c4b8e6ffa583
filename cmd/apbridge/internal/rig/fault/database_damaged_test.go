package fault

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// TestDatabaseDamagedDuringARun damages the database while a run's step is written. A client that waits for the run
// gets the cause, and the process is not ready.
func TestDatabaseDamagedDuringARun(t *testing.T) {
	t.Parallel()
	storetest.File(t)
	g := rig.NewGate(adaptertest.NewStepAgent(adaptertest.Plain), rig.StepPosts, 2)
	b := rig.InFront(t, g, func(a *config.Agent) { a.Dialect = "taskstep" })
	at := b.Thread()
	answered := make(chan rig.Answer, 1)
	go func() { answered <- b.Post(at+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`) }()
	g.Await(t)
	for _, file := range []string{b.Cfg.Database, b.Cfg.Database + "-wal"} {
		if err := overwrite(file); err != nil {
			t.Fatal(err)
		}
	}
	g.Open()
	select {
	case a := <-answered:
		a.Is(http.StatusServiceUnavailable)
		if a.Text("code") != "database_unavailable" {
			t.Errorf("the response is %s", a.Body)
		}
	case <-time.After(time.Minute):
		t.Fatal("no response within a minute")
	}
	b.Get("/readyz").Is(http.StatusServiceUnavailable)
	b.Get("/healthz").OK()
}

// overwrite leaves the first page of a file.
func overwrite(file string) error {
	info, err := os.Stat(file)
	if errors.Is(err, os.ErrNotExist) || err == nil && info.Size() <= 4096 {
		return nil
	}
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(bytes.Repeat([]byte{0xff}, int(info.Size())-4096), 4096)
	return errors.Join(err, f.Close())
}
