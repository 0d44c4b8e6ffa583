package threadrun

import (
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// With strict_resume a value that answers no open question is refused (SDK 1.15, strictResume). The thread still waits
// and accepts a valid answer.
func TestStrictResume(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, rig.Asking(adaptertest.ChatPlay()), rig.AsThreads)
	at := b.Thread()
	b.Post(at+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`).OK()
	resume := func(answer string) rig.Answer {
		return b.Post(at+"/runs/wait", `{"assistant_id":"agent","strict_resume":true,"command":{"resume":`+answer+`}}`)
	}
	resume(`{}`).Want(t, 422, "unknown_interrupt", "empty_map")
	resume(`{"`+rig.UnknownQuestion+`":1}`).Want(t, 422, "no open question")
	if got := b.Get(at).OK(); got.Text("status") != "interrupted" || len(b.Get(at+"/runs").OK().List("")) != 1 {
		t.Errorf("the thread is %s after refusals", got.Text("status"))
	}
	resume(`"yes"`).OK()
	resume(`"yes"`).Want(t, 409, "no_pending_interrupt")
}
