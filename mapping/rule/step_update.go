package rule

import (
	"encoding/json"
	"regexp"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
)

// This file is how a task/step agent is shown as a graph of one node.

// StepNode is the one node of a task/step agent's graph: in its states, tasks, updates, metadata and in the graph
// itself. The names of steps are known only when they come, and are those of their messages.
const StepNode = "step"

// StepUpdate makes the logged form of step n of a task: the delta {messages?, files?} with the ai message
// StepID(taskID, n), in front of it the result of the last command as a tool message where s.PendingToolCall waits for
// it, and, when the step asks, its Interrupts. files is the object of changed files or nil.
//
// A step without words that proposes a command or skipped files has a message, too, with no text.
//
// What the message holds is not kept a second time: Head.Step has Output only when it is not the message's text, and
// Additional only when there is no message. StepSaid reads both back.
func StepUpdate(runID, taskID string, n int, s mapping.StepInfo, files json.RawMessage, ask mapping.Approval) mapping.Event {
	ev := mapping.Event{RunID: runID, Kind: mapping.KindUpdate}
	ev.Head = mapping.Head{Node: StepNode, Reduce: true}
	if !s.SaysLast {
		ev.Head.Interrupts = stepQuestion(runID, n, s, ask)
	}
	delta := new(rawjson.Writer).Open('{')
	if list := stepMessages(mapping.StepID(taskID, n), &s); len(list) > 0 {
		delta.Key(state.KeyMessages).Array(list)
	}
	if !rawjson.IsNull(files) {
		delta.Key(state.KeyFiles).Raw(files, "null")
	}
	ev.Data, ev.Head.Step = delta.Close('}').Bytes, &s
	return ev
}

// stepMessages are the messages of a step: a result, what the agent says, or both. What they hold is taken out of the
// step.
func stepMessages(id string, s *mapping.StepInfo) (list []json.RawMessage) {
	told := ""
	if result, ok := lastResult(s.Additional); ok && s.OpenCall != "" {
		list, told = append(list, result.message(id, s.OpenCall)), result.text
	}
	call := stepCall(id, *s)
	text := spokenText(*s, call, told)
	if text == "" && len(s.Skipped) == 0 && !call.shown() {
		return list
	}
	said := message{kind: typeAI, id: id, content: rawjson.Quote(text)}
	said.note(withSkipped(s.Additional, s.Skipped))
	if name := stepName(*s); name != "" {
		said.rest.Put(rawjson.Member{Name: "name", Value: rawjson.Quote(name)})
	}
	if call.shown() {
		said.rest.Put(rawjson.Member{Name: "tool_calls", Value: call.json()})
	}
	s.Additional, s.Skipped = nil, nil
	switch output, ok := rawjson.Text(s.Output); {
	case ok && output == text && text != "":
		s.Output = nil
	case s.Output == nil && text != "":
		s.Output = json.RawMessage("null") // the text is not it
	}
	return append(list, said.json())
}

// StepSaid returns the output of a task/step agent's step and its additional output, as the agent gave them; nil for
// what it did not give. The additional output names the files that were skipped, see SkippedFile.
func StepSaid(ev *mapping.Event) (output, additional json.RawMessage) {
	if ev.Head.Step == nil {
		return nil, nil
	}
	output, additional = ev.Head.Step.Output, ev.Head.Step.Additional
	list, _ := state.MessagesIn(rawjson.Get(ev.Data, state.KeyMessages))
	if len(list) == 0 || messageKind(list[len(list)-1]) != typeAI { // a result stands in front of it
		return output, additional
	}
	message := list[len(list)-1]
	if said := rawjson.Get(message, "content"); output == nil && string(said) != `""` {
		output = said
	}
	if additional == nil {
		additional = rawjson.Get(rawjson.Get(message, "additional_kwargs"), "apbridge")
	}
	return output, additional
}

// note puts what is the bridge's own into a message.
func (m *message) note(additional json.RawMessage) {
	if !rawjson.IsNull(additional) {
		m.rest.Put(rawjson.Member{Name: "additional_kwargs", Value: rawObject("apbridge", additional)})
	}
}

// outputText is a step's output as text: a string as it is, null nothing, anything else compact JSON.
func outputText(output json.RawMessage) string {
	if text, ok := rawjson.Text(output); ok {
		return text
	}
	if rawjson.IsNull(output) {
		return ""
	}
	return string(rawjson.Compact(output))
}

var sayableName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// stepName is the step's name where it says something of the step. Some agents copy the step's input to its name, and
// take "y" for an empty input.
func stepName(s mapping.StepInfo) string {
	copied := s.Name == "y"
	if s.Input != nil {
		copied = s.Name == *s.Input
	}
	if copied || !sayableName.MatchString(s.Name) {
		return ""
	}
	return s.Name
}

// AnswerDelta returns the human message that an answer in text leaves in the state, or nil for an answer that only says
// "go on".
func AnswerDelta(runID string, a Answer) json.RawMessage {
	if a.Continue {
		return nil
	}
	m := humanMessage(a.Text)
	m.id = mapping.MessageID(runID, "answer")
	return rawObject(state.KeyMessages, rawjson.Array(m.json()))
}
