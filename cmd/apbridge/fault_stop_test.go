package main

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// TestA7_SecondSignalStopsAtOnce: a process that drains under a long grace is gone
// at a second signal, and what it was at is for the next one, as after kill -9.
func TestA7_SecondSignalStopsAtOnce(t *testing.T) {
	t.Parallel()
	for kind, code := range map[adaptertest.Kind]any{adaptertest.Plain: nil, adaptertest.JS: "outcome_unknown"} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			agent := adaptertest.NewStepAgent(kind)
			g := newGate(agent, stepPosts, 2)
			d := newDoomed(t, storetest.DSN(t), g, "", "APBRIDGE_SHUTDOWN_GRACE=1h")
			d.sure("POST", "/threads", `{"thread_id":"`+strings.TrimPrefix(crashThread, "/threads/")+`"}`).ok()
			run := crashThread + "/runs/" + d.sure("POST", crashThread+"/runs", `{"assistant_id":"agent",`+saysHi+`}`).ok().text("run_id")
			g.await(t)
			d.stopTwice()
			eventually(t, "the agent is done with what it was asked for", func() bool { return agent.Work() == 2 })
			joined := d.get(run + "/join")
			if joined.at("__error__.error") != code {
				t.Errorf("the run ended with %s", joined.body)
			}
			if next := d.sure("POST", crashThread+"/runs/wait", `{"assistant_id":"agent",`+saysMore+`}`).ok(); next.at("__error__") != nil {
				t.Errorf("the next run: %s", next.body)
			}
			steps := map[any]int{nil: 6, "outcome_unknown": 5}[code]
			if c := agent.Counts(); c.Creates != 2 || c.Steps != steps {
				t.Errorf("%d tasks and %d steps, want 2 and %d", c.Creates, c.Steps, steps)
			}
		})
	}
}

// stopTwice signals the process until it is gone, not before it drains.
func (d *doomed) stopTwice() {
	d.t.Helper()
	l := d.serving()
	d.signal(l)
	eventually(d.t, "the process drains", func() bool {
		a, err := d.send(l.url+"/threads", "POST", `{}`)
		return err == nil && a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") != ""
	})
	again, late := time.NewTicker(250*time.Millisecond), time.After(crashPatience) // the first of these may belong to the first signal
	defer again.Stop()
	for gone := false; !gone; {
		select {
		case <-l.gone:
			gone = true
		case <-again.C:
			d.signal(l)
		case <-late:
			d.t.Fatal("the process is still there")
		}
	}
	if code := l.cmd.ProcessState.ExitCode(); code != 1 {
		d.t.Errorf("exit code %d, want 1", code)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = nil
	d.lapse()
}

// signal sends SIGTERM; it fails where the process is over by now.
func (d *doomed) signal(l *life) { _ = l.cmd.Process.Signal(syscall.SIGTERM) }
