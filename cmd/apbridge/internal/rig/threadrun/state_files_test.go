package threadrun

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/google/go-cmp/cmp"
)

// saidWith returns a human message with some parts.
func saidWith(id string, parts ...string) string {
	return fmt.Sprintf(`{"type":"human","id":%q,"content":[%s]}`, id, strings.Join(parts, ","))
}

const text = `{"type":"text","text":"look"}`

// TestFilesOfAStateUpdate checks that files in messages of a state update, or of a new thread's states, become
// artifacts with it, and that the next run's agent receives them.
func TestFilesOfAStateUpdate(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, echo())
	values := `{"messages":[` + saidWith("m1", text, image) + `]}`
	for name, bring := range map[string]func() string{
		"an update": func() string {
			at := b.Thread()
			b.Post(at+"/state", `{"values":`+values+`}`).OK()
			b.Post(at+"/state", `{"values":`+values+`}`).OK() // repeating it adds nothing
			return at
		},
		"supersteps": func() string {
			return "/threads/" + b.Post("/threads", `{"supersteps":[{"updates":[{"values":`+values+`,"as_node":"x"}]}]}`).OK().Text("thread_id")
		},
		"a patch": func() string {
			at := b.Thread()
			b.Do("PATCH", at, `{"values":`+values+`}`).OK()
			return at
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := bring()
			if diff := cmp.Diff([]string{"a.png"}, artifactNames(b, at)); diff != "" {
				t.Errorf("artifacts (-want +got):\n%s", diff)
			}
			got := said(t, b.Post(at+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysMore+`}`))
			if !strings.Contains(got, "User: look\n[Attached file: a.png]") || !strings.HasSuffix(got, " | a.png=hi") {
				t.Errorf("the agent received %q", got)
			}
		})
	}
}

// TestValuesFilesOfAStateUpdate checks that values.files of an update, and of a new thread's states, become artifacts
// at once, with the bytes that agents receive, and that files removed from the state are no longer artifacts.
func TestValuesFilesOfAStateUpdate(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, echo())
	wants := func(t *testing.T, at string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, artifactNames(b, at)); diff != "" {
			t.Errorf("artifacts (-want +got):\n%s", diff)
		}
	}
	const first = `{"files":{"/a.txt":"one","/b.txt":{"content":["two","lines"]}}}`
	for name, bring := range map[string]func() string{
		"an update": func() string {
			at := b.Thread()
			b.Post(at+"/state", `{"values":`+first+`}`).OK()
			return at
		},
		"supersteps": func() string {
			return "/threads/" + b.Post("/threads", `{"supersteps":[{"updates":[{"values":{"files":{"/c.txt":"gone"}}}]},{"updates":[{"values":{"files":{"/c.txt":null}}},{"values":`+first+`}]}]}`).OK().Text("thread_id")
		},
		"a patch": func() string {
			at := b.Thread()
			b.Do("PATCH", at, `{"values":`+first+`}`).OK()
			return at
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := bring()
			wants(t, at, "a.txt", "b.txt")
			b.Post(at+"/state", `{"values":{"files":{"/a.txt":"three"}}}`).OK()
			wants(t, at, "a.txt", "b.txt")
			b.Post(at+"/state", `{"values":{"files":{"/b.txt":null}}}`).OK()
			wants(t, at, "a.txt")
			got := said(t, b.Post(at+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysMore+`}`))
			if !strings.HasSuffix(got, " | a.txt=three") {
				t.Errorf("the agent has %q", got)
			}
		})
	}
}

// TestValuesFilesOfAGraphsUpdate checks that an update accepted by the graph brings files as a run does, and that
// invalid files are left to the graph.
func TestValuesFilesOfAGraphsUpdate(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}}, rig.AsThreads)
	at := b.Thread()
	b.Post(at+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`).OK()
	b.Post(at+"/state", `{"values":{"files":{"/a.txt":"one","/../b":"x","/c.txt":7}}}`).OK()
	if diff := cmp.Diff([]string{"a.txt"}, artifactNames(b, at)); diff != "" {
		t.Errorf("artifacts (-want +got):\n%s", diff)
	}
}

// TestBadFilesOfAStateUpdate checks that invalid files are refused and do not change the state.
func TestBadFilesOfAStateUpdate(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, echo())
	at := b.Thread()
	values := `{"messages":[` + saidWith("m1", `{"type":"file","data":"!!!","filename":"f"}`) + `]}`
	b.Post(at+"/state", `{"values":`+values+`}`).Want(t, 422, "values.messages", "is not base64")
	b.Post("/threads", `{"supersteps":[{"updates":[{"values":`+values+`}]}]}`).Want(t, 422, "values.messages", "is not base64")
	for files, want := range map[string]string{`{"/a.txt":7}`: "/a.txt", `{"/../a":"x"}`: "/../a"} {
		b.Post(at+"/state", `{"values":{"files":`+files+`}}`).Want(t, 422, want)
		b.Post("/threads", `{"supersteps":[{"updates":[{"values":{"files":`+files+`}}]}]}`).Want(t, 422, want)
	}
	if history := b.Get(at + "/history").OK().List(""); len(history) != 0 {
		t.Errorf("history: %v", history)
	}
}

// TestGraphsHaveNoFilesOfAStateUpdate checks that a state update adds no files to a graph, whose files are in its
// messages.
func TestGraphsHaveNoFilesOfAStateUpdate(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}}, rig.AsThreads)
	at := b.Thread()
	b.Post(at+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`).OK()
	past := b.Get(at + "/history").OK().Text("1.checkpoint.checkpoint_id")
	b.Post(at+"/state", `{"checkpoint_id":"`+past+`","values":{"messages":[`+saidWith("m1", image, `{"type":"file","data":"!!!"}`)+`]}}`).OK()
	if got := artifactNames(b, at); len(got) != 0 {
		t.Errorf("artifacts: %v", got)
	}
}

// TestMessageReplacedWithoutItsFile checks that the agent no longer receives the file of a message that was replaced by
// one without it. Uploads are kept, and so is the branch with the file.
func TestMessageReplacedWithoutItsFile(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]func(b *rig.Bridge, at, message string){
		"by a run": func(b *rig.Bridge, at, message string) {
			b.Post(at+"/runs/wait", `{"assistant_id":"agent","input":{"messages":[`+message+`]}}`).OK()
		},
		"by an update": func(b *rig.Bridge, at, message string) {
			b.Post(at+"/state", `{"values":{"messages":[]}}`).OK()
			b.Post(at+"/state", `{"values":{"messages":[`+message+`]}}`).OK()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := rig.InFront(t, echo())
			at := b.Thread()
			first(b, at, saidWith("m1", text, image))
			history := b.Get(at + "/history").OK().List("")
			root, tip := rig.TextOf(rig.Dig(history[len(history)-1], "checkpoint.checkpoint_id")), rig.TextOf(rig.Dig(history[0], "checkpoint.checkpoint_id"))
			from := func(point, message string) string {
				return said(t, b.Post(at+"/runs/wait", `{"assistant_id":"agent","checkpoint_id":"`+point+`","input":{"messages":[`+message+`]}}`))
			}
			if got := from(root, saidWith("m1", text)); got != "look" {
				t.Errorf("without the file the agent has %q", got)
			}
			if got := from(tip, saidWith("m2", text)); !strings.HasSuffix(got, " | a.png=hi") {
				t.Errorf("after the message with the file the agent has %q", got)
			}
		})
	}
}
