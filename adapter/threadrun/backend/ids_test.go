package backend

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/adapter/sse"
	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

const (
	theirThread = "4990fcc3-ffa9-566d-a345-c792aebe503c"
	theirRun    = "01a1fe78-3b74-719b-beb6-cc13337c3156"
	theirGraph  = "0813419b-f0e6-579e-bdee-18d9fdf48632"
	ourGraph    = "eb6db400-e3c8-5d06-a834-015cb89efe69"
)

func driverWithIDs(t testing.TB) *runDriver {
	t.Helper()
	b, err := newBackend(adaptertest.Upstream("http://127.0.0.1:1"))
	if err != nil {
		t.Fatal(err)
	}
	task := adaptertest.NewTask(nil)
	task.Run.Agent, task.Run.AssistantID, task.Run.Base = "ours", ourGraph, ourRoot
	task.Graph.Fork = &adapter.Fork{Checkpoint: olderInner}
	s := newRunDriver(context.Background(), b, &task, nil)
	t.Cleanup(s.close)
	s.link = mapping.Link{Remote: theirThread, RemoteRun: theirRun}
	s.target = target{id: theirGraph, graph: "nested"}
	return s
}

func TestIDsAreTheBridges(t *testing.T) {
	t.Parallel()
	s := driverWithIDs(t)
	for given, want := range map[string]string{
		`{"run_id":"` + theirRun + `","thread_id":"` + theirThread + `"}`:                    `{"run_id":"` + adaptertest.RunID + `","thread_id":"` + adaptertest.ThreadID + `"}`,
		`{"thread_id" : "` + theirThread + `"}`:                                              `{"thread_id" : "` + adaptertest.ThreadID + `"}`,
		`{"assistant_id":"` + theirGraph + `","graph_id":"nested","a":1}`:                    `{"assistant_id":"` + ourGraph + `","graph_id":"ours","a":1}`,
		`[{"x":[{"run_id":"` + theirRun + `"}]},{"run_id":"` + theirRun + `"}]`:              `[{"x":[{"run_id":"` + adaptertest.RunID + `"}]},{"run_id":"` + adaptertest.RunID + `"}]`,
		`{"run_id":"another","thread_id":null,"graph_id":{"nested":1},"run_id":1}`:           `{"run_id":"another","thread_id":null,"graph_id":{"nested":1},"run_id":1}`,
		`{"my_run_id":"` + theirRun + `","id":"` + theirRun + `"}`:                           `{"my_run_id":"` + theirRun + `","id":"` + theirRun + `"}`,
		`{"text":"{\"run_id\":\"` + theirRun + `\"}","list":["run_id"],"k":"_id"}`:           `{"text":"{\"run_id\":\"` + theirRun + `\"}","list":["run_id"],"k":"_id"}`,
		`{"checkpoint_id":"` + olderInner + `","x":{"checkpoint_id":"` + newestInner + `"}}`: `{"checkpoint_id":"` + ourRoot + `","x":{"checkpoint_id":"` + newestInner + `"}}`,
		`{"graph_id":"nested2","thread_id":"` + theirThread + `x"}`:                          `{"graph_id":"nested2","thread_id":"` + theirThread + `x"}`,
		`"_id"`: `"_id"`, `["_id"]`: `["_id"]`, `{}`: `{}`, `null`: `null`, ``: ``,
	} {
		if got := string(s.names.own(json.RawMessage(given))); got != want {
			t.Errorf("%s\nis  %s\nnot %s", given, got, want)
		}
	}
}

// Tokens are the most frequent frames, so replacing their run's id must not allocate.
func TestNamingTheRunOfATokenAllocatesNothing(t *testing.T) {
	s := driverWithIDs(t)
	s.target.graph = "ours"
	token := json.RawMessage(`[{"content":"t","id":"run-1","type":"ai"},{"graph_id":"ours","assistant_id":"` + theirGraph + `","thread_id":"` + theirThread + `","run_id":"` + theirRun + `","langgraph_step":12}]`)
	if n := testing.AllocsPerRun(100, func() { s.names.own(token) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

const aboutRun = `{"thread_id":"{{thread}}","run_id":"{{run}}","assistant_id":"fe096781-5601-53d2-b2f6-0d3403f7e9ca","graph_id":"agent"}`

// talkative returns a play whose frames contain ids outside the state.
func talkative() adaptertest.ThreadPlay {
	play := adaptertest.ChatPlay()
	play.Frames = append(play.Frames,
		`messages [{"content":"!","id":"run-3","type":"ai"},`+aboutRun+`]`,
		`messages|inner:1 [{"content":"?","id":"run-4","type":"ai"},`+aboutRun+`]`,
		`tasks {"id":"d996b326-7448-56e6-8ebe-f8899f1ede65","name":"plan","metadata":`+aboutRun+`}`,
		`events {"event":"on_chain_start","name":"LangGraph","run_id":"{{run}}","metadata":`+aboutRun+`}`,
		`debug {"type":"checkpoint","payload":{"config":{"configurable":`+aboutRun+`},"checkpoint":{"thread_id":"{{thread}}"}}}`,
		`checkpoints {"values":{},"metadata":{"source":"loop","step":4,"run_id":"{{run}}","thread_id":"{{thread}}"},"next":[]}`)
	return play
}

// silent returns a play without checkpoints, whose state is read at the end.
func silent() adaptertest.ThreadPlay {
	play := adaptertest.ChatPlay()
	play.Frames = slices.DeleteFunc(play.Frames, func(f string) bool { return strings.HasPrefix(f, "checkpoints") })
	play.State = strings.Replace(play.State, `"tasks":[]`, `"tasks":[{"id":"t1","name":"plan","checkpoint":`+aboutRun+`}]`, 1)
	return play
}

// All ids of the upstream run and thread outside the state are replaced with the bridge's.
func TestNoEventNamesTheUpstreamRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		play adaptertest.ThreadPlay
		told int
	}{{talkative(), 7}, {silent(), 2}} {
		task := adaptertest.NewTask(nil)
		task.Run.Options.StreamModes, task.Run.AssistantID = []string{"events", "debug"}, ourGraph
		tr := run(t, playing(c.play), task)
		if tr.Err != nil {
			t.Fatal(tr.Err)
		}
		all := wordsOf(tr)
		for _, id := range namesOf(tr) {
			if strings.Contains(all, id) {
				t.Errorf("%s is named in %s", id, all)
			}
		}
		if n := strings.Count(all, adaptertest.RunID); n < c.told {
			t.Errorf("the bridge's run is named %d times in %s", n, all)
		}
	}
}

// wordsOf returns the parts of a run's events that clients may see.
func wordsOf(tr adaptertest.Trace) string {
	var all strings.Builder
	for _, ev := range tr.Events {
		all.Write(ev.Data)
		if cp := ev.Head.Checkpoint; cp != nil {
			all.Write(cp.Metadata)
			all.Write(cp.Tasks)
		}
	}
	return all.String()
}

// namesOf returns the agent's ids of the run's thread, run and graph.
func namesOf(tr adaptertest.Trace) []string {
	var link mapping.Link
	for _, ev := range tr.Events {
		if ev.Head.Link != nil {
			link = *ev.Head.Link
		}
	}
	return []string{link.Remote, link.RemoteRun, "fe096781-5601-53d2-b2f6-0d3403f7e9ca"}
}

// A debug frame has the checkpoint of the state before it.
func TestDebugFramesNameTheBridgesCheckpoints(t *testing.T) {
	t.Parallel()
	const debug = `debug {"type":"checkpoint","step":-1,"payload":{"checkpoint":{"checkpoint_id":"1f1e5b64-c196"},"parent_checkpoint":null}}`
	const later = `debug {"type":"checkpoint","step":0,"payload":{"checkpoint":{"checkpoint_id":"1f1e5b64-c1a5"},"parent_checkpoint":{"checkpoint_id":"1f1e5b64-c196"}}}`
	const inner = `debug|inner:1 {"type":"checkpoint","step":0,"payload":{"checkpoint":{"checkpoint_id":"deep","checkpoint_map":{"":"1f1e5b64-c1a5"}}}}`
	const short = `checkpoints|inner:1 {"values":{},"metadata":{"step":0,"parents":{"":"1f1e5b64-c1a5"}},"next":[]}`
	play := adaptertest.ChatPlay()
	play.Frames = slices.Insert(play.Frames, 4, later, inner, short)
	play.Frames = slices.Insert(play.Frames, 2, debug)
	task := adaptertest.NewTask(nil)
	task.Run.Options.StreamModes = []string{"debug"}
	tr := run(t, playing(play), task)
	if tr.Err != nil {
		t.Fatal(tr.Err)
	}
	var made, told []string
	for _, ev := range tr.Events {
		if ev.Head.Checkpoint != nil && len(made) < 2 {
			made = append(made, ev.Head.Checkpoint.ID)
		}
		if ev.Head.Name == "debug" || ev.Head.Name == "checkpoints" && len(ev.Head.NS) > 0 {
			told = append(told, string(ev.Data))
		}
	}
	want := []string{
		`{"type":"checkpoint","step":-1,"payload":{"checkpoint":{"checkpoint_id":"` + made[0] + `"},"parent_checkpoint":null}}`,
		`{"type":"checkpoint","step":0,"payload":{"checkpoint":{"checkpoint_id":"` + made[1] + `"},"parent_checkpoint":{"checkpoint_id":"` + made[0] + `"}}}`,
		`{"type":"checkpoint","step":0,"payload":{"checkpoint":{"checkpoint_id":"deep","checkpoint_map":{"":"` + made[1] + `"}}}}`,
		`{"values":{},"metadata":{"step":0,"parents":{"":"` + made[1] + `"}},"next":[]}`,
	}
	if diff := cmp.Diff(want, told); diff != "" || made[0] == "" || made[0] == made[1] {
		t.Errorf("of %q (-want +got):\n%s", made, diff)
	}
}

// TestDebugFramesNameWhatWasBeforeTheRun checks that the checkpoint at which a run begins has the bridge's id. If the
// checkpoint is sent again, its parent and the run that created it also have the bridge's ids. A resumed run knows its
// earlier checkpoints.
func TestDebugFramesNameWhatWasBeforeTheRun(t *testing.T) {
	t.Parallel()
	const made = `debug {"type":"checkpoint","step":3,"payload":{"metadata":{"source":"loop"},"checkpoint":{"checkpoint_id":"c3"},"parent_checkpoint":{"checkpoint_id":"c2"}}}`
	const state = `checkpoints {"values":{},"metadata":{"source":"loop","step":3},"next":[]}`
	for name, c := range map[string]struct {
		frames [2]string
		after  []mapping.Event
		want   []string
	}{
		"a new checkpoint": {frames: [2]string{state, made}, want: []string{`"parent_checkpoint":{"checkpoint_id":"base"}`}},
		"it is told again": {frames: [2]string{
			`checkpoints {"values":{},"metadata":{"source":"loop","step":2,"run_id":"earlier","apbridge_run_id":"ours"},"next":["n"]}`,
			`debug {"type":"checkpoint","step":2,"payload":{"metadata":{"run_id":"earlier","apbridge_run_id":"ours"},"checkpoint":{"checkpoint_id":"c2"},"parent_checkpoint":{"checkpoint_id":"c1"}}}`,
		}, want: []string{`"run_id":"ours"`, `"checkpoint":{"checkpoint_id":"base"}`, `"parent_checkpoint":{"checkpoint_id":"before"}`}},
		"it is taken up again": {frames: [2]string{state, made}, after: []mapping.Event{{Kind: mapping.KindState, Head: mapping.Head{Checkpoint: &mapping.Checkpoint{ID: "logged"}}}},
			want: []string{`"parent_checkpoint":{"checkpoint_id":"logged"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task := adaptertest.NewTask(nil)
			task.Run.Options.StreamModes, task.Run.Base, task.Graph.BaseParent, task.After = []string{"debug"}, "base", "before", c.after
			task.Link.RemoteRun = "newest"
			var frames []sse.Event
			for _, f := range c.frames {
				event, data, _ := strings.Cut(f, " ")
				frames = append(frames, sse.Event{Name: event, Data: []byte(data)})
			}
			tr := framesOf(t, task, frames...)
			told := string(tr.Events[len(tr.Events)-1].Data)
			for _, want := range c.want {
				if tr.Err != nil || !strings.Contains(told, want) {
					t.Errorf("%v: %s lacks %s", tr.Err, told, want)
				}
			}
		})
	}
}

func FuzzOwn(f *testing.F) {
	for _, seed := range []string{`_id"`, `"run_id":`, `{"run_id":"` + theirRun + `"}`, `{"graph_id" :` + "\n" + `"nested"}`, `[{"thread_id":"` + theirThread + `","_id":{}}]`} {
		f.Add([]byte(seed))
	}
	s := driverWithIDs(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		valid := json.Valid(data)
		if got := s.names.own(slices.Clone(data)); valid != json.Valid(got) {
			t.Errorf("%q became %q", data, got)
		}
	})
}
