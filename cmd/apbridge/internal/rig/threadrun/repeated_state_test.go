package threadrun

import (
	"fmt"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// Servers repeat the checkpoint at which a run continues. It is in the history once, and also in the stream for clients
// that follow checkpoints.
func TestContinuedRunsRepeatNoCheckpoint(t *testing.T) {
	t.Parallel()
	const (
		begun = `{"messages":[{"type":"human","content":"hi","id":"h1"}]}`
		ended = `{"messages":[{"type":"human","content":"hi","id":"h1"},{"type":"ai","content":"ho","id":"a1"}]}`
	)
	point := func(values, metadata, next string) string {
		return `checkpoints {"values":` + values + `,"metadata":` + metadata + `,"next":` + next + `}`
	}
	state := func(values, metadata, next string) string {
		return `{"values":` + values + `,"next":` + next + `,"tasks":[],"metadata":` + metadata + `,"checkpoint":{"checkpoint_id":"{{checkpoint}}"}}`
	}
	const made = `{"run_id":"{{run}}","source":"loop","step":0}`
	stops := adaptertest.ThreadPlay{
		Frames: []string{`metadata {"run_id":"{{run}}"}`, point(`{"messages":[]}`, `{"source":"input","step":-1}`, `["__start__"]`), "values " + begun,
			point(begun, `{"source":"loop","step":0}`, `["answer"]`), `updates {"__interrupt__":[]}`},
		State: state(begun, made, `["answer"]`),
	}
	goesOn := func(metadata string, step int) adaptertest.ThreadPlay {
		return adaptertest.ThreadPlay{
			Frames: []string{`metadata {"run_id":"{{run}}"}`, "values " + begun, point(begun, metadata, `["answer"]`), `updates {"answer":{"messages":[]}}`,
				"values " + ended, point(ended, fmt.Sprintf(`{"source":"loop","step":%d}`, step+1), `[]`)},
			State: state(ended, `{"run_id":"{{run}}"}`, `[]`),
		}
	}
	for name, c := range map[string]struct {
		second adaptertest.ThreadPlay
		update bool
		shown  string // the source of the first checkpoint that the second run shows
		made   int    // checkpoints in total
	}{
		"after a stop":      {goesOn(`{"run_id":"01a1fc7d-bb54-710b-addd-000000000099","source":"loop","step":0,"user_id":"ada","api_key":"plain-secret"}`, 0), false, "loop", 3},
		"after an update":   {goesOn(`{"graph_id":"agent","source":"update","step":1}`, 1), true, "update", 4},
		"from a fork":       {goesOn(`{"source":"fork","step":1}`, 1), false, "fork", 4},
		"after an input":    {goesOn(`{"source":"input","step":1}`, 1), false, "input", 4},
		"a run of the same": {goesOn(`{"run_id":"{{run}}","source":"loop","step":1}`, 1), false, "loop", 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := rig.InFront(t, &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{stops, c.second}}, rig.AsThreads)
			at := b.Thread()
			b.Post(at+"/runs/wait", `{"assistant_id":"agent","input":{"messages":[]},"interrupt_before":["answer"]}`).OK()
			if c.update {
				b.Post(at+"/state", `{"values":`+begun+`,"as_node":"plan"}`).OK()
			}
			stream := b.Post(at+"/runs/stream", `{"assistant_id":"agent","input":null,"stream_mode":["checkpoints"]}`).OK()
			if want := `"source":"` + c.shown + `"`; !rig.Says(string(stream.Body), want) || rig.Says(string(stream.Body), "plain-secret") {
				t.Errorf("the stream lacks %s, or contains a credential: %s", want, stream.Body)
			}
			history := b.Get(at + "/history").OK()
			if got := len(history.List("")); got != c.made {
				t.Errorf("%d checkpoints, want %d: %s", got, c.made, history.Body)
			}
			if got := history.Text("0.metadata.source"); got != "loop" {
				t.Errorf("the newest checkpoint is of %s", got)
			}
		})
	}
}
