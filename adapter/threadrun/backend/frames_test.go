package backend

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/adapter/sse"
	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

// framesIn passes frames through a driver without a server.
func framesIn(t testing.TB, list ...sse.Event) adaptertest.Trace {
	t.Helper()
	return framesOf(t, adaptertest.NewTask(nil), list...)
}

// framesOf is like framesIn for a run.
func framesOf(t testing.TB, task adapter.Assignment, list ...sse.Event) (tr adaptertest.Trace) {
	t.Helper()
	b, err := newBackend(adaptertest.Upstream("http://127.0.0.1:1"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // an error frame would request the state
	s := newRunDriver(ctx, b, &task, func(ev mapping.Event, _ error) bool {
		tr.Events = append(tr.Events, ev)
		return true
	})
	defer s.close()
	for _, f := range list {
		if tr.Err = s.frames.frame(f); tr.Err != nil {
			break
		}
	}
	if e := (*runError)(nil); errors.As(tr.Err, &e) {
		tr.Err = s.outcome.fail(e.said)
	}
	tr.Events = append(tr.Events, s.frames.told.held...)
	return tr
}

// headed returns the parts of an event that depend on a frame.
type headed struct {
	Kind mapping.Kind
	Head mapping.Head
	Data string
}

func headsOf(tr adaptertest.Trace) []headed {
	var list []headed
	for _, ev := range tr.Events {
		list = append(list, headed{ev.Kind, ev.Head, string(ev.Data)})
	}
	return list
}

func TestFrames(t *testing.T) {
	t.Parallel()
	q := []mapping.Interrupt{{ID: "i1", Value: json.RawMessage(`"sure?"`)}}
	for _, c := range []struct {
		name, event, data string
		want              []headed
	}{
		{"heartbeat", "", "", nil},
		{"end of older servers", "end", "null", nil},
		{"feedback is kept", "feedback", `{"k":"u"}`, []headed{{"chunk", mapping.Head{Name: "feedback", UpstreamID: "7"}, `{"k":"u"}`}}},
		{"full message", "messages/complete", `[{}]`, []headed{{"chunk", mapping.Head{Name: "messages/complete", UpstreamID: "7"}, `[{}]`}}},
		{"token", "messages", `[{"content":"a"},{}]`, []headed{{"delta", mapping.Head{UpstreamID: "7"}, `[{"content":"a"},{}]`}}},
		{"messages that are no pair", "messages", `{"a":1}`, []headed{{"chunk", mapping.Head{Name: "messages", UpstreamID: "7"}, `{"a":1}`}}},
		{"custom", "custom", `1e400`, []headed{{"custom", mapping.Head{UpstreamID: "7"}, `1e400`}}},
		{"custom of a subgraph", "custom|a:1|b:2", `"x"`, []headed{{"custom", mapping.Head{NS: []string{"a:1", "b:2"}, UpstreamID: "7"}, `"x"`}}},
		{"values of a subgraph", "values|a:1", `{"n":1}`, []headed{{"chunk", mapping.Head{NS: []string{"a:1"}, Name: "values", UpstreamID: "7"}, `{"n":1}`}}},
		{"updates of a subgraph", "updates|a:1", `{"n":{"x":1}}`, []headed{{"update", mapping.Head{NS: []string{"a:1"}, Node: "n", UpstreamID: "7"}, `{"x":1}`}}},
		{"question of a subgraph", "updates|a:1", `{"__interrupt__":[]}`, []headed{{"chunk", mapping.Head{NS: []string{"a:1"}, Name: "updates"}, `{"__interrupt__":[]}`}}},
		{"update keeps its bytes", "updates", `{"n":{"b":1.50,  "a":"<"}}`, []headed{{"update", mapping.Head{Node: "n", UpstreamID: "7"}, `{"b":1.50,  "a":"<"}`}}},
		{"update of nothing", "updates", `{"n":null}`, []headed{{"update", mapping.Head{Node: "n", UpstreamID: "7"}, `null`}}},
		{"updates of several nodes", "updates", `{"b":{},"a":{"x":1}}`, []headed{{"update", mapping.Head{Node: "b+a", UpstreamID: "7"}, `{"b":{},"a":{"x":1}}`}}},
		{"node with a plus", "updates", `{"a+b":{}}`, []headed{{"update", mapping.Head{Node: "a+b", UpstreamID: "7"}, `{"a+b":{}}`}}},
		{"cached write", "updates", `{"a":{"x":1},"__metadata__":{"cached":true}}`, []headed{{"update", mapping.Head{Node: "a", UpstreamID: "7"}, `{"x":1}`}}},
		{"question", "updates", `{"__interrupt__":[{"interrupt_id":"i1","value":"sure?"}]}`, []headed{{"interrupt", mapping.Head{Interrupts: q}, ""}}},
		{"update and question", "updates", `{"a":{},"__interrupt__":[{"id":"i1","value":"sure?"}]}`, []headed{
			{"update", mapping.Head{Node: "a", UpstreamID: "7"}, `{}`}, {"interrupt", mapping.Head{Interrupts: q}, ""}}},
		{"values with a question alone", "values", `{"__interrupt__":[{"id":"i1","value":1}]}`, nil},
		{"values with state and question", "values", `{"n":1.0,"__interrupt__":[{"id":"i1","value":1}]}`, []headed{{"state", mapping.Head{Name: "values", Full: true, UpstreamID: "7"}, `{"n":1.0}`}}},
		{"a text that looks like a question", "values", `{"n":"\"__interrupt__\""}`, []headed{{"state", mapping.Head{Name: "values", Full: true, UpstreamID: "7"}, `{"n":"\"__interrupt__\""}`}}},
		{"short checkpoint", "checkpoints", `{"id":"c","step":1,"source":"loop"}`, []headed{{"chunk", mapping.Head{Name: "checkpoints", UpstreamID: "7"}, `{"id":"c","step":1,"source":"loop"}`}}},
		{"checkpoint", "checkpoints", `{"values":{"n":1},"metadata":{"source":"loop","step":2},"next":["a"]}`, []headed{{"state",
			mapping.Head{Name: "checkpoints", Full: true, Next: []string{"a"}, UpstreamID: "7", Checkpoint: &mapping.Checkpoint{
				Source: "loop", Step: 2, Next: []string{"a"}, RunID: adaptertest.RunID, Metadata: json.RawMessage(`{"source":"loop","step":2}`)}}, `{"n":1}`}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tr := framesIn(t, sse.Event{Name: c.event, Data: []byte(c.data), ID: "7"})
			if diff := cmp.Diff(c.want, headsOf(tr)); diff != "" || tr.Err != nil {
				t.Errorf("error %v, events (-want +got):\n%s", tr.Err, diff)
			}
		})
	}
}

// An error in a checkpoint is reported even if members are repeated.
func TestBadCheckpoints(t *testing.T) {
	t.Parallel()
	for _, data := range []string{
		`[1]`, `{"values":7,"metadata":{}}`, `{"values":{},"metadata":7}`, `{"values":{},"metadata":{},"next":7}`,
		`{"values":{},"next":7,"values":{"a":1},"metadata":{}}`,
		`{"metadata":{},"values":{},"next":7,"metadata":{"a":1}}`,
	} {
		e := mapping.Classify(framesIn(t, sse.Event{Name: "checkpoints", Data: []byte(data)}).Err)
		if e.Code != mapping.CodeBadUpstream {
			t.Errorf("%s: %s %q", data, e.Code, e.Message)
		}
	}
}

func TestStopsAtNodesAreShownWhereAskedFor(t *testing.T) {
	t.Parallel()
	tr := framesIn(t, sse.Event{Name: "updates", Data: []byte(`{"__interrupt__":[]}`)}, sse.Event{Name: "values", Data: []byte(`{"__interrupt__":[]}`)})
	want := []headed{{"chunk", mapping.Head{Name: "updates"}, `{"__interrupt__":[]}`}, {"chunk", mapping.Head{Name: "values"}, `{"__interrupt__":[]}`}}
	if diff := cmp.Diff(want, headsOf(tr)); diff != "" {
		t.Error(diff)
	}
}

func TestErrorFrames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ data, code, name, message string }{
		{`{"error":"RangeError","message":"no"}`, mapping.CodeUpstreamError, "RangeError", "no"},
		{`{"error":"RangeError"}`, mapping.CodeUpstreamError, "RangeError", "RangeError"},
		{`{"error":"` + adaptertest.Canary + `","message":"no"}`, mapping.CodeUpstreamError, "[hidden]", "no"},
		{`{"error":"` + strings.Repeat("e", 300) + `","message":"no"}`, mapping.CodeUpstreamError, strings.Repeat("e", 200) + "…", "no"},
		{`{}`, mapping.CodeUpstreamError, "", `Agent "agent" ended the run with an error and gave no reason.`},
		{`"it broke"`, mapping.CodeUpstreamError, "", "it broke"},
		{`"Run not found"`, mapping.CodeUpstreamLost, "", ""},
		{`{"error":"E","message":"key ` + adaptertest.Canary + `"}`, mapping.CodeUpstreamError, "E", "key [hidden]"},
		{`{"error":"GraphRecursionError","message":"limit"}`, mapping.CodeStepLimit, "GraphRecursionError", "limit 20 steps are the most that the bridge allows if agents.agent.max_steps is not set."},
		{`[1]`, mapping.CodeBadUpstream, "", ""},
	} {
		e := mapping.Classify(framesIn(t, sse.Event{Name: "error", Data: []byte(c.data)}).Err)
		if e.Code != c.code || e.Name != c.name || (c.message != "" && e.Message != c.message) {
			t.Errorf("%s: %s %q %q", c.data, e.Code, e.Name, e.Message)
		}
	}
}

// FuzzFrame checks that any frames become valid events, or an *mapping.Error.
func FuzzFrame(f *testing.F) {
	for _, p := range []adaptertest.ThreadPlay{adaptertest.ChatPlay(), adaptertest.AskPlay(), adaptertest.FailPlay(), adaptertest.StepPlays()[0]} {
		for _, fr := range p.Frames {
			name, data, _ := strings.Cut(fr, " ")
			f.Add(name, []byte(data))
		}
	}
	f.Add("updates|a|b", []byte(`{"__interrupt__":{}}`))
	f.Add("values", []byte(`{"__interrupt__":1,"__interrupt__":2}`))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		tr := framesIn(t, sse.Event{Name: name, Data: data, ID: "1"})
		var e *mapping.Error
		if tr.Err != nil && !errors.As(tr.Err, &e) {
			t.Fatalf("error %v is not a *mapping.Error", tr.Err)
		}
		for _, ev := range tr.Events {
			if _, err := json.Marshal(ev); err != nil {
				t.Fatalf("event %+v cannot be stored: %v", ev, err)
			}
		}
	})
}

func TestPickAssistant(t *testing.T) {
	t.Parallel()
	entry := func(id, graph, name, by string) assistantWire {
		a := assistantWire{ID: id, Graph: graph, Name: name}
		a.Metadata.CreatedBy = by
		return a
	}
	chat, mine, other := entry("1", "chat", "", "system"), entry("2", "agent", "copy", "user"), entry("3", "agent", "agent", "system")
	for _, c := range []struct {
		name, assistant string
		list            []assistantWire
		want            string
	}{
		{"configured by graph", "chat", []assistantWire{mine, chat}, "1"},
		{"configured by id", "2", []assistantWire{chat, mine}, "2"},
		{"configured by name", "copy", []assistantWire{other, mine}, "2"},
		{"same name as the agent, the server's own first", "", []assistantWire{mine, other, chat}, "3"},
		{"the only one", "", []assistantWire{chat}, "1"},
		{"configured and not there", "x", []assistantWire{chat}, ""},
		{"not clear", "", []assistantWire{chat, entry("4", "more", "", "system")}, ""},
		{"none", "", nil, ""},
		{"without an id", "", []assistantWire{{Graph: "agent"}}, ""},
	} {
		up := adaptertest.Upstream("http://127.0.0.1:1")
		up.Config.Assistant = c.assistant
		b, err := newBackend(up)
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.graphs.pickAssistant(c.list)
		if got.id != c.want || (c.want == "") != (err != nil) {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
}

func TestDialRefusesInvalidURLs(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "agent:8000", "ftp://agent", "http://", "http://a b"} {
		if _, err := Dial(adaptertest.Upstream(url)); err == nil {
			t.Errorf("%q was accepted", url)
		}
	}
}
