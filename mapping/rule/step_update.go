package rule

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
)

// This file is how a task/step agent is shown as a graph of one node.

// StepUpdate makes the logged form of step n of a task: node, the delta
// {messages?, files?} with the ai message StepID(taskID, n), and, when the
// step asks, its Interrupts. files is the object of changed files or nil.
//
// A step without words that skipped files has a message, too, with no text and
// the names of the files.
//
// What the message holds is not kept a second time: Head.Step has Output only
// when it is no text, and Additional only when there is no message. StepSaid
// reads both back.
func StepUpdate(runID, taskID string, n int, s mapping.StepInfo, files json.RawMessage, ask mapping.Approval) mapping.Event {
	ev := mapping.Event{RunID: runID, Kind: mapping.KindUpdate}
	ev.Head = mapping.Head{Node: stepNode(s), Reduce: true}
	if !s.SaysLast {
		ev.Head.Interrupts = stepQuestion(runID, n, s, ask)
	}
	delta := new(rawjson.Writer).Open('{')
	if text := outputText(s.Output); text != "" || len(s.Skipped) > 0 {
		delta.Key(state.KeyMessages).Array([]json.RawMessage{stepMessage(mapping.StepID(taskID, n), text, withSkipped(s.Additional, s.Skipped))})
		s.Additional, s.Skipped = nil, nil
		if text != "" && rawjson.Kind(s.Output) == '"' {
			s.Output = nil
		}
	}
	if !rawjson.IsNull(files) {
		delta.Key(state.KeyFiles).Raw(files, "null")
	}
	ev.Data, ev.Head.Step = delta.Close('}').Bytes, &s
	return ev
}

// StepSaid is the output of a task/step agent's step and its additional
// output, as the agent gave them; nil for what it did not give. The additional
// output names the files that were skipped, see SkippedFile.
func StepSaid(ev mapping.Event) (output, additional json.RawMessage) {
	if ev.Head.Step == nil {
		return nil, nil
	}
	output, additional = ev.Head.Step.Output, ev.Head.Step.Additional
	list, _ := state.MessagesIn(rawjson.Get(ev.Data, state.KeyMessages))
	if len(list) == 0 || rawjson.Kind(list[0]) != '{' {
		return output, additional
	}
	if said := rawjson.Get(list[0], "content"); output == nil && string(said) != `""` {
		output = said
	}
	if additional == nil {
		additional = rawjson.Get(rawjson.Get(list[0], "additional_kwargs"), "apbridge")
	}
	return output, additional
}

func stepMessage(id, text string, additional json.RawMessage) json.RawMessage {
	m := message{kind: typeAI, id: id, content: rawjson.Quote(text)}
	if !rawjson.IsNull(additional) {
		m.rest.Put(rawjson.Member{Name: "additional_kwargs", Value: rawObject("apbridge", additional)})
	}
	return m.json()
}

// outputText is a step's output as text: a string as it is, null nothing,
// anything else compact JSON.
func outputText(output json.RawMessage) string {
	if text, ok := rawjson.Text(output); ok {
		return text
	}
	if rawjson.IsNull(output) {
		return ""
	}
	return string(rawjson.Compact(output))
}

var nodeName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// stepNode is the step's name where it can be a node's; else "step". Some
// agents copy the step's input to its name, and take "y" for an empty input.
func stepNode(s mapping.StepInfo) string {
	copied := s.Name == "y"
	if s.Input != nil {
		copied = s.Name == *s.Input
	}
	if copied || strings.HasPrefix(s.Name, "__") || !nodeName.MatchString(s.Name) {
		return "step"
	}
	return s.Name
}

// AnswerDelta is the human message that an answer in text leaves in the state,
// or nil for an answer that only says "go on".
func AnswerDelta(runID string, a Answer) json.RawMessage {
	if a.Continue {
		return nil
	}
	m := humanMessage(a.Text)
	m.id = mapping.MessageID(runID, "answer")
	return rawObject(state.KeyMessages, rawjson.Array(m.json()))
}
