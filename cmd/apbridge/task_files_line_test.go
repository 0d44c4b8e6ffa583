package main

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/google/go-cmp/cmp"
)

// keeper is a task/step agent that writes the file notes, always the same
// unless its input is "more", and notes what files it was given.
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

// next runs the agent once more, and returns what files it was given and what
// became of notes in the state.
func (k *keeper) next(b *bridge, at, more string) (given map[string]string, notes any) {
	b.t.Helper()
	a := b.post(at+"/runs/wait", `{"assistant_id":"agent",`+more+saysHi+`}`).ok()
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.given[len(k.given)-1], dig(a.at("files"), "/notes.content")
}

// A task/step agent is given the files of the state that its run stands on,
// whatever other runs of the thread made, and what it makes comes into that
// state even if such a run had made the same.
func TestFilesFollowTheStateOfTheRun(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		between func(b *bridge, at, run string) (more string)
		given   map[string]string
	}{
		"nothing happens": {func(*bridge, string, string) string { return "" }, map[string]string{"notes": "first"}},
		"the run is deleted": {func(b *bridge, at, run string) string {
			b.do("DELETE", run, "").is(204)
			return ""
		}, map[string]string{}},
		"a fork from before": {func(b *bridge, at, run string) string {
			history := b.get(at + "/history?limit=50").ok().list("")
			return fmt.Sprintf(`"checkpoint_id":"%s",`, dig(history[len(history)-1], "checkpoint.checkpoint_id"))
		}, map[string]string{}},
		"a later run is deleted": {func(b *bridge, at, run string) string {
			later := at + "/runs/" + b.post(at+"/runs", `{"assistant_id":"agent",`+saysMore+`}`).ok().text("run_id")
			b.get(later + "/join").ok()
			b.do("DELETE", later, "").is(204)
			return ""
		}, map[string]string{"notes": "first"}},
		"a client writes into the state": {func(b *bridge, at, run string) string {
			b.post(at+"/state", `{"values":{"files":{"/notes":"by hand","/in/new":"too"}}}`).ok()
			return ""
		}, map[string]string{"notes": "by hand", "in/new": "too"}},
		"a client takes it out of the state": {func(b *bridge, at, run string) string {
			b.post(at+"/state", `{"values":{"files":{"/notes":null}}}`).ok()
			return ""
		}, map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := newKeeper()
			b := inFront(t, agent)
			at := b.thread()
			run := b.begin(at, "")
			b.get(run + "/join").ok()
			given, notes := agent.next(b, at, tt.between(b, at, run))
			if diff := cmp.Diff(tt.given, given); diff != "" {
				t.Errorf("what the agent was given (-want +got):\n%s", diff)
			}
			if notes != "first" {
				t.Errorf("its file in the state is %v", notes)
			}
		})
	}
}
