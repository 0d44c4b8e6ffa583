package face

import (
	"strconv"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
)

// The scripts contain the events that backends log for one run.

func started() mapping.Event {
	return mapping.Event{Kind: mapping.KindStarted, Head: mapping.Head{Attempt: 1}}
}

func endedAs(o mapping.Outcome) mapping.Event {
	return mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &o}}
}

func succeeded() mapping.Event { return endedAs(mapping.Outcome{Status: mapping.RunSuccess}) }

func checkpoint(n, step int, source string, next ...string) *mapping.Checkpoint {
	cp := &mapping.Checkpoint{ID: uuid(100 + n), Source: source, Step: step, Next: next}
	if n > 0 {
		cp.Parent = uuid(100 + n - 1)
	}
	return cp
}

func humanInput() mapping.Event {
	return mapping.Event{
		Kind: mapping.KindInput, Data: raw(`{"messages":[{"id":"h1","type":"human","content":"hi"}]}`),
		Head: mapping.Head{Checkpoint: checkpoint(0, -1, "input", "step")},
	}
}

func step(n int, node, text string, last bool) mapping.Event {
	next := []string{"step"}
	if last {
		next = nil
	}
	return mapping.Event{
		Kind: mapping.KindUpdate, Data: raw(`{"messages":[{"id":"a` + strconv.Itoa(n) + `","type":"ai","content":"` + text + `"}]}`),
		Head: mapping.Head{Node: node, Reduce: true, Checkpoint: checkpoint(n, n-1, "loop", next...), Step: &mapping.StepInfo{SaysLast: last}},
	}
}

// twoSteps is a task/step agent that does two steps.
func twoSteps(mapping.Run) []mapping.Event {
	return []mapping.Event{started(), humanInput(), step(1, "plan", "thinking", false), step(2, "step", "done", true), succeeded()}
}

// question is a task/step agent that asks in its first step.
func question(mapping.Run) []mapping.Event {
	ask := []mapping.Interrupt{{ID: uuid(60), Value: raw(`"really?"`)}}
	asking := step(1, "step", "really?", false)
	asking.Head.Interrupts = ask
	return []mapping.Event{started(), humanInput(), asking, endedAs(mapping.Outcome{Status: mapping.RunInterrupted, Interrupts: ask})}
}

// failure is a task/step agent that fails after a step.
func failure(mapping.Run) []mapping.Event {
	f := &mapping.Fault{Code: mapping.CodeUpstreamError, Message: "The agent answered 500."}
	return []mapping.Event{started(), humanInput(), step(1, "plan", "thinking", false), endedAs(mapping.Outcome{Status: mapping.RunError, Fault: f})}
}

func delta(id, text string) mapping.Event {
	return mapping.Event{Kind: mapping.KindDelta, Data: raw(`[{"content":"` + text + `","id":"` + id + `","type":"ai","tool_calls":[]},{"langgraph_node":"plan"}]`)}
}

func stateEvent(name, values string) mapping.Event {
	base, _ := state.NewFold(nil)
	diff, _, err := base.DiffTo(raw(values))
	if err != nil {
		panic(err)
	}
	return mapping.Event{Kind: mapping.KindState, Data: diff, Head: mapping.Head{Name: name, Checkpoint: checkpoint(1, 0, "loop", "plan")}}
}

func chunk(name, data string, ns ...string) mapping.Event {
	return mapping.Event{Kind: mapping.KindChunk, Data: raw(data), Head: mapping.Head{Name: name, NS: ns}}
}

// graphRun is a thread/run agent that streams tokens, passes on inner frames and reports its states.
func graphRun(mapping.Run) []mapping.Event {
	inner := mapping.Event{Kind: mapping.KindUpdate, Data: raw(`{"x":1}`), Head: mapping.Head{Node: "deep", NS: []string{"sub:1"}}}
	several := mapping.Event{Kind: mapping.KindUpdate, Data: raw(`{"b":{"n":1},"a":{"n":2}}`), Head: mapping.Head{Node: "b+a"}}
	return []mapping.Event{
		started(),
		stateEvent("checkpoints", `{"messages":[{"id":"h1","type":"human","content":"hi"}]}`),
		chunk("tasks", `{"id":"t1","name":"plan","input":{},"triggers":[],"interrupts":[]}`),
		delta("m1", "he"), delta("m1", "llo"),
		inner,
		{Kind: mapping.KindUpdate, Data: raw(`{"messages":[{"id":"m1","type":"ai","content":"hello"}]}`), Head: mapping.Head{Node: "plan"}},
		several,
		{Kind: mapping.KindCustom, Data: raw(`{"progress":0.5}`)},
		chunk("debug", `{"step":1,"type":"task","payload":{}}`),
		chunk("events", `{"event":"on_chat_model_stream"}`),
		chunk("messages/complete", `[{"id":"m1","content":"hello"}]`),
		chunk("values", `{"inner":true}`, "sub:1"),
		stateEvent("values", `{"messages":[{"id":"h1","type":"human","content":"hi"},{"id":"m1","type":"ai","content":"hello"}]}`),
		succeeded(),
	}
}
