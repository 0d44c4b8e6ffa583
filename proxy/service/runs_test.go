package service_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/service/servicetest"
	"github.com/google/go-cmp/cmp"
)

func TestRunsThatAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	thread := mapping.NewID()
	b.Start(t, t.Context(), servicetest.NewRun(thread, "legacy", "hi"))
	for name, tc := range map[string]struct {
		change func(*adapter.RunRequest)
		class  mapping.Class
		says   string
	}{
		"unknown agent":         {func(n *adapter.RunRequest) { n.Agent = "nobody" }, mapping.NotFound, "legacy"},
		"unknown thread":        {func(n *adapter.RunRequest) { n.ThreadID, n.IfNotExists = mapping.NewID(), "" }, mapping.NotFound, ""},
		"goto":                  {func(n *adapter.RunRequest) { n.Command = &adapter.Command{Goto: json.RawMessage(`"x"`)} }, mapping.Invalid, "goto"},
		"update of no state":    {func(n *adapter.RunRequest) { n.Command = &adapter.Command{Update: json.RawMessage(`{}`)} }, mapping.Invalid, "update"},
		"nothing to resume":     {func(n *adapter.RunRequest) { n.Command = &adapter.Command{HasResume: true} }, mapping.Conflict, "no_pending_interrupt"},
		"node of no graph":      {func(n *adapter.RunRequest) { n.InterruptBefore = []string{"plan"} }, mapping.Invalid, "plan"},
		"after a node":          {func(n *adapter.RunRequest) { n.InterruptAfter = []string{"plan"} }, mapping.Invalid, "plan"},
		"webhook":               {func(n *adapter.RunRequest) { n.Webhook = "http://127.0.0.1:1/" }, mapping.Invalid, "webhook"},
		"unknown checkpoint":    {func(n *adapter.RunRequest) { n.CheckpointID = mapping.NewID() }, mapping.NotFound, ""},
		"concurrent":            {func(n *adapter.RunRequest) { n.Multitask = mapping.StrategyConcurrent }, mapping.Invalid, "concurrent"},
		"unknown strategy":      {func(n *adapter.RunRequest) { n.Multitask = "whatever" }, mapping.Invalid, "whatever"},
		"config of no object":   {func(n *adapter.RunRequest) { n.Kwargs = json.RawMessage(`{"config":7}`) }, mapping.Invalid, "config"},
		"a very long key":       {func(n *adapter.RunRequest) { n.IdempotencyKey = strings.Repeat("k", 300) }, mapping.Invalid, "Idempotency-Key"},
		"messages of no object": {func(n *adapter.RunRequest) { n.Kwargs = json.RawMessage(`{"input":{"messages":[7]}}`) }, mapping.Invalid, ""},
	} {
		n := servicetest.NewRun(thread, "legacy", "again")
		tc.change(&n)
		_, err := b.StartRun(t.Context(), new(n))
		if class(err) != tc.class || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: got %v, want class %v and %q", name, err, tc.class, tc.says)
		}
	}
	if runs, err := adapter.All(b.ListRuns(t.Context(), mapping.RunQuery{ThreadID: thread})); err != nil || len(runs) != 1 {
		t.Errorf("%d runs after only refusals, %v", len(runs), err)
	}
	if _, out := b.Start(t, t.Context(), func() adapter.RunRequest {
		n := servicetest.NewRun(thread, "legacy", "null config")
		n.Kwargs = json.RawMessage(`{"config":null,"input":"x"}`)
		return n
	}()); out.Status != mapping.RunSuccess {
		t.Errorf("a config of null ended %+v", out)
	}
}

func TestErrorOfABusyThreadNamesTheRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	started := make(chan struct{}, 1)
	goOn := make(chan struct{})
	b.Graph.Does(servicetest.Held(started, goOn, servicetest.Nodes("a")))
	thread := mapping.NewID()
	first, err := b.StartRun(t.Context(), new(servicetest.NewRun(thread, "graph", "hi")))
	if err != nil {
		t.Fatal(err)
	}
	<-started
	second := servicetest.NewRun(thread, "graph", "hi")
	second.Multitask = mapping.StrategyReject
	if _, err := b.StartRun(t.Context(), new(second)); class(err) != mapping.Conflict || !strings.Contains(err.Error(), first.Run.ID) {
		t.Errorf("a second run: %v", err)
	}
	if _, err := b.UpdateState(t.Context(), thread, adapter.StateUpdate{Values: json.RawMessage(`{"a":1}`)}); class(err) != mapping.Conflict {
		t.Errorf("a state update: %v", err)
	}
	close(goOn)
	b.Wait(t, t.Context(), first.Run)
	if err := b.CancelRun(t.Context(), adapter.RunRef{RunID: first.Run.ID}, adapter.CancelOptions{Wait: true}); class(err) != mapping.Conflict {
		t.Errorf("a cancel of an ended run: %v", err)
	}
	if err := b.DeleteRun(t.Context(), adapter.RunRef{ThreadID: thread, RunID: first.Run.ID}); err != nil {
		t.Error(err)
	}
	if _, err := b.GetRun(t.Context(), adapter.RunRef{RunID: first.Run.ID}); class(err) != mapping.NotFound {
		t.Errorf("a deleted run: %v", err)
	}
}

func TestCursors(t *testing.T) {
	t.Parallel()
	b := setup(t)
	thread := mapping.NewID()
	first, _ := b.Start(t, t.Context(), servicetest.NewRun(thread, "graph", "one"))
	second, _ := b.Start(t, t.Context(), servicetest.NewRun(thread, "graph", "two"))
	read := func(r mapping.Run, c adapter.Cursor) (seqs []int64, err error) {
		for e, failed := range b.RunEvents(t.Context(), adapter.RunRef{ThreadID: thread, RunID: r.ID}, c, nil) {
			if failed != nil {
				return seqs, failed
			}
			seqs = append(seqs, e.Seq)
		}
		return seqs, nil
	}
	all, err := read(first, adapter.Cursor{Start: true})
	if err != nil || len(all) < 5 {
		t.Fatal(all, err)
	}
	for _, tc := range []struct {
		run  mapping.Run
		c    adapter.Cursor
		want []int64
		code string
	}{
		{first, adapter.Cursor{Seq: all[2], K: -1}, all[3:], ""},
		{first, adapter.Cursor{Seq: all[2], K: 1}, all[2:], ""},
		{first, adapter.Cursor{Live: true}, nil, ""},
		{first, adapter.Cursor{Seq: all[len(all)-1], K: -1}, nil, ""},
		{second, adapter.Cursor{Seq: all[2], K: -1}, nil, mapping.CodeCursorExpired},
		{first, adapter.Cursor{Seq: 9999, K: -1}, nil, mapping.CodeInvalidCursor},
	} {
		got, err := read(tc.run, tc.c)
		code := ""
		if err != nil {
			code = mapping.Classify(err).Code
		}
		if code != tc.code || cmp.Diff(tc.want, got) != "" {
			t.Errorf("%+v gave %v, %v; want %v, %q", tc.c, got, err, tc.want, tc.code)
		}
	}
}

func TestIdempotentRuns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	started, goOn := make(chan struct{}, 8), make(chan struct{})
	b.Graph.Does(servicetest.Held(started, goOn, servicetest.Nodes("a")))
	keyed := func(thread, words string) adapter.RunRequest {
		n := servicetest.NewRun(thread, "graph", words)
		n.IdempotencyKey = "k1"
		return n
	}
	thread := mapping.NewID()
	first, err := b.StartRun(t.Context(), new(keyed(thread, "hi")))
	if err != nil {
		t.Fatal(err)
	}
	<-started
	if again, err := b.StartRun(t.Context(), new(keyed(thread, "hi"))); err != nil || again.Run.ID != first.Run.ID {
		t.Errorf("while it runs: %v, %v", again.Run.ID, err)
	}
	close(goOn)
	b.Wait(t, t.Context(), first.Run)
	b.Again(t)
	if again, err := b.StartRun(t.Context(), new(keyed(thread, "hi"))); err != nil || again.Run.ID != first.Run.ID {
		t.Errorf("after a restart: %v, %v", again.Run.ID, err)
	}
	if _, err := b.StartRun(t.Context(), new(keyed(thread, "other words"))); class(err) != mapping.Invalid {
		t.Errorf("another request under the key: %v", err)
	}
	if other, err := b.StartRun(t.Context(), new(keyed(mapping.NewID(), "hi"))); err != nil || other.Run.ID == first.Run.ID {
		t.Errorf("the key on another thread: %v, %v", other.Run.ID, err)
	}
	if foreign, err := b.StartRun(as(t.Context(), "b"), new(keyed(thread, "hi"))); err != nil || foreign.Run.ID == first.Run.ID {
		t.Errorf("another tenant's key: %v, %v", foreign.Run.ID, err)
	}
}

// Losses have the field names of the client's dialect, or else the name of the capability.
func TestLossesUseTheFieldNamesOfTheClientsDialect(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for flavour, want := range map[mapping.Flavour]string{
		"steps": "additional_input;approximated", "jobs": "extra;approximated", "bare": "additional_task;approximated",
	} {
		task, err := b.CreateTask(t.Context(), adapter.TaskRequest{Agent: "graph", Input: say("hello"), AdditionalInput: json.RawMessage(`{"a":1}`)})
		if err != nil {
			t.Fatal(err)
		}
		h := b.Handout(t, t.Context(), adapter.TaskRef{Agent: "graph", ID: task.ID, Flavour: flavour}, adapter.StepRequest{})
		h.Confirm()
		if got := mapping.LossHeader(h.Losses); got != want {
			t.Errorf("a task of %s: losses %q, want %q", flavour, got, want)
		}
	}
	n := servicetest.NewRun(mapping.NewID(), "graph", "hi")
	n.Flavour = "bare"
	n.Input = json.RawMessage(`{"messages":[{"type":"human","name":"ann","metadata":{"a":1},"content":[{"type":"image_url","image_url":{"url":"https://x.example/b.png"}}]}]}`)
	n.Kwargs = rule.RequestOf(n.Input)
	started, err := b.StartRun(t.Context(), new(n))
	if err != nil {
		t.Fatal(err)
	}
	b.Wait(t, t.Context(), started.Run)
	if got := mapping.LossHeader(started.Losses); got != "links;approximated, remarks;dropped" {
		t.Errorf("messages for a graph that accepts names but no metadata: losses %q", got)
	}
}

func TestLossesOfATasksRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	task, err := b.CreateTask(t.Context(), adapter.TaskRequest{Agent: "graph", Input: say("hello"), AdditionalInput: json.RawMessage(`{"config":{"tags":["x"]},"input":{"depth":2}}`)})
	if err != nil {
		t.Fatal(err)
	}
	var given json.RawMessage
	b.Graph.Does(func(ctx context.Context, t adapter.Assignment, yield servicetest.Yielder) {
		given = t.Input.Raw
		servicetest.Nodes("a")(ctx, t, yield)
	})
	h := b.Handout(t, t.Context(), adapter.TaskRef{Agent: "graph", ID: task.ID, Flavour: "steps"}, adapter.StepRequest{})
	h.Confirm()
	if want := []mapping.Loss{{Field: "additional_input", Fate: mapping.Approximated}}; cmp.Diff(want, h.Losses) != "" {
		t.Errorf("losses %v", h.Losses)
	}
	runs, err := adapter.All(b.ListRuns(t.Context(), mapping.RunQuery{ThreadID: task.ThreadID}))
	if err != nil || len(runs) != 1 {
		t.Fatal(runs, err)
	}
	var kwargs struct {
		Input           string
		AdditionalInput struct{ Input struct{ Depth int } } `json:"additional_input"`
	}
	if err := json.Unmarshal(runs[0].Kwargs, &kwargs); err != nil || kwargs.Input != "hello" || kwargs.AdditionalInput.Input.Depth != 2 {
		t.Errorf("kwargs %s, %v", runs[0].Kwargs, err)
	}
	if !strings.Contains(string(given), `"depth":2`) || !strings.Contains(string(given), "hello") {
		t.Errorf("the agent received %s", given)
	}
}

func TestAgents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a, err := b.GetAssistant(t.Context(), "")
	if err != nil || a.Name != "legacy" || a.Exposes.ReportsState() {
		t.Errorf("the default agent is %+v, %v", a, err)
	}
	byID, err := b.GetAssistant(t.Context(), mapping.AssistantID("graph"))
	if err != nil || byID.Name != "graph" || !byID.Exposes.ReportsState() {
		t.Errorf("by id: %+v, %v", byID, err)
	}
	list, total, err := b.SearchAssistants(t.Context(), adapter.AgentQuery{Name: "GRA", Limit: 10})
	if err != nil || total != 1 || list[0].Name != "graph" {
		t.Errorf("search: %v, %v", list, err)
	}
	only := mapping.WithPrincipal(t.Context(), mapping.Principal{ID: "k", Agents: []string{"graph"}})
	if _, err := b.GetAssistant(only, "legacy"); class(err) != mapping.NotFound || strings.Contains(err.Error(), "Known agents: graph, legacy") {
		t.Errorf("a forbidden agent: %v", err)
	}
	if _, total, err := b.SearchAssistants(only, adapter.AgentQuery{Limit: 10}); err != nil || total != 1 {
		t.Errorf("%d agents shown, %v", total, err)
	}
	if _, err := b.StartRun(only, new(servicetest.NewRun(mapping.NewID(), "legacy", "hi"))); class(err) != mapping.NotFound {
		t.Errorf("a run of it: %v", err)
	}
	if g, err := b.AgentGraph(t.Context(), "legacy", ""); err != nil || !json.Valid(g) {
		t.Errorf("graph %s, %v", g, err)
	}
	if s, err := b.AgentSchemas(t.Context(), "legacy"); err != nil || !json.Valid(s.State) {
		t.Errorf("schemas %+v, %v", s, err)
	}
}

func TestFullQueueIsReportedToTheCaller(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config.Config) {
		a := c.Agents["graph"]
		a.Concurrency, a.Queue = 1, 1
		c.Agents["graph"] = a
	})
	started := make(chan struct{}, 1)
	b.Graph.Does(servicetest.Held(started, nil, nil))
	for i := range 3 {
		_, err := b.StartRun(t.Context(), new(servicetest.NewRun(mapping.NewID(), "graph", "hi")))
		if i < 2 && err != nil || i == 2 && class(err) != mapping.Limited {
			t.Errorf("run %d: %v", i, err)
		}
		if i == 0 {
			<-started
		}
	}
	n := servicetest.NewRun(mapping.NewID(), "legacy", "later")
	n.RunAfter = time.Hour
	if st, err := b.StartRun(t.Context(), new(n)); err != nil || st.Run.Status != mapping.RunPending {
		t.Errorf("got %v, %v", st.Run.Status, err)
	}
}

// C14: if one run of a batch is refused, none is executed, and repeating the batch creates none twice.
func TestARefusedBatchExecutesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config.Config) {
		a := c.Agents["graph"]
		a.Concurrency, a.Queue = 1, 1
		c.Agents["graph"] = a
	})
	ctx := t.Context()
	busy, free := servicetest.NewRun(mapping.NewID(), "graph", "busy"), servicetest.NewRun(mapping.NewID(), "legacy", "free")
	busy.Multitask = mapping.StrategyReject
	begun, goOn := make(chan struct{}, 1), make(chan struct{})
	b.Graph.Does(servicetest.Held(begun, goOn, servicetest.Nodes("a")))
	holder, err := b.StartRun(ctx, new(busy))
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	for name, c := range map[string]struct {
		last adapter.RunRequest
		want mapping.Class
	}{
		"no room":       {servicetest.NewRun("", "graph", "room"), mapping.Limited},
		"a busy thread": {busy, mapping.Conflict},
	} {
		list := []adapter.RunRequest{free, servicetest.NewRun("", "legacy", "first"), servicetest.NewRun("", "graph", "second"), c.last}
		for i := range list {
			list[i].IdempotencyKey, list[i].Batch = name, fmt.Sprintf("%d/%d", i, len(list))
		}
		for range 2 {
			if _, err := b.StartRuns(ctx, list); class(err) != c.want {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if runs, err := b.Store.Runs.List(ctx, mapping.RunQuery{}); err != nil || len(runs) != 1 || b.Legacy.Calls.Load() != 0 {
		t.Errorf("%d runs, %d calls, %v", len(runs), b.Legacy.Calls.Load(), err)
	}
	close(goOn)
	b.Wait(t, ctx, holder.Run)
	list := []adapter.RunRequest{free, servicetest.NewRun("", "legacy", "first")}
	for i := range list {
		list[i].IdempotencyKey, list[i].Batch = "fits", fmt.Sprintf("%d/%d", i, len(list))
	}
	for range 2 {
		started, err := b.StartRuns(ctx, list)
		if err != nil {
			t.Fatal(err)
		}
		for _, st := range started {
			b.Wait(t, ctx, st.Run)
		}
	}
	if runs, err := b.Store.Runs.List(ctx, mapping.RunQuery{}); err != nil || len(runs) != 3 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}

// P B17: an agent with nodes decides where to continue.
func TestGotoIsPassedToAGraph(t *testing.T) {
	t.Parallel()
	b := setup(t)
	n := servicetest.NewRun("", "graph", "")
	n.Command = &adapter.Command{Update: json.RawMessage(`{"k":1}`), Goto: json.RawMessage(`"act"`)}
	r, out := b.Start(t, t.Context(), n)
	if out.Status != mapping.RunSuccess || string(r.Options.Goto) != `"act"` || string(r.Options.Update) != `{"k":1}` {
		t.Errorf("%+v, options %+v", out, r.Options)
	}
}
