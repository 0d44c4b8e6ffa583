package threadrun

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// cancelled is a way to end a run that hangs at its agent.
var cancelled = map[string]func(b *rig.Bridge, at, run string){
	"cancelled": func(b *rig.Bridge, _, run string) { b.Post(run+"/cancel?wait=1", "") },
	"taken": func(b *rig.Bridge, _, run string) {
		b.Post(run+"/cancel?wait=1&action=interrupt&reason=taken", "").Is(204)
	},
	"superseded": func(b *rig.Bridge, at, run string) {
		newer := b.Begin(at, `"multitask_strategy":"interrupt",`)
		rig.Eventually(b.T, "the first run ends", func() bool { return b.Get(run).OK().Text("status") == "interrupted" })
		if why := b.Get(run).OK().Text("cancel_reason"); !strings.Contains(why, newer[strings.LastIndex(newer, "/")+1:]) {
			b.T.Errorf("the new run is not named: %s", why)
		}
	},
	"disconnected": func(b *rig.Bridge, at, run string) {
		_, frames := b.Stream("GET", run+"/stream?cancel_on_disconnect=1", "", 1, "Last-Event-ID", "-1") // disconnects after the first frame
		rig.Eventually(b.T, "the run ends after "+rig.EventNames(frames), func() bool { return b.Get(run).OK().Text("status") == "interrupted" })
	},
}

// A run has the reason for its cancellation in cancel_reason, as in LangGraph Server 0.16.
func TestRunHasTheReasonOfItsCancellation(t *testing.T) {
	t.Parallel()
	for word, end := range cancelled {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			b, g := hanging(t)
			at := b.Thread()
			run := b.Begin(at, "")
			g.Await(t)
			if _, there := b.Get(run).OK().At("cancel_reason").(string); there {
				t.Error("an active run has a reason")
			}
			end(b, at, run)
			if why := b.Get(run).OK().Text("cancel_reason"); !strings.HasPrefix(why, word+": ") {
				t.Errorf("cancel_reason is %q", why)
			}
			runs := b.Get(at + "/runs?select=run_id&select=cancel_reason").OK()
			if why := runs.List("")[len(runs.List(""))-1]; !strings.HasPrefix(rig.Dig(why, "cancel_reason").(string), word+": ") {
				t.Errorf("in the list cancel_reason is %v", why)
			}
		})
	}
}

func TestInvalidCancelReasonIsRefused(t *testing.T) {
	t.Parallel()
	b, g := hanging(t)
	run := b.Begin(b.Thread(), "")
	g.Await(t)
	b.Post(run+"/cancel?action=rollback&reason=taken", "").Want(t, 422, "reason can only be taken with action=interrupt")
	b.Post(run+"/cancel?reason=boredom", "").Want(t, 422, "reason must be one of taken")
}
