package taskstep

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/google/go-cmp/cmp"
)

// keeper is a task/step agent that records its files and writes the file "notes". The contents are always the same
// unless its input is "more".
type keeper struct {
	*adaptertest.StepAgent
	mu    sync.Mutex
	given []map[string]string // for each task
}

func newKeeper() *keeper {
	k := &keeper{}
	k.StepAgent = &adaptertest.StepAgent{Kind: adaptertest.Plain, Choose: func(input string, files map[string]string) []adaptertest.ScriptStep {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.given = append(k.given, files)
		content := "first"
		if strings.HasSuffix(input, "more") {
			content = "second"
		}
		return []adaptertest.ScriptStep{{Output: `"done"`, Files: [][2]string{{"notes", content}}, Last: true}}
	}}
	return k
}

// next runs the agent once more. It returns the files that the agent received and the state's notes.
func (k *keeper) next(b *rig.Bridge, at, more string) (given map[string]string, notes any) {
	b.T.Helper()
	a := b.Post(at+"/runs/wait", `{"assistant_id":"agent",`+more+rig.SaysHi+`}`).OK()
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.given[len(k.given)-1], rig.Dig(a.At("files"), "/notes.content")
}

// A task/step agent receives the files of the state at which its run starts, whatever other runs of the thread created.
// Its own files become part of that state even if such a run created the same.
func TestFilesFollowTheStateOfTheRun(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		between func(b *rig.Bridge, at, run string) (more string)
		given   map[string]string
	}{
		"nothing happens": {func(*rig.Bridge, string, string) string { return "" }, map[string]string{"notes": "first"}},
		"the run is deleted": {func(b *rig.Bridge, at, run string) string {
			b.Do("DELETE", run, "").Is(204)
			return ""
		}, map[string]string{}},
		"a fork from before": {func(b *rig.Bridge, at, run string) string {
			history := b.Get(at + "/history?limit=50").OK().List("")
			return fmt.Sprintf(`"checkpoint_id":"%s",`, rig.Dig(history[len(history)-1], "checkpoint.checkpoint_id"))
		}, map[string]string{}},
		"a later run is deleted": {func(b *rig.Bridge, at, run string) string {
			later := at + "/runs/" + b.Post(at+"/runs", `{"assistant_id":"agent",`+rig.SaysMore+`}`).OK().Text("run_id")
			b.Get(later + "/join").OK()
			b.Do("DELETE", later, "").Is(204)
			return ""
		}, map[string]string{"notes": "first"}},
		"a client writes into the state": {func(b *rig.Bridge, at, run string) string {
			b.Post(at+"/state", `{"values":{"files":{"/notes":"by hand","/in/new":"too"}}}`).OK()
			return ""
		}, map[string]string{"notes": "by hand", "in/new": "too"}},
		"a client takes it out of the state": {func(b *rig.Bridge, at, run string) string {
			b.Post(at+"/state", `{"values":{"files":{"/notes":null}}}`).OK()
			return ""
		}, map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := newKeeper()
			b := rig.InFront(t, agent)
			at := b.Thread()
			run := b.Begin(at, "")
			b.Get(run + "/join").OK()
			given, notes := agent.next(b, at, tt.between(b, at, run))
			if diff := cmp.Diff(tt.given, given); diff != "" {
				t.Errorf("files that the agent received (-want +got):\n%s", diff)
			}
			if notes != "first" {
				t.Errorf("the notes in the state are %v", notes)
			}
		})
	}
}
