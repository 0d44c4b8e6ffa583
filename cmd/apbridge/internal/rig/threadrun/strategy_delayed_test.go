package threadrun

import (
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// TestStrategiesWithADelayedRun checks that a run that waits for its time holds the thread, although nothing is
// active, as on a LangGraph server: reject is refused with advice, and interrupt and rollback replace it. An enqueued
// run does not wait for the other one's time.
func TestStrategiesWithADelayedRun(t *testing.T) {
	t.Parallel()
	for kind, peer := range rig.EitherKind() {
		for strategy, want := range map[string]string{
			"enqueue": "pending success", "interrupt": "interrupted success", "rollback": "success", "": "pending success", "reject": "pending",
		} {
			t.Run(kind+"/"+strategy, func(t *testing.T) {
				t.Parallel()
				b := rig.InFront(t, peer())
				d := &busyThread{Bridge: b, at: b.Thread()}
				d.first = b.Begin(d.at, `"after_seconds":3600,`)
				b.Expect(d.at, "status", "busy")
				a := b.Post(d.at+"/runs/wait", omitNull(strings.Replace(strings.Replace(`{"assistant_id":"agent","multitask_strategy":{s},`+rig.SaysHi+`}`, "{s}", `"`+strategy+`"`, 1), `""`, "null", 1)))
				refused := want == "pending"
				if refused {
					a.Is(http.StatusConflict)
				} else {
					a.OK()
				}
				if refused && !rig.Says(string(a.Body), "busy", strings.TrimPrefix(d.first, d.at+"/runs/"), "is to start at 20", "cancel it") {
					t.Errorf("refused with %s", a.Body)
				}
				d.runs(want)
				if refused {
					b.Post(d.first+"/cancel?wait=true", "")
					b.Post(d.at+"/runs/wait", `{"assistant_id":"agent","multitask_strategy":"reject",`+rig.SaysHi+`}`).OK()
				}
			})
		}
	}
}

// A delayed run may itself have the strategy reject: it holds the thread from its creation, not only from its time on.
func TestDelayedRunIsRejectedByABusyThread(t *testing.T) {
	t.Parallel()
	g := rig.NewGate(adaptertest.NewStepAgent(adaptertest.Plain), rig.StepPosts, 1)
	b := rig.InFront(t, g)
	at := b.Thread()
	b.Begin(at, "")
	g.Await(t)
	b.Post(at+"/runs", `{"assistant_id":"agent","multitask_strategy":"reject","after_seconds":3600,`+rig.SaysHi+`}`).Is(http.StatusConflict)
	g.Open()
}
