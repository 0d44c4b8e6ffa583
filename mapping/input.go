package mapping

import "encoding/json"

// Input is what a client gave a run, in normal form (dialects: Agent Protocol
// RunCreate.input and .messages; LangGraph run payload "input").
type Input struct {
	Messages []json.RawMessage          // complete messages with type, content and id
	Text     string                     // of the last human message: what a task/step agent is told
	HasText  bool                       // false: nothing to say
	Files    map[string]json.RawMessage // input.files, by path
	Other    json.RawMessage            // remaining keys of an input object; nil when none
	Raw      json.RawMessage            // what a thread/run agent is sent: an object, or null
}

// ParseInput reads input and, for the Agent Protocol, messages. Messages
// without an id get MessageID(idBase, …): the rules of ids and roles are in
// DESIGN "Definitions". null and absent are the same. The error is an *Error
// of class Invalid.
func ParseInput(input, messages json.RawMessage, idBase string) (Input, error) { panic("stub") }

// Delta is the input as an update of the state of an opaque agent:
// {messages, files}; never nil.
func (in Input) Delta() json.RawMessage { panic("stub") }

// TextInput is the Input of a plain text: one human message.
func TextInput(text, idBase string) Input { panic("stub") }

// MergeAgentMessages renders messages (values.messages elements) in the form
// of the Agent Protocol: role user|assistant|system|tool instead of type.
func AgentProtocolMessages(messages []json.RawMessage) []json.RawMessage { panic("stub") }

// MessageText is the text of a message's content: a string as it is, content
// parts joined, "" for none.
func MessageText(message json.RawMessage) string { panic("stub") }
