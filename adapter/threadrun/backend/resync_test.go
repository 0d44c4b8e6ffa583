package backend

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/google/go-cmp/cmp"
)

// fold returns the final state of a chat in the bridge.
func fold(t *testing.T, tr adaptertest.Trace) *state.Fold {
	t.Helper()
	var last json.RawMessage
	for _, ev := range tr.Events {
		if ev.Kind == mapping.KindState {
			last = ev.Data
		}
	}
	f, err := state.NewFold(last)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestTheNextRunRecognisesTheThread(t *testing.T) {
	t.Parallel()
	ids := `"run_id":"{{run}}",`
	for _, c := range []struct {
		name  string
		state func(string) string
		fresh bool // the agent's state is yielded as a separate state
	}{
		{"the same checkpoint", func(s string) string { return s }, false},
		{"a server that does not say which run it was", func(s string) string { return strings.Replace(s, ids, "", 1) }, false},
		{"keys in another order", func(s string) string {
			return strings.NewReplacer(ids, "", `{"content":"hi","additional_kwargs":{}`, `{"additional_kwargs":{},"content":"hi"`).Replace(s)
		}, false},
		{"another run", func(s string) string {
			return strings.NewReplacer("{{run}}", "01a1fc7d-0000", "the answer is 42", "43").Replace(s)
		}, true},
		{"another run with the same values", func(s string) string { return strings.Replace(s, "{{run}}", "01a1fc7d-0000", 1) }, false},
		{"a state update", func(s string) string {
			return strings.NewReplacer(`"source":"loop"`, `"source":"update"`, "the answer is 42", "43").Replace(s)
		}, true},
		{"work is pending", func(s string) string {
			return strings.NewReplacer(ids, "", `"next":[]`, `"next":["plan"]`).Replace(s)
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			play := adaptertest.ChatPlay()
			play.State = c.state(play.State)
			a := playing(play)
			b := scripted(t, a)
			first := adaptertest.Collect(within(t), b, adaptertest.NewTask(nil), 0)
			task := then(first, "again")
			task.State = fold(t, first)
			tr := adaptertest.Collect(within(t), b, task, 0)
			if tr.Err != nil || a.Calls(routeState) != 1 || a.Calls(routeThread) != 0 || a.Calls(routeStart) != 2 {
				t.Errorf("error %v, %d reads of the state, %d threads, %d runs", tr.Err, a.Calls(routeState), a.Calls(routeThread), a.Calls(routeStart))
			}
			cp := tr.Events[0].Head.Checkpoint
			if got := cp != nil && cp.Source == "upstream"; got != c.fresh {
				t.Errorf("first event %+v", tr.Events[0])
			}
		})
	}
}

// If a stream does not prove the end of the run, the server is asked.
func TestEndsThatAreAskedFor(t *testing.T) {
	t.Parallel()
	whole := adaptertest.ChatPlay()
	for _, c := range []struct {
		name   string
		frames []string
	}{
		{"no checkpoints", framesBut(whole.Frames, "checkpoints")},
		{"something behind the last checkpoint", append(whole.Frames[:len(whole.Frames):len(whole.Frames)], `updates {"more":{"x":1}}`)},
		{"a task behind the last checkpoint", append(whole.Frames[:len(whole.Frames):len(whole.Frames)], `tasks {"id":"t","name":"more","input":{},"interrupts":[]}`)},
		{"no run id in the frames", whole.Frames[1:]},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			play := whole
			play.Frames = c.frames
			a := playing(play)
			tr := run(t, a, adaptertest.NewTask(nil))
			want := 1
			if c.name == "no run id in the frames" {
				want = 0 // the run is named in the header
			}
			if tr.Err != nil || tr.End() == nil || tr.End().Status != mapping.RunSuccess || a.Calls(routeState) != want {
				t.Errorf("error %v, %d reads of the state, outcome %+v", tr.Err, a.Calls(routeState), tr.End())
			}
		})
	}
}

func framesBut(frames []string, name string) []string {
	var list []string
	for _, f := range frames {
		if !strings.HasPrefix(f, name+" ") {
			list = append(list, f)
		}
	}
	return list
}

func TestTheRunCreatesItsThread(t *testing.T) {
	t.Parallel()
	a := playing(adaptertest.ChatPlay())
	task := adaptertest.NewTask(nil)
	task.Run.Metadata = json.RawMessage(`{"created_by":"system","graph_id":"g","assistant_id":"x","apbridge":{"task_id":"t"}}`)
	if tr := run(t, a, task); tr.Err != nil {
		t.Fatal(tr.Err)
	}
	body := object(a.Bodies(routeStart)[0])
	if string(body["if_not_exists"]) != `"create"` || a.Calls(routeThread) != 0 {
		t.Errorf("if_not_exists %s, %d threads created before", body["if_not_exists"], a.Calls(routeThread))
	}
	sameJSON(t, body["metadata"], `{"apbridge_run_id":"`+adaptertest.RunID+`","apbridge_task_id":"t","apbridge_thread_id":"`+adaptertest.ThreadID+`","apbridge_first_run_id":"`+adaptertest.RunID+`"}`)
}

// A server that requires an existing thread is recognised once.
func TestServersThatDoNotCreateThreads(t *testing.T) {
	t.Parallel()
	a := playing(adaptertest.ChatPlay())
	a.NoCreate = true
	b := scripted(t, a)
	for i := range 3 {
		task := say("hi")
		if tr := adaptertest.Collect(within(t), b, task, 0); tr.Err != nil || a.Work() != i+1 {
			t.Fatalf("run %d: error %v, %d runs", i, tr.Err, a.Work())
		}
	}
	if a.Calls(routeThread) != 3 || a.Calls(routeStart) != 4 {
		t.Errorf("%d threads, %d POSTs of runs", a.Calls(routeThread), a.Calls(routeStart))
	}
	if m := object(object(a.Bodies(routeStart)[1])["metadata"]); m[firstKey] != nil {
		t.Errorf("a run on an existing thread names the origin of the thread: %s", m)
	}
}

// TestRunsOfOthers checks whether upstream runs are recognized as the bridge's own by their marks.
func TestRunsOfOthers(t *testing.T) {
	t.Parallel()
	entry := func(id, metadata string) string {
		return `{"run_id":"` + id + `","created_at":"` + id + `","metadata":` + metadata + `}`
	}
	text := "[" + strings.Join([]string{
		entry("5", `{"apbridge_run_id":"B","apbridge_first_run_id":"A"}`), // ours, later
		entry("4", `{"apbridge_run_id":"A","apbridge_first_run_id":"A"}`), // another client's: the mark is the thread's
		entry("3", `{}`), // another client's
		entry("1", `{"apbridge_run_id":"A","apbridge_first_run_id":"A"}`),            // the one that made the thread
		entry("6", `{"apbridge_run_id":"C"}`), entry("7", `{"apbridge_run_id":"C"}`), // steps of one run
	}, ",") + "]"
	var list []runWire
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	unmark(list)
	got := map[string]string{}
	for _, r := range list {
		got[r.ID] = r.ours()
	}
	want := map[string]string{"5": "B", "4": "", "3": "", "1": "A", "6": "C", "7": "C"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
