package threadrun

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// The error of a failed attempt is not shown as the run's if the next attempt succeeds. LangGraph Server before 0.16
// ends streams with it.
func TestErrorOfARetriedAttemptIsHidden(t *testing.T) {
	t.Parallel()
	var attempts atomic.Int32
	b := rig.InFront(t, &adaptertest.ThreadAgent{Choose: func([]byte) adaptertest.ThreadPlay {
		if attempts.Add(1) == 1 {
			return adaptertest.FailPlay()
		}
		return adaptertest.ChatPlay()
	}}, rig.AsThreads)
	at := b.Thread()
	const body = `{"assistant_id":"agent","stream_mode":["values","updates","tasks","debug","events"],` + rig.SaysHi + `}`
	started, frames := b.Stream("POST", at+"/runs/stream", body, 0, "X-Apbridge-Retries", "1")
	for _, f := range frames {
		if f.Event == "error" || strings.Contains(f.Data, "on purpose") {
			t.Errorf("the stream has %s %s", f.Event, f.Data)
		}
	}
	run := b.Get(started.Header.Get("Content-Location")).OK()
	if run.Text("status") != "success" || run.At("error") != nil || run.At("metadata.run_attempt") != 2.0 {
		t.Errorf("the run is %s", run)
	}
	if state := b.Get(at + "/state").OK(); strings.Contains(state.String(), "on purpose") {
		t.Errorf("the state is %s", state)
	}
}
