package rule

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
)

// PartConversation parts the messages of a state into which the input was merged by id: into the request, which is the
// last human message of the input (nil where it has none), and all others that an opaque agent is told. What the input
// has after the request is told with those before it. Without an input the request is what a person said last, if
// nothing has answered it: an answer is made again, or a run that failed.
func (in *Input) PartConversation(merged []json.RawMessage) (earlier []json.RawMessage, request json.RawMessage) {
	merged = Conversational(merged)
	at := in.requestAmong(merged)
	if at < 0 {
		return merged, nil
	}
	earlier = merged[:at:at]
	if at+1 < len(merged) {
		earlier = slices.Concat(earlier, merged[at+1:])
	}
	return earlier, merged[at]
}

// requestAmong returns the place of the request among messages; -1 for none.
func (in *Input) requestAmong(merged []json.RawMessage) int {
	last := len(merged) - 1
	if len(in.Messages) == 0 {
		if last >= 0 && messageKind(merged[last]) == typeHuman {
			return last
		}
		return -1
	}
	id := state.IDOfMessage(in.request())
	for ; last >= 0 && (id == "" || state.IDOfMessage(merged[last]) != id); last-- {
	}
	return last
}

// New returns the input's messages that a state does not have.
func (in *Input) New(before *state.Fold) []json.RawMessage {
	has := before.HasMessage()
	if has == nil {
		return in.Messages
	}
	var list []json.RawMessage
	for _, m := range in.Messages {
		if !has(state.IDOfMessage(m)) {
			list = append(list, m)
		}
	}
	return list
}

// request is the last human message of the input, nil for none.
func (in *Input) request() json.RawMessage {
	for _, m := range slices.Backward(in.Messages) {
		if messageKind(m) == typeHuman {
			return m
		}
	}
	return nil
}

// placeholder begins the ids of tool messages that Agent Chat UI and pages made from it add by themselves, so that no
// tool call stays without an answer (ensure-tool-responses.ts).
const placeholder = "do-not-render-"

// Conversational returns the messages without those that have no speaker: placeholders, removals of other messages, and
// what tells people that a run failed.
func Conversational(messages []json.RawMessage) []json.RawMessage {
	if !slices.ContainsFunc(messages, isUnsaid) {
		return messages
	}
	return slices.DeleteFunc(slices.Clone(messages), isUnsaid)
}

func isUnsaid(message json.RawMessage) bool {
	return isPlaceholder(message) || messageKind(message) == typeRemove || SaysFault(message)
}

func isPlaceholder(message json.RawMessage) bool {
	return messageKind(message) == typeTool && strings.HasPrefix(state.IDOfMessage(message), placeholder)
}

// BesideAnswer returns those of the messages beside an answer that are told with it: all but results of the call that
// is open. That is the question, which the answer answers; pages mark it as cancelled for themselves when a person
// types instead (assistant-ui).
func BesideAnswer(messages []json.RawMessage, open string) []json.RawMessage {
	return slices.DeleteFunc(slices.Clone(messages), func(m json.RawMessage) bool {
		call, _ := rawjson.Text(rawjson.Get(m, "tool_call_id"))
		return messageKind(m) == typeTool && call == open
	})
}

// messageLine is a message as a line of a transcript; "" for one that says nothing. text is what its content says. No
// line of it begins with a heading of the prompt.
func messageLine(message json.RawMessage, text string) string {
	text = WithCalls(message, text)
	if text == "" {
		return ""
	}
	speaker := messageKind(message)
	switch speaker {
	case typeHuman:
		speaker = "User"
	case typeAI:
		speaker = "Assistant"
	case typeSystem:
		speaker = "System"
	case typeTool, "function":
		speaker = "Tool"
	case "":
		speaker = "Message"
	}
	return withoutHeadings(speaker + ": " + text)
}

// WithCalls returns the words of a message with the text as its content: the tool calls of an ai message stand after
// it, a line each.
func WithCalls(message json.RawMessage, text string) string {
	if messageKind(message) != typeAI {
		return text
	}
	return withLines(text, toolCalls(message)...)
}

// withLines is a text with lines after it.
func withLines(text string, lines ...string) string {
	if text != "" {
		lines = slices.Insert(lines, 0, text)
	}
	return strings.Join(lines, "\n")
}
