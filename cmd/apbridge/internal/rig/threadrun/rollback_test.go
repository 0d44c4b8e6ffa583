package threadrun

import (
	"net/http"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// TestARolledBackRunIsGoneAtItsAgentToo: the thread of a graph keeps what a run did there
// that was stopped in the middle. The next run does not begin with that.
func TestARolledBackRunIsGoneAtItsAgentToo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		earlier bool
		want    string
	}{
		"the thread's first run": {false, "third one two three"},
		"a later run":            {true, "first one two three third one two three"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nth := 1
			if c.earlier {
				nth = 2
			}
			gate := rig.NewGate(rig.NewMemoryGraph(), rig.RunPosts, nth)
			gate.Flushes = 4
			b := rig.InFront(t, gate)
			at := b.Thread()
			say := func(words string) { b.Post(at+"/runs/wait", saying(words)).OK() }
			if c.earlier {
				say("first")
			}
			run := at + "/runs/" + b.Post(at+"/runs", saying("second")).OK().Text("run_id")
			gate.Await(t)
			b.Post(run+"/cancel?wait=true&action=rollback", "")
			b.Get(run).Is(http.StatusNotFound)
			say("third")
			if got := contents(b.Get(at + "/state").OK()); got != c.want {
				t.Errorf("the state has %q, want %q", got, c.want)
			}
			say("fourth")
			if got := contents(b.Get(at + "/state").OK()); got != c.want+" fourth one two three" {
				t.Errorf("the state has %q after one run more", got)
			}
		})
	}
}

func saying(words string) string {
	return `{"assistant_id":"agent","input":{"messages":[{"role":"user","content":"` + words + `"}]}}`
}
