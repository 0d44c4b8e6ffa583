package rule

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
)

// This file presents a task/step agent as a graph of one node.

// StepNode is the name of the one node of a task/step agent's graph, in states, tasks, updates, metadata and the graph
// itself. The names of steps are only known later, and become the names of their messages.
const StepNode = "step"

// StepUpdate returns the update for step n of a task: the delta {messages?, files?} with the ai message StepID(taskID,
// n) and, if the step asks, its Interrupts. If s.OpenCall waits for the result of the last command, the result precedes
// the ai message as a tool message. files is the object of changed files, or nil.
//
// If tokens had the message, its id is that of the tokens, and Head.Streamed is set.
//
// A step without text has a message, also without text, if it proposes a command or has skipped files.
//
// Data in the message is not stored twice: Head.Step has Output only if it differs from the message's text, and
// Additional only if there is no message. StepSaid reads both.
func StepUpdate(runID, taskID string, n int, s mapping.StepInfo, files json.RawMessage, ask mapping.Approval) mapping.Event {
	ev := mapping.Event{RunID: runID, Kind: mapping.KindUpdate}
	ev.Head = mapping.Head{Node: StepNode, Reduce: true, Streamed: s.StreamedAs != ""}
	if !s.SaysLast {
		ev.Head.Interrupts = stepQuestion(runID, n, s, ask)
	}
	delta := new(rawjson.Writer).Open('{')
	if list := stepMessages(cmp.Or(s.StreamedAs, mapping.StepID(taskID, n)), &s); len(list) > 0 {
		delta.Key(state.KeyMessages).Array(list)
	}
	if !rawjson.IsNull(files) {
		delta.Key(state.KeyFiles).Raw(files, "null")
	}
	ev.Data, ev.Head.Step = delta.Close('}').Bytes, &s
	return ev
}

// StepToken returns a piece of the text of a message with this id. A later step has the message (StepInfo.StreamedAs),
// unless passing is set.
func StepToken(run *mapping.Run, id, text string, passing bool) mapping.Event {
	w := new(rawjson.Writer).Open('[')
	w.Open('{').Key("content").Text(text).Key("additional_kwargs").Literal("{}").Key("response_metadata").Literal("{}")
	w.Key("id").Text(id).Key("type").Text("AIMessageChunk").Key("tool_calls").Literal("[]").Key("tool_call_chunks").Literal("[]")
	w.Key("invalid_tool_calls").Literal("[]").Close('}')
	w.Open('{').Key("langgraph_node").Text(StepNode).Key("run_id").Text(run.ID).Key("thread_id").Text(run.ThreadID).Close('}')
	return mapping.Event{
		RunID: run.ID, Kind: mapping.KindDelta, Data: w.Close(']').Bytes,
		Head: mapping.Head{Node: StepNode, Passing: passing},
	}
}

// WantsTokens reports whether a client of a run requested tokens.
func WantsTokens(o *mapping.RunOptions) bool {
	return slices.Contains(o.StreamModes, "messages") || slices.Contains(o.StreamModes, "messages-tuple")
}

// stepMessages returns the messages of a step: a result, the agent's text, or both. It removes data that the messages
// contain from the step.
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
		s.Output = json.RawMessage("null") // otherwise StepSaid would return the message's text
	}
	return append(list, said.json())
}

// StepSaid returns the original output of a task/step agent's step and its additional output, each nil if absent. The
// additional output names the skipped files; see SkippedFile.
func StepSaid(ev *mapping.Event) (output, additional json.RawMessage) {
	if ev.Head.Step == nil {
		return nil, nil
	}
	output, additional = ev.Head.Step.Output, ev.Head.Step.Additional
	list, _ := state.MessagesIn(rawjson.Get(ev.Data, state.KeyMessages))
	if len(list) == 0 || messageKind(list[len(list)-1]) != typeAI { // a result precedes it
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

// note adds the bridge's own data to a message.
func (m *message) note(additional json.RawMessage) {
	if !rawjson.IsNull(additional) {
		m.rest.Put(rawjson.Member{Name: "additional_kwargs", Value: rawObject("apbridge", additional)})
	}
}

// outputText returns a step's output as text: a string itself, "" for null, and compact JSON for anything else.
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

// stepName returns the step's name if it is meaningful. Some agents copy the step's input to its name, or "y" for an
// empty input.
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

// AnswerDelta returns the delta that adds an answer to the state as a human message. JSON data is marked so that IsData
// recognizes it. The delta is nil for an answer
// that only means "continue".
func AnswerDelta(runID string, a Answer) json.RawMessage {
	if a.Continue {
		return nil
	}
	m := humanMessage(a.Text)
	m.id = mapping.MessageID(runID, "answer")
	raw := m.json()
	if a.Data {
		m.content = rawjson.Array(new(rawjson.Writer).Open('{').Key("type").Text("text").Key("text").Text(a.Text).Close('}').Bytes)
		raw, _ = rawjson.WithMember(m.json(), "additional_kwargs", rawObject(KeyData, json.RawMessage("[0]")))
	}
	return rawObject(state.KeyMessages, rawjson.Array(raw))
}
