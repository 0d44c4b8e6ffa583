package adaptertest

import "strings"

// The following plays are the relevant parts of the output of version 1.4.6 of the JavaScript LangGraph server.

const (
	human  = `{"content":"hi","additional_kwargs":{},"response_metadata":{},"id":"0190c9a2-0000-7000-8000-000000000004","type":"human"}`
	ai     = `"tool_calls":[],"invalid_tool_calls":[],"additional_kwargs":{},"response_metadata":{},"type":"ai"}`
	one    = `{"content":"planning","id":"run-1",` + ai
	two    = `{"content":"thinking <b>","id":"run-2",` + ai
	three  = `{"content":"the answer is 42","id":"run-3",` + ai
	card   = `[{"action_request":{"action":"send_mail","args":{"to":"team"}},"config":{"allow_accept":true,"allow_edit":true,"allow_respond":true,"allow_ignore":false},"description":"Send this mail?"}]`
	asking = `[{` + askingID + `"value":` + card + `}]`

	askingID = `"id":"74462228383d847ecfda1c079720e8fc",`
)

// stateAnswer returns a response of GET /threads/{thread_id}/state.
func stateAnswer(values, next, tasks, step string) string {
	return `{"values":` + values + `,"next":` + next + `,"tasks":` + tasks +
		`,"metadata":{"graph_id":"agent","thread_id":"{{thread}}","run_id":"{{run}}","source":"loop","step":` + step + `,"parents":{}},` +
		`"created_at":"2026-11-21T05:04:19.726Z","checkpoint":{"thread_id":"{{thread}}","checkpoint_id":"{{checkpoint}}","checkpoint_ns":"","checkpoint_map":null},"parent_checkpoint":null}`
}

func messages(list ...string) string {
	out := `{"messages":[`
	for i, m := range list {
		if i > 0 {
			out += ","
		}
		out += m
	}
	return out + "]}"
}

func checkpoint(values, source, step, next string) string {
	return `checkpoints {"values":` + values + `,"metadata":{"source":"` + source + `","step":` + step + `,"parents":{}},"next":` + next + `}`
}

const metadataFrame = `metadata {"run_id":"{{run}}","attempt":1}`

// ChatPlay makes three outputs with tokens and succeeds.
func ChatPlay() ThreadPlay {
	return ThreadPlay{
		Frames: []string{
			metadataFrame,
			checkpoint(messages(), "input", "-1", `["__start__"]`),
			`values ` + messages(human),
			checkpoint(messages(human), "loop", "0", `["plan"]`),
			`tasks {"id":"d996b326-7448-56e6-8ebe-f8899f1ede65","name":"plan","input":` + messages(human) + `,"triggers":["branch:to:plan"],"interrupts":[]}`,
			`messages [{"content":"plan","id":"run-1",` + ai + `,{"langgraph_node":"plan","langgraph_step":1}]`,
			`custom {"thinking":true}`,
			`updates {"plan":` + messages(one) + `}`,
			`tasks {"id":"d996b326-7448-56e6-8ebe-f8899f1ede65","name":"plan","result":` + messages(one) + `,"interrupts":[]}`,
			`values ` + messages(human, one),
			checkpoint(messages(human, one), "loop", "1", `["think"]`),
			`updates {"think":` + messages(two) + `}`,
			`values ` + messages(human, one, two),
			checkpoint(messages(human, one, two), "loop", "2", `["answer"]`),
			`updates {"answer":` + messages(three) + `}`,
			`values ` + messages(human, one, two, three),
			checkpoint(messages(human, one, two, three), "loop", "3", `[]`),
		},
		State: stateAnswer(messages(human, one, two, three), `[]`, `[]`, "3"),
	}
}

// AskPlay makes one output and then asks a question.
func AskPlay() ThreadPlay {
	return ThreadPlay{
		Frames: []string{
			metadataFrame,
			`values ` + messages(human),
			checkpoint(messages(human), "loop", "0", `["plan"]`),
			`updates {"plan":` + messages(one) + `}`,
			`values ` + messages(human, one),
			checkpoint(messages(human, one), "loop", "1", `["ask"]`),
			`tasks {"id":"9c13467e-8232-5a36-b4fe-229eaaaa75aa","name":"ask","result":{},"interrupts":` + asking + `}`,
			`updates {"__interrupt__":` + asking + `}`,
			`values {"__interrupt__":` + asking + `}`,
		},
		State: stateAnswer(messages(human, one), `["ask"]`,
			`[{"id":"9c13467e-8232-5a36-b4fe-229eaaaa75aa","name":"ask","error":null,"interrupts":`+asking+`,"path":["__pregel_pull","ask"],"checkpoint":null,"state":null,"result":null}]`, "1"),
	}
}

// NamelessPlay asks like AskPlay, but without ids, like servers before LangGraph 0.4.
func NamelessPlay() ThreadPlay {
	play := AskPlay()
	nameless := strings.NewReplacer(askingID, "")
	for i, f := range play.Frames {
		play.Frames[i] = nameless.Replace(f)
	}
	play.State = nameless.Replace(play.State)
	return play
}

// FailPlay makes one output and then fails in node "break".
func FailPlay() ThreadPlay {
	return ThreadPlay{
		Frames: []string{
			metadataFrame,
			`values ` + messages(human),
			`updates {"plan":` + messages(one) + `}`,
			checkpoint(messages(human, one), "loop", "1", `["break"]`),
			`error {"error":"RangeError","message":"the agent failed on purpose"}`,
		},
		State: stateAnswer(messages(human, one), `["break"]`,
			`[{"id":"edbf9649-38da-53b4-9405-f349daf54a93","name":"break","error":"RangeError: the agent failed on purpose","interrupts":[],"path":["__pregel_pull","break"]}]`, "1"),
		Status: "error",
	}
}

// HangPlay begins and then sends nothing.
func HangPlay() ThreadPlay {
	return ThreadPlay{Frames: []string{metadataFrame, `values ` + messages(human)}, State: stateAnswer(messages(human), `["plan"]`, `[]`, "0"), Hang: true}
}

// StepPlays returns three upstream runs of one step each, as with interrupt_after "*". At such a stop the server sends
// no checkpoint.
func StepPlays() []ThreadPlay {
	step := func(n, node, delta, values, next, tasks string) ThreadPlay {
		return ThreadPlay{
			Frames: []string{metadataFrame, `updates {"` + node + `":` + delta + `}`, `values ` + values,
				`updates {"__interrupt__":[]}`, `values {"__interrupt__":[]}`},
			State: stateAnswer(values, next, tasks, n),
		}
	}
	pending := func(name string) string {
		return `[{"id":"8f7e9e1c-95a8-5082-8dc4-1e86e7f7d71e","name":"` + name + `","error":null,"interrupts":[],"path":["__pregel_pull","` + name + `"]}]`
	}
	return []ThreadPlay{
		step("1", "plan", messages(one), messages(human, one), `["think"]`, pending("think")),
		step("2", "think", messages(two), messages(human, one, two), `["answer"]`, pending("answer")),
		step("3", "answer", messages(three), messages(human, one, two, three), `[]`, `[]`),
	}
}
