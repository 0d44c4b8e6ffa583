package rule

import (
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/google/go-cmp/cmp"
)

// shownMessage is the client's view of a message.
type shownMessage struct{ Kind, Text, Call, Args, Answers, Status string }

func shownIn(t *testing.T, ev mapping.Event) (list []shownMessage) {
	t.Helper()
	said, err := state.MessagesIn(rawjson.Get(ev.Data, state.KeyMessages))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range said {
		if m == nil {
			continue
		}
		call, _ := rawjson.Elements(rawjson.Get(m, "tool_calls"))
		s := shownMessage{Kind: messageKind(m), Text: MessageText(m)}
		for _, c := range call {
			s.Call, _ = rawjson.Text(rawjson.Get(c, "name"))
			s.Args = string(rawjson.Get(c, "args"))
		}
		s.Answers, _ = rawjson.Text(rawjson.Get(m, "tool_call_id"))
		s.Status, _ = rawjson.Text(rawjson.Get(m, "status"))
		list = append(list, s)
	}
	return list
}

const listsFiles = `"thoughts":{"speak":"I look."},"use_tool":{"name":"ls","arguments":{"dir":"."}}`

func TestAgentWithCommands(t *testing.T) {
	t.Parallel()
	looks := shownMessage{Kind: typeAI, Text: "I look.", Call: "ls", Args: `{"dir":"."}`}
	result := func(text, status string) shownMessage {
		return shownMessage{Kind: typeTool, Text: text, Answers: "call", Status: status}
	}
	for name, c := range map[string]struct {
		step mapping.StepInfo
		want []shownMessage
	}{
		"a command": {
			mapping.StepInfo{Output: asRaw(`"I look.\n\nNext Command: ls(dir='.')"`), Additional: asRaw(`{` + listsFiles + `}`)},
			[]shownMessage{looks},
		},
		"a result and a command": {
			mapping.StepInfo{OpenCall: "call", Output: asRaw("\"`cat(f='a')` returned: text\\n\\nI look.\\n\\nNext Command: ls(dir='.')\""),
				Additional: asRaw(`{"last_action":{"name":"cat","args":{},"result":{"outputs":"text","status":"success"}},` + listsFiles + `}`)},
			[]shownMessage{result("text", "success"), looks},
		},
		"a result that nothing waits for": {
			mapping.StepInfo{Output: asRaw(`"x"`), Additional: asRaw(`{"last_action":{"name":"cat","args":{},"result":"text"},` + listsFiles + `}`)},
			[]shownMessage{looks},
		},
		"an error": {
			mapping.StepInfo{OpenCall: "call", Output: asRaw(`"done"`), Additional: asRaw(`{"last_action":{"name":"cat","result":{"error":"E(2)","reason":"no such file"}}}`)},
			[]shownMessage{result("no such file", "error"), {Kind: typeAI, Text: "done"}},
		},
		"outputs that are no text": {
			mapping.StepInfo{OpenCall: "call", Output: asRaw(`""`), Additional: asRaw(`{"last_action":{"name":"cat","result":{"outputs": [1, 2]}}}`)},
			[]shownMessage{result("[1,2]", "success")},
		},
		"feedback is a person's message already": {
			mapping.StepInfo{OpenCall: "call", Output: asRaw(`"x"`), Additional: asRaw(`{"last_action":{"name":"cat","result":{"feedback":"not that","status":"interrupted_by_human"}},` + listsFiles + `}`)},
			[]shownMessage{result(resultNotRun, "error"), looks},
		},
		"an answer is a person's message already": {
			mapping.StepInfo{OpenCall: "call", Output: asRaw(`"x"`), Additional: asRaw(`{"last_action":{"name":"ask_user","result":{"outputs":"blue","status":"success"}},` + listsFiles + `}`)},
			[]shownMessage{result(resultAsked, "success"), looks},
		},
		"a question": {
			mapping.StepInfo{Output: asRaw(`"I must know.\n\nWhich?"`), Additional: asRaw(`{"thoughts":{"speak":"I must know."},"use_tool":{"name":"ask_user","arguments":{"question":"Which?"}}}`)},
			[]shownMessage{{Kind: typeAI, Text: "I must know.\n\nWhich?", Call: "ask_user", Args: `{"question":"Which?"}`}},
		},
		"a question that is the thought": {
			mapping.StepInfo{Output: asRaw(`"Which?\n\nWhich?"`), Additional: asRaw(`{"thoughts":"Which?","use_tool":{"name":"ask_user","arguments":{"question":"Which?"}}}`)},
			[]shownMessage{{Kind: typeAI, Text: "Which?", Call: "ask_user", Args: `{"question":"Which?"}`}},
		},
		"the end is no call": {
			mapping.StepInfo{Output: asRaw(`"Good.\n\nNext Command: finish(reason='ok')"`), Additional: asRaw(`{"thoughts":{"speak":"Good."},"use_tool":{"name":"finish","arguments":{"reason":"ok"}}}`)},
			[]shownMessage{{Kind: typeAI, Text: "Good."}},
		},
		"the end without a thought": {
			mapping.StepInfo{Output: asRaw(`"Next Command: finish(reason='ok')"`), Additional: asRaw(`{"use_tool":{"name":"finish","arguments":{"reason":"ok"}}}`)},
			nil,
		},
		"a last step proposes nothing": {
			mapping.StepInfo{SaysLast: true, Output: asRaw(`"ok"`), Additional: asRaw(`{` + listsFiles + `}`)},
			[]shownMessage{{Kind: typeAI, Text: "ok"}},
		},
		"without thoughts the output's own parts go": {
			mapping.StepInfo{OpenCall: "call", Output: asRaw("\"`cat(f='a')` returned: text\\n\\nNow this.\\n\\nNext Command: ls(dir='.')\""),
				Additional: asRaw(`{"last_action":{"name":"cat","result":"text"},"use_tool":{"name":"ls","arguments":{"dir":"."}}}`)},
			[]shownMessage{result("text", "success"), {Kind: typeAI, Text: "Now this.", Call: "ls", Args: `{"dir":"."}`}},
		},
		"words of other agents stay": {
			mapping.StepInfo{Output: asRaw(`"Next Command: none"`), Additional: asRaw(`{"thoughts":{"speak":"x"}}`)},
			[]shownMessage{{Kind: typeAI, Text: "Next Command: none"}},
		},
	} {
		ev := StepUpdate(someRun, someTask, 2, c.step, nil, mapping.ApprovalAuto)
		if diff := cmp.Diff(c.want, shownIn(t, ev)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if said, more := StepSaid(&ev); compacted(said) != compacted(c.step.Output) || compacted(more) != compacted(c.step.Additional) {
			t.Errorf("%s: the agent's output is read back as %s, %s", name, said, more)
		}
	}
}

func TestOpenCall(t *testing.T) {
	t.Parallel()
	first := StepUpdate(someRun, someTask, 1, mapping.StepInfo{Additional: asRaw(`{` + listsFiles + `}`)}, nil, mapping.ApprovalAuto)
	open := PendingToolCall("", &first)
	if want := mapping.StepID(someTask, 1); open != want {
		t.Fatalf("after a command %q is open, want %q", open, want)
	}
	words := StepUpdate(someRun, someTask, 2, mapping.StepInfo{Output: asRaw(`"x"`)}, nil, mapping.ApprovalAuto)
	if got := PendingToolCall(open, &words); got != open {
		t.Errorf("after a step without a result %q is open", got)
	}
	done := StepUpdate(someRun, someTask, 3, mapping.StepInfo{Output: asRaw(`"x"`), OpenCall: open, Additional: asRaw(`{"last_action":{"name":"ls","result":"a"}}`)}, nil, mapping.ApprovalAuto)
	if got := PendingToolCall(open, &done); got != "" {
		t.Errorf("after the result %q is open", got)
	}
	if got := PendingToolCall(open, &mapping.Event{Kind: mapping.KindInput, Data: asRaw(`{"messages":[{"tool_call_id":"` + open + `"}]}`)}); got != open {
		t.Errorf("after a page's own result %q is open", got)
	}
}

func TestSaysFault(t *testing.T) {
	t.Parallel()
	failed := FaultUpdate(someRun, mapping.Fault{Code: "upstream_error", Message: "It broke."})
	said, _ := state.MessagesIn(rawjson.Get(failed.Data, state.KeyMessages))
	if !IsFaultMessage(said[0]) || MessageText(said[0]) != "Error: It broke." || FaultOf(&failed) != "It broke." {
		t.Errorf("a failure is reported as %s", failed.Data)
	}
	step := StepUpdate(someRun, someTask, 1, mapping.StepInfo{Output: asRaw(`"Error: x"`), Additional: asRaw(`{"error":{"type":"t","message":"x"}}`)}, nil, mapping.ApprovalAuto)
	own, _ := state.MessagesIn(rawjson.Get(step.Data, state.KeyMessages))
	if IsFaultMessage(own[0]) || FaultOf(&step) != "" {
		t.Errorf("the agent's own message of a failure is taken for the run's: %s", step.Data)
	}
	if rest := Conversational(append(own, said[0])); len(rest) != 1 || IsFaultMessage(rest[0]) {
		t.Errorf("%d messages are left", len(rest))
	}
	folder := NewStepFolder(someTask, mapping.SteppingFree)
	if steps := folder.Add(&state.Entry{Event: failed}); len(steps) > 0 || folder.Held() != nil {
		t.Errorf("the message of a failure is the step %v", steps)
	}
}
