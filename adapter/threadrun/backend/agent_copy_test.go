package backend

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/google/go-cmp/cmp"
)

const (
	routeDeep   = "POST /threads/{t}/state/checkpoint"
	routeAt     = "GET /threads/{t}/state/{c}"
	ourRoot     = "0190c9a2-0000-7000-8000-0000000000aa"
	ourAgent    = "ours"
	newestInner = "1f1eb537-e878-66a0-8001-1d1c70881edc"
	olderInner  = "1f1eb537-e84a-6070-8000-302b763e3353"
)

// readingCopy returns the copy of a thread whose open question was asked two graphs deep.
func readingCopy(t *testing.T) (a *adaptertest.ThreadAgent, b *backend, c adapter.Copy, at adapter.Fork) {
	t.Helper()
	a = playing(adaptertest.InnerPlay(false))
	served := scripted(t, a)
	tr := adaptertest.Collect(within(t), served, adaptertest.NewTask(nil), 0)
	if tr.Err != nil {
		t.Fatal(tr.Err)
	}
	link := linkOf(tr)
	return a, served.(*backend), adapter.Copy{Link: link, ThreadID: adaptertest.ThreadID, Agent: ourAgent, AssistantID: mapping.AssistantID(ourAgent), Checkpoint: ourRoot},
		adapter.Fork{Run: link.RemoteRun, Step: 0}
}

// inside returns the value at a path of member names and list indices.
func inside(t *testing.T, value json.RawMessage, path ...any) string {
	t.Helper()
	for _, p := range path {
		switch p := p.(type) {
		case string:
			value = rawjson.Get(value, p)
		case int:
			value = rawjson.ElementsOf(value)[p]
		}
	}
	return string(value)
}

// TestTasksHaveTheStatesOfInnerGraphs checks that the states have the bridge's ids, except the ids of inner
// checkpoints. A state that is no longer the agent's newest is found by its run and step.
func TestTasksHaveTheStatesOfInnerGraphs(t *testing.T) {
	t.Parallel()
	for name, older := range map[string]bool{"its newest state": false, "an older one": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b, c, at := readingCopy(t)
			if older {
				a.Use(c.Link.Remote, `{"values":{},"next":[],"tasks":[],"metadata":{"step":7},"created_at":"2026-11-28T17:45:26.129Z","checkpoint":{"checkpoint_id":"x"}}`)
			}
			before := a.Calls(routeState)
			tasks, err := b.Tasks(within(t), c, at, true)
			if err != nil {
				t.Fatal(err)
			}
			inner := []any{0, "state", "tasks", 0, "state"}
			deep := func(path ...any) string { return inside(t, tasks, append(append([]any{}, inner...), path...)...) }
			for what, pair := range map[string][2]string{
				"checkpoint":   {deep("checkpoint", "checkpoint_id"), `"` + newestInner + `"`},
				"thread":       {deep("checkpoint", "thread_id"), `"` + adaptertest.ThreadID + `"`},
				"its own":      {deep("metadata", "thread_id"), `"` + adaptertest.ThreadID + `"`},
				"assistant":    {deep("metadata", "assistant_id"), `"` + mapping.AssistantID(ourAgent) + `"`},
				"graph":        {deep("metadata", "graph_id"), `"` + ourAgent + `"`},
				"root":         {deep("metadata", "parents", ""), `"` + ourRoot + `"`},
				"root, mapped": {deep("checkpoint", "checkpoint_map", ""), `"` + ourRoot + `"`},
				"question":     {deep("tasks", 0, "interrupts", 0, "value"), `"How deep?"`},
				"next":         {deep("next"), `["question"]`},
			} {
				if pair[0] != pair[1] {
					t.Errorf("%s is %s, want %s", what, pair[0], pair[1])
				}
			}
			want := map[string]int{routeState: 1, routeHistory: 0, routeAt: 0}
			if older {
				want = map[string]int{routeState: 1, routeHistory: 1, routeAt: 1}
			}
			for route, n := range want {
				if route == routeState {
					n += before
				}
				if got := a.Calls(route); got != n {
					t.Errorf("%d calls of %s, want %d", got, route, n)
				}
			}
		})
	}
}

// TestStatesOfInnerGraphs reads and changes states at their newest checkpoint, at an older one, and as a history.
func TestStatesOfInnerGraphs(t *testing.T) {
	t.Parallel()
	_, b, c, _ := readingCopy(t)
	c.Checkpoint = ""
	ids := func(states ...json.RawMessage) (list []string) {
		for _, st := range states {
			list = append(list, strings.Trim(inside(t, st, "checkpoint", "checkpoint_id"), `"`))
		}
		return list
	}
	same := func(what string, want, got []string, err error) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", what, err, diff)
		}
	}
	at := adapter.InnerPoint{NS: adaptertest.BottomNS}
	st, err := b.Inner(within(t), c, at, false)
	same("newest", []string{newestInner}, ids(st), err)
	st, err = b.Inner(within(t), c, adapter.InnerPoint{NS: adaptertest.BottomNS, Checkpoint: olderInner}, false)
	same("older", []string{olderInner}, ids(st), err)
	st, err = b.Inner(within(t), c, adapter.InnerPoint{NS: adaptertest.MiddleNS}, true) // first refused, because the server requires a string
	same("deep", []string{"1f1eb537-e702-6e10-8001-c87783d0a531"}, ids(st), err)
	if st, err = b.Inner(within(t), c, adapter.InnerPoint{NS: "nowhere:1"}, false); st != nil || err != nil {
		t.Errorf("a missing graph: %s, %v", st, err)
	}
	list, err := b.InnerHistory(within(t), c, at, adapter.HistoryQuery{Limit: 10})
	same("history", []string{newestInner, olderInner}, ids(list...), err)
	list, err = b.InnerHistory(within(t), c, at, adapter.HistoryQuery{Limit: 10, Before: newestInner})
	same("before", []string{olderInner}, ids(list...), err)
	made, err := b.UpdateInner(within(t), c, at, adapter.StateUpdate{Values: json.RawMessage(`{"messages":[]}`)})
	if err != nil || inside(t, made, "thread_id") != `"`+adaptertest.ThreadID+`"` {
		t.Fatalf("%s, %v", made, err)
	}
	st, err = b.Inner(within(t), c, at, false)
	same("changed", []string{strings.Trim(inside(t, made, "checkpoint_id"), `"`)}, ids(st), err)
}

// TestStatesOfInnerGraphsHaveNoCredentials checks that readers of a thread do not get the credentials of its runs, which
// a server writes into the metadata of every checkpoint. The place stays.
func TestStatesOfInnerGraphsHaveNoCredentials(t *testing.T) {
	t.Parallel()
	_, b, c, _ := readingCopy(t)
	const metadata = `{"source":"loop","step":1,"checkpoint_ns":"a:1","api_key":"k","password":"p","colour":"red"}`
	const want = `{"source":"loop","step":1,"checkpoint_ns":"a:1","colour":"red"}`
	o := b.copyOf(within(t), c)
	st := o.state(json.RawMessage(`{"metadata":` + metadata + `,"tasks":[{"id":"t","state":{"metadata":` + metadata + `}}]}`))
	for _, got := range []string{inside(t, st, "metadata"), inside(t, st, "tasks", 0, "state", "metadata")} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestTasksOfAHistory checks that tasks of a history identify their checkpoints.
func TestTasksOfAHistory(t *testing.T) {
	t.Parallel()
	_, b, c, at := readingCopy(t)
	list, err := b.TaskHistory(within(t), c, nil, "", 10)
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	if got := list[0]; got.Run != adaptertest.RunID || got.Step != at.Step || got.Source != "loop" || inside(t, got.Tasks, 0, "checkpoint", "thread_id") != `"`+adaptertest.ThreadID+`"` {
		t.Errorf("%+v", got)
	}
	if list, err = b.TaskHistory(within(t), c, &at, "", 10); err != nil || len(list) != 0 {
		t.Errorf("before the only one: %+v, %v", list, err)
	}
}

// TestMissingCopies covers a deleted copy and a server without states.
func TestMissingCopies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(a *adaptertest.ThreadAgent, c *adapter.Copy, at *adapter.Fork)
		code   string
	}{
		"the thread is gone":     {func(a *adaptertest.ThreadAgent, _ *adapter.Copy, _ *adapter.Fork) { a.Drop() }, mapping.CodeUpstreamLost},
		"the checkpoint is gone": {func(_ *adaptertest.ThreadAgent, _ *adapter.Copy, at *adapter.Fork) { at.Step = 9 }, mapping.CodeUpstreamLost},
		"its id is gone":         {func(_ *adaptertest.ThreadAgent, _ *adapter.Copy, at *adapter.Fork) { at.Checkpoint = olderInner }, mapping.CodeUpstreamLost},
		"a plain server":         {func(_ *adaptertest.ThreadAgent, c *adapter.Copy, _ *adapter.Fork) { c.Link.Profile = profilePlain }, mapping.CodeNotSupported},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b, of, at := readingCopy(t)
			c.change(a, &of, &at)
			if tasks, err := b.Tasks(within(t), of, at, true); err == nil || mapping.Classify(err).Code != c.code {
				t.Errorf("%s, %v, want %s", tasks, err, c.code)
			}
		})
	}
}
