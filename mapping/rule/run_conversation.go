package rule

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
)

// PartConversation splits the messages of a state into which the input was merged by id. request is the last human
// message of the input, or nil. earlier are all other messages that an opaque agent receives, including messages of the
// input after the request. Without messages in the input, for example when a failed run is repeated, request is the
// state's last message if a person wrote it.
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

// requestAmong returns the index of the request among messages, or -1.
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

// New returns the input's messages that a state lacks.
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

// request returns the last human message of the input, or nil.
func (in *Input) request() json.RawMessage {
	for _, m := range slices.Backward(in.Messages) {
		if messageKind(m) == typeHuman {
			return m
		}
	}
	return nil
}

// placeholder is the prefix of the ids of tool messages that Agent Chat UI and pages derived from it add, so that every
// tool call has a result (ensure-tool-responses.ts).
const placeholder = "do-not-render-"

// Conversational returns the messages without placeholders, removals of other messages, and messages about failed runs.
func Conversational(messages []json.RawMessage) []json.RawMessage {
	if !slices.ContainsFunc(messages, isNotConversation) {
		return messages
	}
	return slices.DeleteFunc(slices.Clone(messages), isNotConversation)
}

func isNotConversation(message json.RawMessage) bool {
	return isPlaceholder(message) || messageKind(message) == typeRemove || IsFaultMessage(message)
}

func isPlaceholder(message json.RawMessage) bool {
	return messageKind(message) == typeTool && strings.HasPrefix(state.IDOfMessage(message), placeholder)
}

// WithoutResultOf returns the messages that are passed on with an answer: all except results of the open call. That call
// is the question, so the answer is its result. Pages such as assistant-ui add a result that marks it as cancelled if
// the user types instead.
func WithoutResultOf(messages []json.RawMessage, open string) []json.RawMessage {
	return slices.DeleteFunc(slices.Clone(messages), func(m json.RawMessage) bool {
		call, _ := rawjson.Text(rawjson.Get(m, "tool_call_id"))
		return messageKind(m) == typeTool && call == open
	})
}

// messageLine returns a message as lines of a transcript, or "" if it is empty. text is the text of its content. No
// returned line begins with a heading of the prompt.
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

// WithCalls returns text followed by a line for each tool call of an ai message.
func WithCalls(message json.RawMessage, text string) string {
	if messageKind(message) != typeAI {
		return text
	}
	return withLines(text, toolCalls(message)...)
}

// withLines returns a text followed by lines.
func withLines(text string, lines ...string) string {
	if text != "" {
		lines = slices.Insert(lines, 0, text)
	}
	return strings.Join(lines, "\n")
}
