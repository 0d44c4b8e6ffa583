package rig

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/adapter/adaptertest/toy"
	"github.com/google/go-cmp/cmp"
)

// Behind is a kind of agent behind the bridge.
type Behind struct {
	Name string
	Peer func() adaptertest.Peer
	// Texts are the outputs of one turn in every face.
	Texts []string
	// TakesFiles means that files reach the agent.
	TakesFiles bool
	Steps      bool // a task/step agent that writes a file
	// Checkpoints is the number of checkpoints of one turn.
	Checkpoints int
}

// file returns the path of the agent's out/result.txt in the state.
func (w Behind) file() string {
	if w.Name == string(adaptertest.Bee) {
		return "/result.txt" // it returns files without their folders
	}
	return "/out/result.txt"
}

// AgentsBehind returns agents of every kind.
func AgentsBehind() []Behind {
	var list []Behind
	for _, kind := range adaptertest.Kinds {
		texts := []string{"one", "two", "three"}
		switch kind {
		case adaptertest.Bee:
			texts = []string{`{"text":"one"}`, `{"text":"two"}`, `{"text":"three"}`}
		case adaptertest.Evo:
			texts = []string{`"one"`, `"two"`, `"three"`}
		}
		peer := func() adaptertest.Peer { return adaptertest.NewStepAgent(kind) }
		list = append(list, Behind{string(kind), peer, texts, kind != adaptertest.Bee, true, InputAndSteps})
	}
	peer := func() adaptertest.Peer {
		return &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay(), SecondPlay()}}
	}
	return append(list, Behind{"threadrun", peer, []string{"planning", "thinking <b>", "the answer is 42"}, false, false, scriptedSteps})
}

// InputAndSteps is the number of checkpoints of an opaque agent's turn: the input and one for each of three steps. The
// first turn of a thread has one more.
const InputAndSteps = 1 + 3

// scriptedSteps is the number of steps of the scripted server.
const scriptedSteps = 5

// A2ABehind returns agents that speak A2A, in each version and binding.
func A2ABehind() []Behind {
	var list []Behind
	for name, a := range map[string]*adaptertest.A2AAgent{
		"a2a 1.0": {}, "a2a 1.0 over HTTP": {HTTP: true}, "a2a 0.3": {Version: "0.3"}, "a2a 1.0 polled": {NoStream: true},
	} {
		list = append(list, Behind{name, func() adaptertest.Peer { return a.New() }, []string{"first", "second", "third"}, true, false, InputAndSteps})
	}
	return list
}

// ToyBehind returns an agent of the toy dialect.
func ToyBehind() Behind {
	texts := []string{"one", "two\nlines", "three"}
	return Behind{"toy", func() adaptertest.Peer { return &toy.Agent{Says: texts} }, texts, false, false, InputAndSteps}
}

// SecondPlay returns a second turn of ChatPlay's conversation: the same outputs with new ids, after the messages of the
// first.
func SecondPlay() adaptertest.ThreadPlay {
	play := adaptertest.ChatPlay()
	_, said, _ := strings.Cut(play.State, `"messages":[`)
	said, _, _ = strings.Cut(said, `]},"next"`)
	anew := strings.NewReplacer(`"run-`, `"more-`, "000000000004", "000000000005", `"content":"hi"`, `"content":"more"`)
	whole := strings.NewReplacer(`"messages":[]`, `"messages":[`+said+`]`, `"messages":[`, `"messages":[`+said+`,`)
	for i, f := range play.Frames {
		play.Frames[i] = anew.Replace(f)
		if strings.HasPrefix(f, "values") || strings.HasPrefix(f, "checkpoints") {
			play.Frames[i] = whole.Replace(play.Frames[i])
		}
	}
	play.State = whole.Replace(anew.Replace(play.State))
	return play
}

const (
	SaysHi   = `"input":{"messages":[{"id":"0190c9a2-0000-7000-8000-000000000004","role":"user","content":"hi"}]}`
	SaysMore = `"input":{"messages":[{"id":"0190c9a2-0000-7000-8000-000000000005","role":"user","content":"more"}]}`
)

// PullAll requests steps until the last one. The first POST has a body.
func PullAll(t *testing.T, b *Bridge, at, body string) []Answer {
	t.Helper()
	return PullAtMost(t, b, at, body, 12)
}

// PullAtMost is PullAll, but fails after most steps.
func PullAtMost(t *testing.T, b *Bridge, at, body string, most int) []Answer {
	t.Helper()
	var steps []Answer
	for len(steps) < most {
		step := b.Post(at+"/steps", body).OK()
		steps, body = append(steps, step), ""
		if step.At("is_last") == true {
			return steps
		}
	}
	t.Fatalf("no step was the last: %s", steps[len(steps)-1].Body)
	return nil
}

// CheckSteps checks that one turn's steps are the agent's outputs in order, and that only the last is the last.
func CheckSteps(t *testing.T, who Behind, steps []Answer) {
	t.Helper()
	var texts []string
	for i, s := range steps {
		texts = append(texts, s.Text("output"))
		if s.At("status") != "completed" || s.At("is_last") != (i == len(steps)-1) {
			t.Errorf("step %d: %s", i+1, s.Body)
		}
	}
	if diff := cmp.Diff(who.Texts, texts); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
}

// CheckTurns checks that the state has the words of each turn, each with its outputs.
func CheckTurns(t *testing.T, what string, values any, who Behind, turns int) {
	t.Helper()
	var want []any
	for _, words := range []string{"hi", "more"}[:turns] {
		want = append(append(want, words), Anys(who.Texts)...)
	}
	list, _ := Dig(values, "messages").([]any)
	if diff := cmp.Diff(want, Pluck(list, "content")); diff != "" {
		t.Errorf("%s: messages (-want +got):\n%s", what, diff)
	}
	seen := map[any]bool{}
	for _, id := range Pluck(list, "id") {
		if id == nil || seen[id] {
			t.Errorf("%s: the message id %v is missing or there twice", what, id)
		}
		seen[id] = true
	}
	if !who.Steps {
		return
	}
	files, _ := Dig(values, "files").(map[string]any)
	if file := Dig(files[who.file()], "content"); file != "42" {
		t.Errorf("%s: the agent's file is %v among %v", what, file, files)
	}
}

// CheckFrames checks that metadata is first, that each step has one update, and that every frame has a new id.
func CheckFrames(t *testing.T, frames []Frame, who Behind) {
	t.Helper()
	if len(frames) == 0 || frames[0].Event != "metadata" {
		t.Fatalf("frames %s", EventNames(frames))
	}
	seen, updates := map[string]bool{}, 0
	for _, f := range frames {
		if f.ID == "" || seen[f.ID] {
			t.Errorf("frame %s has id %q", f.Event, f.ID)
		}
		seen[f.ID] = true
		if f.Event == "updates" {
			updates++
		}
	}
	if updates != len(who.Texts) {
		t.Errorf("%d updates, want %d: %s", updates, len(who.Texts), EventNames(frames))
	}
}

// Anys returns the strings in the form of decoded JSON.
func Anys(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}
