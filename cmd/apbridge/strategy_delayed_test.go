package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
)

// TestStrategiesBesideADelayedRun: a run that waits for its time holds the thread,
// although nothing is at work, as it does on a LangGraph server: reject is refused,
// with the words that help, interrupt and rollback take its place. An enqueued run
// does not wait for the time of another.
func TestStrategiesBesideADelayedRun(t *testing.T) {
	t.Parallel()
	for kind, peer := range eitherKind() {
		for strategy, want := range map[string]string{
			"enqueue": "pending success", "interrupt": "interrupted success", "rollback": "success", "": "pending success", "reject": "pending",
		} {
			t.Run(kind+"/"+strategy, func(t *testing.T) {
				t.Parallel()
				b := inFront(t, peer())
				d := &duel{bridge: b, at: b.thread()}
				d.first = b.begin(d.at, `"after_seconds":3600,`)
				b.expect(d.at, "status", "busy")
				a := b.post(d.at+"/runs/wait", omitNull(strings.Replace(strings.Replace(`{"assistant_id":"agent","multitask_strategy":{s},`+saysHi+`}`, "{s}", `"`+strategy+`"`, 1), `""`, "null", 1)))
				refused := want == "pending"
				if refused {
					a.is(http.StatusConflict)
				} else {
					a.ok()
				}
				if refused && !says(string(a.body), "busy", strings.TrimPrefix(d.first, d.at+"/runs/"), "is to start at 20", "cancel it") {
					t.Errorf("refused with %s", a.body)
				}
				d.runs(want)
				if refused {
					b.post(d.first+"/cancel?wait=true", "")
					b.post(d.at+"/runs/wait", `{"assistant_id":"agent","multitask_strategy":"reject",`+saysHi+`}`).ok()
				}
			})
		}
	}
}

// A delayed run may itself be asked for with reject: it holds the thread from the
// moment it is made, not from its time on.
func TestDelayedRunIsRejectedByABusyThread(t *testing.T) {
	t.Parallel()
	g := newGate(adaptertest.NewStepAgent(adaptertest.Plain), stepPosts, 1)
	b := inFront(t, g)
	at := b.thread()
	b.begin(at, "")
	g.await(t)
	b.post(at+"/runs", `{"assistant_id":"agent","multitask_strategy":"reject","after_seconds":3600,`+saysHi+`}`).is(http.StatusConflict)
	g.open()
}
