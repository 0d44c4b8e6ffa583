package protocol

import (
	"strconv"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
)

// The scripts contain the events that backends log for one run.

func runOf(n int, agent string) mapping.Run {
	return mapping.Run{ID: uuid(100 + n), Agent: agent, AssistantID: uuid(7), Status: mapping.RunRunning}
}

func started() mapping.Event {
	return mapping.Event{Kind: mapping.KindStarted, Head: mapping.Head{Attempt: 1}}
}

func endedAs(o mapping.Outcome) mapping.Event {
	return mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &o}}
}

func succeeded() mapping.Event { return endedAs(mapping.Outcome{Status: mapping.RunSuccess}) }

func checkpoint(n, step int, source string) *mapping.Checkpoint {
	return &mapping.Checkpoint{ID: uuid(300 + n), Parent: uuid(300 + n - 1), Source: source, Step: step}
}

func humanInput() mapping.Event {
	return mapping.Event{
		Kind: mapping.KindInput, Data: raw(`{"messages":[{"id":"h1","type":"human","content":"hi"}]}`),
		Head: mapping.Head{Checkpoint: checkpoint(1, -1, "input")},
	}
}

func step(n int, node, messages string) mapping.Event {
	return mapping.Event{
		Kind: mapping.KindUpdate, Data: raw(`{"messages":[` + messages + `]}`),
		Head: mapping.Head{Node: node, Reduce: true, Checkpoint: checkpoint(n+1, n-1, "loop"), Step: &mapping.StepInfo{}},
	}
}

func says(n int, text string) string {
	return `{"id":"a` + strconv.Itoa(n) + `","type":"ai","content":"` + text + `"}`
}

func twoSteps() []mapping.Event {
	call := `{"id":"a1","type":"ai","content":"thinking","tool_calls":[{"id":"c1","name":"write","args":{"file":"x"}}]}`
	result := `{"id":"t1","type":"tool","tool_call_id":"c1","content":"written"}`
	return []mapping.Event{started(), humanInput(), step(1, "write", call), step(2, "finish", result+","+says(2, "done")), succeeded()}
}

var questions = []mapping.Interrupt{{ID: "q1", Value: raw(`"really?"`)}}

func question() []mapping.Event {
	asking := step(1, "step", says(1, "really?"))
	asking.Head.Interrupts = questions
	return []mapping.Event{started(), humanInput(), asking, endedAs(mapping.Outcome{Status: mapping.RunInterrupted, Interrupts: questions})}
}

func failure() []mapping.Event {
	return []mapping.Event{started(), humanInput(), endedAs(mapping.Outcome{Status: mapping.RunError, Fault: &mapping.Fault{Code: "upstream_error", Message: "The agent answered 500."}})}
}

func piece(id, ns, members string) mapping.Event {
	return mapping.Event{Kind: mapping.KindDelta, Data: raw(`[{"id":"` + id + `","type":"AIMessageChunk",` + members + `},{"langgraph_checkpoint_ns":"` + ns + `"}]`)}
}

func stateEvent(base string, cp *mapping.Checkpoint, values string) mapping.Event {
	fold, _ := state.NewFold(raw(base))
	diff, _, err := fold.DiffTo(raw(values))
	if err != nil {
		panic(err)
	}
	name := "values"
	if cp != nil {
		name = "checkpoints"
	}
	return mapping.Event{Kind: mapping.KindState, Data: diff, Head: mapping.Head{Name: name, Checkpoint: cp}}
}

func chunk(name, data string, ns ...string) mapping.Event {
	return mapping.Event{Kind: mapping.KindChunk, Data: raw(data), Head: mapping.Head{Name: name, NS: ns}}
}

// graphRun is a run of a thread/run agent that streams text, reasoning and a tool call, has an inner graph, and reports
// its states twice.
func graphRun() []mapping.Event {
	const human = `{"messages":[{"id":"h1","type":"human","content":"hi"}]}`
	const both = `{"messages":[{"id":"h1","type":"human","content":"hi"},{"id":"m1","type":"ai","content":"hello"}]}`
	update := func(node, data string, ns ...string) mapping.Event {
		return mapping.Event{Kind: mapping.KindUpdate, Data: raw(data), Head: mapping.Head{Node: node, NS: ns}}
	}
	input := checkpoint(1, -1, "input")
	input.Next = []string{"__start__"}
	return []mapping.Event{
		started(),
		stateEvent("", input, `{"messages":[]}`),
		stateEvent(`{"messages":[]}`, checkpoint(2, 0, "loop"), human),
		chunk("tasks", `{"id":"t1","name":"plan","input":{},"triggers":["x"],"interrupts":[]}`),
		piece("m1", "plan:t1", `"content":"he"`),
		piece("m2", "plan:t1|deep:t2", `"content":[{"type":"reasoning","reasoning":"hm","index":0}]`),
		piece("m1", "plan:t1", `"content":"llo"`),
		piece("m2", "plan:t1|deep:t2", `"content":"","tool_call_chunks":[{"id":"c1","name":"look","args":"{\"a\"","index":1}]`),
		piece("m2", "plan:t1|deep:t2", `"content":"","tool_call_chunks":[{"args":":1}","index":1}],"usage_metadata":{"input_tokens":1,"input_token_details":{"cache_read":2}},"response_metadata":{"finish_reason":"stop"}`),
		update("deep", `{"messages":[{"id":"m2","type":"ai","content":""}]}`, "plan:t1"),
		chunk("tools", `{"event":"on_tool_start","toolCallId":"c1","name":"look","input":{"a":1}}`, "tools:t3"),
		chunk("tools", `{"event":"on_tool_event","toolCallId":"c1","data":"half"}`, "tools:t3"),
		chunk("tools", `{"event":"on_tool_end","toolCallId":"c1","output":{"b":2}}`, "tools:t3"),
		chunk("tools", `{"event":"on_tool_error","toolCallId":"c2","error":{"message":"no"}}`, "tools:t3"),
		chunk("values", `{"inner":true,"__interrupt__":[]}`, "plan:t1"),
		update("plan", `{"messages":[{"id":"m1","type":"ai","content":"hello"},{"id":"m3","type":"ai","content":"unstreamed"}]}`),
		update("b+a", `{"b":{"n":1},"a":{"n":2}}`),
		{Kind: mapping.KindCustom, Data: raw(`{"progress":0.5}`)},
		chunk("custom:score", `7`),
		chunk("tasks", `{"id":"t1","name":"plan","result":{},"interrupts":[]}`),
		chunk("debug", `{"step":1}`), chunk("events", `{}`), chunk("messages/complete", `[]`),
		stateEvent(human, nil, both),
		stateEvent(both, checkpoint(3, 1, "loop"), both),
		succeeded(),
	}
}

func retried() []mapping.Event {
	again := started()
	again.Head.Attempt = 2
	return []mapping.Event{started(), piece("m1", "plan:t1", `"content":"lost"`), again, piece("m9", "plan:t9", `"content":"found"`), succeeded()}
}

// updated is a client's change of the state between runs.
func updated() mapping.Event { return stateEvent("", checkpoint(9, 4, "update"), `{"messages":[]}`) }
