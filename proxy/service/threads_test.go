package service_test

import (
	"encoding/json"
	"io"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/proxy/service/servicetest"
)

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func TestThreadsAreCreatedChangedCopiedAndFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	th, err := b.CreateThread(t.Context(), adapter.ThreadRequest{Metadata: raw(`{"user":"u1"}`), TTL: time.Hour,
		Supersteps: []adapter.Superstep{{Updates: []adapter.StateUpdate{{Values: raw(`{"a":1}`)}}}, {Updates: []adapter.StateUpdate{{Values: raw(`{"b":2}`)}}}}})
	if err != nil || string(th.Values) != `{"a":1,"b":2}` || th.Expires.IsZero() {
		t.Fatalf("got %+v, %v", th, err)
	}
	if _, err := b.CreateThread(t.Context(), adapter.ThreadRequest{ID: th.ID}); class(err) != mapping.Conflict {
		t.Errorf("a second thread with the id: %v", err)
	}
	if same, err := b.CreateThread(t.Context(), adapter.ThreadRequest{ID: th.ID, OrGet: true}); err != nil || string(same.Values) != string(th.Values) {
		t.Errorf("do_nothing: %s, %v", same.Values, err)
	}
	patched, err := b.PatchThread(t.Context(), th.ID, adapter.ThreadPatch{Metadata: raw(`{"mood":"good"}`), Values: raw(`{"a":7}`),
		Messages: []json.RawMessage{raw(`{"type":"human","content":"hi","id":"m1"}`)}})
	var values struct {
		A, B     int
		Messages []struct{ ID, Content string }
	}
	if err != nil || json.Unmarshal(patched.Values, &values) != nil || values.A != 7 || values.B != 2 || len(values.Messages) != 1 {
		t.Errorf("patched to %s, %v", patched.Values, err)
	}
	if !rawjson.Contains(patched.Metadata, raw(`{"user":"u1","mood":"good"}`)) {
		t.Errorf("metadata %s", patched.Metadata)
	}
	twin, err := b.CopyThread(t.Context(), th.ID, "")
	if err != nil || twin.ID == th.ID || string(twin.Values) != string(patched.Values) {
		t.Fatalf("copy %s, %v", twin.Values, err)
	}
	if _, err := b.PatchThread(t.Context(), twin.ID, adapter.ThreadPatch{Values: raw(`{"a":8}`)}); err != nil {
		t.Error(err)
	}
	threads, total, err := b.SearchThreads(t.Context(), adapter.ThreadSearch{ThreadQuery: mapping.ThreadQuery{Metadata: raw(`{"user":"u1"}`), Limit: 10}, Values: raw(`{"a":7}`)})
	if err != nil {
		t.Fatal(err)
	}
	found, err := gathered(threads)
	if err != nil || total != 1 || found[0].ID != th.ID {
		t.Errorf("found %d threads, %v", total, err)
	}
	if n, err := b.CountThreads(t.Context(), adapter.ThreadSearch{}); err != nil || n != 2 {
		t.Errorf("counted %d threads, %v", n, err)
	}
	if err := b.DeleteThread(t.Context(), th.ID); err != nil {
		t.Error(err)
	}
	if err := b.DeleteThread(t.Context(), th.ID); class(err) != mapping.NotFound {
		t.Errorf("a second delete: %v", err)
	}
}

func TestDeletingAThreadEndsItsRuns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	started := make(chan struct{}, 1)
	b.Graph.Does(servicetest.Held(started, nil, nil))
	thread := mapping.NewID()
	first, err := b.StartRun(t.Context(), new(servicetest.NewRun(thread, "graph", "hi")))
	if err != nil {
		t.Fatal(err)
	}
	<-started
	n := servicetest.NewRun(thread, "graph", "later")
	n.Multitask = mapping.StrategyEnqueue
	if _, err := b.StartRun(t.Context(), new(n)); err != nil {
		t.Fatal(err)
	}
	reading, ended := make(chan struct{}, 1), make(chan bool)
	go func() {
		last := mapping.Kind("")
		for e, err := range b.RunEvents(t.Context(), adapter.RunRef{RunID: first.Run.ID}, adapter.Cursor{Start: true}, nil) {
			if err == nil {
				last = e.Kind
			}
			select {
			case reading <- struct{}{}:
			default:
			}
		}
		ended <- last == mapping.KindEnd
	}()
	<-reading
	if err := b.DeleteThread(t.Context(), thread); err != nil {
		t.Fatal(err)
	}
	if !<-ended {
		t.Error("a reader did not see the run's end")
	}
	if b.Graph.Calls.Load() != 1 {
		t.Error("a queued run of a deleted thread was started")
	}
}

func TestStatesAndHistory(t *testing.T) {
	t.Parallel()
	b := setup(t)
	thread := mapping.NewID()
	if _, err := b.CreateThread(t.Context(), adapter.ThreadRequest{ID: thread}); err != nil {
		t.Fatal(err)
	}
	empty, err := b.GetState(t.Context(), thread, "")
	if err != nil || string(empty.Values) != `{}` || len(empty.Next) != 0 || string(empty.Tasks) != `[]` || empty.Checkpoint != "" || !empty.CreatedAt.IsZero() {
		t.Errorf("an empty thread: %+v, %v", empty, err)
	}
	b.Start(t, t.Context(), servicetest.NewRun(thread, "legacy", "hi")) // the root, an input and three steps
	before, err := b.GetState(t.Context(), thread, "")
	if err != nil || len(before.Next) != 0 {
		t.Fatalf("got %+v, %v", before, err)
	}
	made, err := b.UpdateState(t.Context(), thread, adapter.StateUpdate{Values: raw(`{"note":"n"}`)})
	if err != nil || made.Parent != before.Checkpoint || made.Source != "update" {
		t.Fatalf("got %+v, %v", made, err)
	}
	check := func() {
		t.Helper()
		list, err := gathered(b.StateHistory(t.Context(), thread, adapter.HistoryQuery{}))
		if err != nil || len(list) != 6 || list[0].Checkpoint != made.ID {
			t.Fatalf("the history has %d states, %v", len(list), err)
		}
		for i, s := range list {
			one, err := b.GetState(t.Context(), thread, s.Checkpoint)
			if err != nil || string(one.Values) != string(s.Values) {
				t.Errorf("state %d is %s, %v\nand in the history %s", i, one.Values, err, s.Values)
			}
			if i > 0 && list[i-1].Parent != s.Checkpoint {
				t.Errorf("state %d is not the parent of the one before", i)
			}
		}
		page, err := gathered(b.StateHistory(t.Context(), thread, adapter.HistoryQuery{Before: list[1].Checkpoint, Limit: 2}))
		if err != nil || len(page) != 2 || page[0].Checkpoint != list[2].Checkpoint {
			t.Errorf("the page has %d states, %v", len(page), err)
		}
		loops, err := gathered(b.StateHistory(t.Context(), thread, adapter.HistoryQuery{Metadata: raw(`{"source":"loop"}`)}))
		if err != nil || len(loops) != 3 {
			t.Errorf("%d states with source loop, %v", len(loops), err)
		}
	}
	check()
	b.Again(t)
	check()
}

func TestForksOfAState(t *testing.T) {
	t.Parallel()
	b := setup(t)
	thread := mapping.NewID()
	b.Start(t, t.Context(), servicetest.NewRun(thread, "legacy", "hi"))
	list, err := gathered(b.StateHistory(t.Context(), thread, adapter.HistoryQuery{}))
	if err != nil {
		t.Fatal(err)
	}
	old := list[2] // after the first step
	fork, err := b.UpdateState(t.Context(), thread, adapter.StateUpdate{Values: raw(`{"forked":true}`), CheckpointID: old.Checkpoint})
	if err != nil || fork.Source != "update" || fork.Parent != old.Checkpoint {
		t.Fatalf("got %+v, %v", fork, err)
	}
	n := servicetest.NewRun(thread, "legacy", "go on")
	if _, out := b.Start(t, t.Context(), n); out.Status != mapping.RunSuccess {
		t.Fatalf("got %+v", out)
	}
	b.Again(t)
	s, err := b.GetState(t.Context(), thread, "")
	var values struct {
		Forked   bool
		Messages []json.RawMessage
	}
	if err != nil || json.Unmarshal(s.Values, &values) != nil || !values.Forked || len(values.Messages) != 6 {
		t.Errorf("the head has %d messages and forked %v, %v", len(values.Messages), values.Forked, err)
	}
	one, err := gathered(b.StateHistory(t.Context(), thread, adapter.HistoryQuery{At: s.Checkpoint}))
	if err != nil || len(one) != 1 || one[0].Checkpoint != s.Checkpoint {
		t.Errorf("history at a checkpoint has %d states, %v", len(one), err)
	}
	if _, err := b.UpdateState(t.Context(), thread, adapter.StateUpdate{Values: raw(`{}`), CheckpointID: mapping.NewID()}); class(err) != mapping.NotFound {
		t.Errorf("a fork of an unknown checkpoint: %v", err)
	}
	if _, err := b.UpdateState(t.Context(), thread, adapter.StateUpdate{Values: raw(`[1]`)}); class(err) != mapping.Invalid {
		t.Errorf("a state that is a list: %v", err)
	}
}

func TestAParkedRunHoldsItsThread(t *testing.T) {
	t.Parallel()
	b := setup(t)
	task, ref := b.Task(t, t.Context(), "legacy", "hello")
	b.Step(t, t.Context(), ref, nil)
	if _, err := b.UpdateState(t.Context(), task.ThreadID, adapter.StateUpdate{Values: raw(`{"a":1}`)}); class(err) != mapping.Conflict {
		t.Errorf("a state update: %v", err)
	}
	s, err := b.GetState(t.Context(), task.ThreadID, "")
	if err != nil || len(s.Next) != 1 || s.Next[0] != "step" {
		t.Errorf("next %v, %v", s.Next, err)
	}
	n := servicetest.NewRun(task.ThreadID, "legacy", "instead")
	n.Multitask = mapping.StrategyInterrupt
	if _, out := b.Start(t, t.Context(), n); out.Status != mapping.RunSuccess {
		t.Errorf("a run that displaces it: %+v", out)
	}
	if s := b.Step(t, t.Context(), ref, nil); !s.IsLast {
		t.Errorf("the displaced task's next step: %+v", s)
	}
}

// Two tenants with the same requests never see each other's objects.
func TestTenantsAreSeparate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mine, theirs := as(t.Context(), "a"), as(t.Context(), "b")
	task, ref := b.Task(t, mine, "graph", "secret")
	file, err := b.SaveArtifact(mine, ref, "a.txt", "text/plain", strings.NewReader("secret"))
	if err != nil {
		t.Fatal(err)
	}
	step := b.Step(t, mine, ref, nil)
	thread := mapping.NewID()
	run, _ := b.Start(t, mine, servicetest.NewRun(thread, "graph", "secret"))
	if err := b.PutItem(mine, adapter.PutItem{Namespace: []string{"n"}, Key: "k", Value: raw(`{"s":"secret"}`)}); err != nil {
		t.Fatal(err)
	}
	runRef := adapter.RunRef{ThreadID: thread, RunID: run.ID}
	for name, do := range map[string]func() error{
		"Threads.Get": func() error { _, err := b.GetThread(theirs, thread); return err },
		"Threads.Patch": func() error {
			_, err := b.PatchThread(theirs, thread, adapter.ThreadPatch{Metadata: raw(`{}`)})
			return err
		},
		"Threads.Delete": func() error { return b.DeleteThread(theirs, thread) },
		"Threads.Copy":   func() error { _, err := b.CopyThread(theirs, thread, ""); return err },
		"States.Get":     func() error { _, err := b.GetState(theirs, thread, ""); return err },
		"States.History": func() error {
			_, err := gathered(b.StateHistory(theirs, thread, adapter.HistoryQuery{}))
			return err
		},
		"States.Update": func() error {
			_, err := b.UpdateState(theirs, thread, adapter.StateUpdate{Values: raw(`{}`)})
			return err
		},
		"Runs.Start": func() error {
			n := servicetest.NewRun(thread, "graph", "x")
			n.IfNotExists = ""
			_, err := b.StartRun(theirs, new(n))
			return err
		},
		"Runs.Get":    func() error { _, err := b.GetRun(theirs, adapter.RunRef{RunID: run.ID}); return err },
		"Runs.Cancel": func() error { return b.CancelRun(theirs, runRef, adapter.CancelOptions{Wait: true}) },
		"Runs.Delete": func() error { return b.DeleteRun(theirs, runRef) },
		"RunIndex.List": func() error {
			_, err := adapter.All(b.ListRuns(theirs, mapping.RunQuery{ThreadID: thread}))
			return err
		},
		"Tasks.Get":    func() error { _, err := b.GetTask(theirs, ref); return err },
		"Tasks.Step":   func() error { _, err := b.ExecuteStep(theirs, ref, adapter.StepRequest{}); return err },
		"Tasks.Cancel": func() error { _, err := b.CancelTask(theirs, ref); return err },
		"Steps.List": func() error {
			_, _, err := b.ListSteps(theirs, ref, adapter.Page{Number: 1, Size: 9})
			return err
		},
		"Steps.Get": func() error { _, err := b.GetStep(theirs, ref, step.ID); return err },
		"Artifacts.List": func() error {
			_, _, err := b.ListArtifacts(theirs, ref, adapter.Page{Number: 1, Size: 9})
			return err
		},
		"Artifacts.Get":  func() error { _, err := b.GetArtifact(theirs, ref, file.ID); return err },
		"Artifacts.Open": func() error { _, _, err := b.OpenArtifact(theirs, ref, file.ID); return err },
		"Artifacts.Save": func() error {
			_, err := b.SaveArtifact(theirs, ref, "a.txt", "", strings.NewReader("x"))
			return err
		},
		"Items.Get":        func() error { _, err := b.GetItem(theirs, []string{"n"}, "k", nil); return err },
		"Runs.Events":      func() error { return firstError(b, theirs, adapter.RunRef{RunID: run.ID}) },
		"Runs.Events here": func() error { return firstError(b, theirs, runRef) },
		"Steps.Follow": func() (err error) {
			for _, err = range b.FollowSteps(theirs, ref, 0) {
				break
			}
			return err
		},
	} {
		if err := do(); class(err) != mapping.NotFound {
			t.Errorf("%s of another tenant: %v", name, err)
		}
	}
	if list, total, err := b.SearchThreads(theirs, adapter.ThreadSearch{ThreadQuery: mapping.ThreadQuery{Limit: 9}}); err != nil || total != 0 || counted(list) != 0 {
		t.Errorf("threads: %d, %v", total, err)
	}
	if n, err := b.CountThreads(theirs, adapter.ThreadSearch{}); err != nil || n != 0 {
		t.Errorf("counted threads: %d, %v", n, err)
	}
	if list, err := adapter.All(b.ListRuns(theirs, mapping.RunQuery{})); err != nil || len(list) != 0 {
		t.Errorf("runs: %d, %v", len(list), err)
	}
	if list, total, err := b.ListTasks(theirs, adapter.TaskRef{Agent: "graph"}, adapter.Page{Number: 1, Size: 9}); err != nil || total != 0 || len(entries(t, list)) != 0 {
		t.Errorf("tasks: %d, %v", total, err)
	}
	if list, err := itemsOf(b.SearchItems(theirs, adapter.ItemQuery{Prefix: []string{"n"}, Limit: 9})); err != nil || len(list) != 0 {
		t.Errorf("items: %d, %v", len(list), err)
	}
	if list, err := b.ListNamespaces(theirs, adapter.NamespaceQuery{Limit: 9}); err != nil || len(list) != 0 {
		t.Errorf("namespaces: %d, %v", len(list), err)
	}
	if err := b.DeleteItem(theirs, []string{"n"}, "k"); err != nil && class(err) != mapping.NotFound {
		t.Errorf("deleting an item: %v", err)
	}
	// My objects are unaffected.
	if it, err := b.GetItem(mine, []string{"n"}, "k", nil); err != nil || !strings.Contains(string(it.Value), "secret") {
		t.Errorf("my item: %s, %v", it.Value, err)
	}
	if got, err := b.GetTask(mine, ref); err != nil || got.ID != task.ID || len(got.Artifacts) != 1 {
		t.Errorf("my task: %+v, %v", got, err)
	}
	_, body, err := b.OpenArtifact(mine, ref, file.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if text, err := io.ReadAll(body); err != nil || string(text) != "secret" {
		t.Errorf("my file: %q, %v", text, err)
	}
	// Both tenants can use the same names.
	if _, out := b.Start(t, theirs, servicetest.NewRun(thread, "graph", "mine")); out.Status != mapping.RunSuccess {
		t.Errorf("a thread of the same id: %+v", out)
	}
	if th, err := b.GetThread(mine, thread); err != nil || strings.Contains(string(th.Values), "mine") {
		t.Errorf("my thread: %s, %v", th.Values, err)
	}
}

func TestItems(t *testing.T) {
	t.Parallel()
	b := setup(t)
	put := func(value string, ttl time.Duration, ns ...string) error {
		return b.PutItem(t.Context(), adapter.PutItem{Namespace: ns, Key: "k" + value[5:6], Value: raw(value), TTL: ttl})
	}
	for _, err := range []error{put(`{"n":1,"on":true}`, 0, "users", "u1"), put(`{"n":2}`, time.Hour, "users", "u1"), put(`{"n":3}`, 0, "users", "u2"), put(`{"n":4}`, 0, "teams", "t", "x")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := put(`{"n":5}`, 0); class(err) != mapping.Invalid {
		t.Errorf("an empty namespace: %v", err)
	}
	if err := b.PutItem(t.Context(), adapter.PutItem{Namespace: []string{"a"}, Value: raw(`{}`)}); class(err) != mapping.Invalid {
		t.Errorf("an empty key: %v", err)
	}
	for filter, want := range map[string]int{``: 3, `{"n":{"$gt":1}}`: 2, `{"on":true}`: 1, `{"n":{"$ne":2}}`: 2, `{"none":1}`: 0} {
		list, err := itemsOf(b.SearchItems(t.Context(), adapter.ItemQuery{Prefix: []string{"users"}, Filter: raw(filter), Limit: 10}))
		if err != nil || len(list) != want {
			t.Errorf("filter %s found %d, %v; want %d", filter, len(list), err, want)
		}
	}
	if _, err := itemsOf(b.SearchItems(t.Context(), adapter.ItemQuery{Filter: raw(`{"n":{"$like":1}}`)})); class(err) != mapping.Invalid {
		t.Errorf("an unknown operator: %v", err)
	}
	for _, tc := range []struct {
		q    adapter.NamespaceQuery
		want int
	}{
		{adapter.NamespaceQuery{}, 3}, {adapter.NamespaceQuery{MaxDepth: 1}, 2}, {adapter.NamespaceQuery{Prefix: []string{"users"}}, 2},
		{adapter.NamespaceQuery{Suffix: []string{"x"}}, 1}, {adapter.NamespaceQuery{Prefix: []string{"*", "u2"}}, 1}, {adapter.NamespaceQuery{Limit: 1, Offset: 2}, 1},
	} {
		if list, err := b.ListNamespaces(t.Context(), tc.q); err != nil || len(list) != tc.want {
			t.Errorf("%+v found %v, %v", tc.q, list, err)
		}
	}
	if err := b.DeleteItem(t.Context(), []string{"users", "u2"}, "k3"); err != nil {
		t.Error(err)
	}
	if _, err := b.GetItem(t.Context(), []string{"users", "u2"}, "k3", nil); class(err) != mapping.NotFound {
		t.Errorf("a deleted item: %v", err)
	}
}

// gathered collects a sequence up to an error.
func gathered[T any](seq iter.Seq2[T, error]) (list []T, err error) {
	for one, err := range seq {
		if err != nil {
			return list, err
		}
		list = append(list, one)
	}
	return list, nil
}

func counted[T any](seq iter.Seq2[T, error]) int {
	list, _ := gathered(seq)
	return len(list)
}

// A thread created by a run has the run's metadata, as in a LangGraph server.
func TestMetadataOfAThreadCreatedByARun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	thread := mapping.NewID()
	_, err := b.StartRun(t.Context(), &adapter.RunRequest{Agent: "legacy", ThreadID: thread, IfNotExists: "create",
		Input: raw(`{"messages":[{"role":"user","content":"hi"}]}`), Metadata: raw(`{"by":"me"}`)})
	if err != nil {
		t.Fatal(err)
	}
	th, err := b.GetThread(t.Context(), thread)
	want := raw(`{"by":"me","graph_id":"legacy","assistant_id":"` + mapping.AssistantID("legacy") + `"}`)
	if err != nil || !rawjson.Equal(th.Metadata, want) {
		t.Errorf("metadata %s, want %s, %v", th.Metadata, want, err)
	}
}
