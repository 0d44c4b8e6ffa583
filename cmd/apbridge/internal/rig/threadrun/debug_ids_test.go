package threadrun

import (
	"slices"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// TestDebugCheckpointsCanBeRead checks that the ids of checkpoints in debug frames can be used to read states and to
// start runs.
func TestDebugCheckpointsCanBeRead(t *testing.T) {
	t.Parallel()
	play := adaptertest.ChatPlay()
	play.Frames = slices.Insert(play.Frames, 4,
		`debug {"type":"checkpoint","step":0,"payload":{"checkpoint":{"thread_id":"{{thread}}","checkpoint_id":"1f1e5690-34be-6bb0-8004-728dfabeb732"}}}`)
	b := rig.InFront(t, &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{play}})
	thread := b.Thread()
	_, frames := b.Stream("POST", thread+"/runs/stream", `{"assistant_id":"agent","stream_mode":["debug"],`+rig.SaysHi+`}`, 0)
	var ids []string
	for _, f := range frames {
		if f.Event != "debug" {
			continue
		}
		ids = append(ids, f.At("payload.checkpoint.checkpoint_id").(string))
		if got := f.At("payload.checkpoint.thread_id").(string); "/threads/"+got != thread {
			t.Errorf("thread: %s", got)
		}
	}
	if len(ids) != 1 {
		t.Fatalf("checkpoints: %q", ids)
	}
	if got := b.Get(thread + "/state/" + ids[0]).OK(); got.At("metadata.step") != 0.0 || len(got.List("values.messages")) != 1 {
		t.Errorf("%s", got.Body)
	}
	b.Post(thread+"/runs/wait", `{"assistant_id":"agent","checkpoint_id":"`+ids[0]+`",`+rig.SaysHi+`}`).OK()
}

// TestDebugNamesTheCheckpointsBeforeTheRun checks a run that repeats the checkpoint at which it continues. Its frames
// have the same ids of this checkpoint and its parent as the history.
func TestDebugNamesTheCheckpointsBeforeTheRun(t *testing.T) {
	t.Parallel()
	again := adaptertest.ChatPlay()
	again.Frames = slices.Insert(again.Frames, 1,
		`checkpoints {"values":{"messages":[]},"metadata":{"source":"loop","step":2,"run_id":"of the run before"},"next":[]}`,
		`debug {"type":"checkpoint","step":2,"payload":{"checkpoint":{"checkpoint_id":"theirs"},"parent_checkpoint":{"checkpoint_id":"before theirs"}}}`)
	b := rig.InFront(t, &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay(), again}})
	thread := b.Thread()
	b.Post(thread+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`).OK()
	history := b.Get(thread + "/history").OK()
	_, frames := b.Stream("POST", thread+"/runs/stream", `{"assistant_id":"agent","stream_mode":["debug"],`+rig.SaysHi+`}`, 0)
	i := slices.IndexFunc(frames, func(f rig.Frame) bool { return f.Event == "debug" })
	if i < 0 {
		t.Fatalf("no debug frame in %v", frames)
	}
	for path, want := range map[string]string{
		"payload.checkpoint.checkpoint_id":        history.Text("0.checkpoint.checkpoint_id"),
		"payload.parent_checkpoint.checkpoint_id": history.Text("1.checkpoint.checkpoint_id"),
	} {
		if got := frames[i].At(path); got != want {
			t.Errorf("%s is %v, want %s", path, got, want)
		}
	}
}
