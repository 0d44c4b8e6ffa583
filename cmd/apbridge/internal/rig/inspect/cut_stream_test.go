package inspect

import (
	"fmt"
	"slices"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// TestInspectorShowsAResumedStream checks that the inspector shows each event of a broken and resumed agent stream
// once, as for a complete stream, and one more link where the stream continues. At the beginning there are one or two
// links, depending on when the agent's ids arrive.
func TestInspectorShowsAResumedStream(t *testing.T) {
	t.Parallel()
	shown := func(cut ...int) (kinds []any, first, links int) {
		play := adaptertest.ChatPlay()
		play.CutAfter = cut
		b := rig.InFront(t, &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{play}}, rig.AsThreads)
		b.Wait("hi").OK()
		v := b.Get("/inspect/runs/" + newestRun(b)).OK()
		if v.At("whole") != true || v.Text("status") != "success" {
			t.Errorf("%s", v)
		}
		all := rig.Pluck(v.List("rows"), "kind")
		kinds = slices.DeleteFunc(slices.Clone(all), func(kind any) bool { return kind == "call" || kind == "linked" })
		state := slices.Index(all, any("state"))
		for i, kind := range all {
			switch {
			case kind != "linked":
			case i < state:
				first++
			default:
				links++
			}
		}
		return kinds, first, links
	}
	whole, linked, none := shown()
	cut, again, one := shown(3)
	if fmt.Sprint(cut) != fmt.Sprint(whole) || min(linked, again) < 1 || max(linked, again) > 2 || none != 0 || one != 1 {
		t.Errorf("cut: %v, linked %d times before its first state and %d times after; whole: %v, linked %d and %d times", cut, again, one, whole, linked, none)
	}
}
