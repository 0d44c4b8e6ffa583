package threadrun

import (
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// A page that shows the state of a checkpoint joins a run after that checkpoint (SDK 1.15, checkpointId).
func TestJoinAfterACheckpoint(t *testing.T) {
	t.Parallel()
	for name, agent := range rig.EitherKind() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := rig.InFront(t, agent())
			at := b.Thread()
			other := b.Begin(at, "")
			b.Get(other + "/join").OK()
			foreign := b.Get(at + "/state").OK().Text("checkpoint.checkpoint_id")
			run := b.Begin(at, `"stream_mode":["values","updates"],`)
			b.Get(run + "/join").OK()
			_, whole := b.Stream("GET", run+"/stream", "", 0, "Last-Event-ID", "-1")
			states := b.Get(at + "/history?limit=3").OK()
			point := "checkpoint_id=" + states.At("1.checkpoint.checkpoint_id").(string)
			for _, from := range [][]string{{"Last-Event-ID", "-1"}, {"Last-Event-ID", ""}, nil} {
				_, rest := b.Stream("GET", run+"/stream?"+point, "", 0, from...)
				if len(rest) == 0 || len(rest) >= len(whole) || !slices.Equal(rest, whole[len(whole)-len(rest):]) {
					t.Errorf("%v: after the checkpoint there are %s of %s", from, rig.EventNames(rest), rig.EventNames(whole))
				}
				if strings.Contains(rig.EventNames(rest), "metadata") {
					t.Errorf("%v: the stream repeats the run's beginning: %s", from, rig.EventNames(rest))
				}
			}
			_, all := b.Stream("GET", run+"/stream?checkpoint_id="+foreign, "", 0, "Last-Event-ID", "-1")
			_, last := b.Stream("GET", run+"/stream?"+point, "", 0, "Last-Event-ID", whole[len(whole)-2].ID)
			if len(all) != len(whole) || len(last) != 1 {
				t.Errorf("after another run's checkpoint there are %d of %d frames, after the last frame but one %d", len(all), len(whole), len(last))
			}
			b.Get(run+"/stream?checkpoint_id=x").Want(t, 422, "checkpoint_id must be a UUID")
		})
	}
}

// A client may request only some namespaces of a run (SDK 1.15, streamNamespaces).
func TestStreamOfSomeNamespaces(t *testing.T) {
	t.Parallel()
	play := adaptertest.ChatPlay()
	play.Frames = slices.Insert(play.Frames, 5,
		`updates|sub:1 {"inner":{"n":1}}`, `values|sub:1 {"n":1}`, `updates|sub:1|deep:2 {"deepest":{"n":2}}`)
	agent := &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{play}}
	b := rig.InFront(t, agent, rig.AsThreads)
	at := b.Thread()
	const body = `{"assistant_id":"agent","stream_mode":["updates"],` + rig.SaysHi + `}`
	started, frames := b.Stream("POST", at+"/runs/stream?namespace=sub:1", body, 0)
	if got := rig.EventNames(frames); got != "metadata updates|sub:1" {
		t.Errorf("frames of the subgraph: %s", got)
	}
	run := started.Header.Get("Content-Location")
	for query, want := range map[string]string{
		"namespace=":                          "metadata updates updates updates",
		"namespace=sub:1|deep:2":              "metadata updates|sub:1|deep:2",
		"namespace=&namespace=sub:1":          "metadata updates|sub:1 updates updates updates",
		"namespace=other":                     "metadata",
		"namespace=sub:1&stream_mode=values":  "metadata values|sub:1",
		"namespace=sub:1&stream_mode=updates": "metadata updates|sub:1",
	} {
		if _, frames := b.Stream("GET", run+"/stream?"+query, "", 0, "Last-Event-ID", "-1"); rig.EventNames(frames) != want {
			t.Errorf("%s: %s", query, rig.EventNames(frames))
		}
	}
	if b.Get("/info").OK().At("flags.stream_namespaces") != true {
		t.Error("/info does not list the support of namespaces")
	}
}

// TestStreamIDsOfTheOlderNumbering checks that a client with an id in the older numbering gets the event's frames after
// its message again, and everything after that once.
func TestStreamIDsOfTheOlderNumbering(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	at := b.Thread()
	run := at + "/runs/" + b.Post(at+"/runs", `{"assistant_id":"agent","stream_mode":["updates","values"],`+rig.SaysHi+`}`).OK().Text("run_id")
	_, whole := b.Stream("GET", run+"/stream", "", 0, "Last-Event-ID", "-1")
	i := slices.IndexFunc(whole, func(f rig.Frame) bool { return f.Event == "updates" })
	event, slot, _ := strings.Cut(whole[i].ID, ".")
	if slot != "135" {
		t.Fatalf("the id of an update is %s", whole[i].ID)
	}
	_, rest := b.Stream("GET", run+"/stream", "", 0, "Last-Event-ID", event+".7")
	j := slices.IndexFunc(rest, func(f rig.Frame) bool { return f.ID == whole[i].ID })
	if j < 0 || !slices.Equal(rest[j:], whole[i:]) || slices.ContainsFunc(rest[:j], func(f rig.Frame) bool { return !strings.HasPrefix(f.ID, event+".") }) {
		t.Errorf("after %s.7 there are %v of %v", event, rest, whole)
	}
}
