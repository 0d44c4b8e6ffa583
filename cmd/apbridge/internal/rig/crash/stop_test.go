package crash

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// TestSecondSignalStopsAtOnce checks that a second signal ends a draining process at once, and that its work is left to
// the next process, as after kill -9.
func TestSecondSignalStopsAtOnce(t *testing.T) {
	t.Parallel()
	for kind, code := range map[adaptertest.Kind]any{adaptertest.Plain: nil, adaptertest.JS: "outcome_unknown"} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			agent := adaptertest.NewStepAgent(kind)
			g := rig.NewGate(agent, rig.StepPosts, 2)
			d := rig.NewKillable(t, storetest.DSN(t), g, "", "APBRIDGE_SHUTDOWN_GRACE=1h")
			d.Sure("POST", "/threads", `{"thread_id":"`+strings.TrimPrefix(rig.CrashThread, "/threads/")+`"}`).OK()
			run := rig.CrashThread + "/runs/" + d.Sure("POST", rig.CrashThread+"/runs", `{"assistant_id":"agent",`+rig.SaysHi+`}`).OK().Text("run_id")
			g.Await(t)
			stopTwice(d)
			rig.Eventually(t, "the agent has done the requested work", func() bool { return agent.Work() == 2 })
			joined := d.Get(run + "/join")
			if joined.At("__error__.error") != code {
				t.Errorf("the run ended with %s", joined.Body)
			}
			if next := d.Sure("POST", rig.CrashThread+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysMore+`}`).OK(); next.At("__error__") != nil {
				t.Errorf("the next run: %s", next.Body)
			}
			steps := map[any]int{nil: 6, "outcome_unknown": 5}[code]
			if c := agent.Counts(); c.Creates != 2 || c.Steps != steps {
				t.Errorf("%d tasks and %d steps, want 2 and %d", c.Creates, c.Steps, steps)
			}
		})
	}
}

// stopTwice sends a signal, waits until the process drains, and then sends signals until it has ended.
func stopTwice(d *rig.Killable) {
	d.T.Helper()
	l := d.Serving()
	signal(d, l)
	rig.Eventually(d.T, "the process drains", func() bool {
		a, err := d.Send(l.URL+"/threads", "POST", `{}`)
		return err == nil && a.Status == http.StatusServiceUnavailable && a.Header.Get("Retry-After") != ""
	})
	again, late := time.NewTicker(250*time.Millisecond), time.After(rig.CrashPatience) // the first of these may count as the first signal
	defer again.Stop()
	for gone := false; !gone; {
		select {
		case <-l.Gone:
			gone = true
		case <-again.C:
			signal(d, l)
		case <-late:
			d.T.Fatal("the process is still there")
		}
	}
	if code := l.Cmd.ProcessState.ExitCode(); code != 1 {
		d.T.Errorf("exit code %d, want 1", code)
	}
	d.Mu.Lock()
	defer d.Mu.Unlock()
	d.Now = nil
	d.Lapse()
}

// signal sends SIGTERM. An error means that the process has ended.
func signal(d *rig.Killable, l *rig.Life) { _ = l.Cmd.Process.Signal(syscall.SIGTERM) }
