package mapping

import (
	"encoding/json"
	"fmt"
)

// Input is what a client gave a run, in normal form (dialects: Agent Protocol
// RunCreate.input and .messages; LangGraph run payload "input").
type Input struct {
	Messages []json.RawMessage          // complete messages with type, content and id
	Text     string                     // of the last human message: what a task/step agent is told
	HasText  bool                       // false: nothing to say
	Files    map[string]json.RawMessage // input.files, by path as given; see CheckFiles
	Other    json.RawMessage            // remaining keys of an input object; nil when none
	Raw      json.RawMessage            // what a thread/run agent is sent: an object, or null
}

// textKeys are looked through, in this order, for the text of an input object
// without messages.
var textKeys = [...]string{"input", "message", "prompt", "query", "question", "task", "text"}

// ParseInput reads input and, for the Agent Protocol, messages. Both may be
// given: messages then follow those of the input, and an input that is no
// object counts as {"input": …}. null and absent are the same.
//
// Without messages the text is the input itself when it is a string, else the
// first string under input, message, prompt, query, question, task or text,
// else the input as compact JSON (its files left out); it becomes one human
// message. An empty text is no text, and makes no message unless it was sent
// as one. Messages without an id get MessageID(idBase, "input"), or "input/1",
// "input/2" … when there are several. The error is an *Error of class Invalid.
//
// Raw is the input object as it came; messages of the Agent Protocol, and
// inputs that are no object, are put into it in normal form.
func ParseInput(input, messages json.RawMessage, idBase string) (Input, error) {
	if isNull(input) && isNull(messages) {
		return Input{Raw: json.RawMessage("null")}, nil
	}
	given, err := parseProtocolMessages(messages)
	if err != nil {
		return Input{}, err
	}
	switch {
	case isNull(input):
		return inputOf(given, members{}, idBase), nil
	case kindOf(input) == '{':
		return parseInputObject(input, given, idBase)
	case len(given) > 0:
		if !validJSON(input) {
			return Input{}, invalid("The input is not valid JSON.")
		}
		object := members{}
		object.put(newMember("input", trimJSON(input)))
		return inputOf(given, object, idBase), nil
	}
	text, err := inputText(input)
	return TextInput(text, idBase), err
}

// TextInput is the Input of a plain text: one human message. An empty text is
// an Input with nothing to say.
func TextInput(text, idBase string) Input {
	if text == "" {
		return inputOf(nil, members{}, idBase)
	}
	return inputOf([]message{humanMessage(text)}, members{}, idBase)
}

func parseInputObject(input json.RawMessage, given []message, idBase string) (Input, error) {
	var object members
	if err := eachMember(input, object.put); err != nil {
		return Input{}, invalid("The input cannot be read: %v.", err)
	}
	own, err := parseMessages(object.get(keyMessages), "input.messages")
	if err != nil {
		return Input{}, err
	}
	all := append(own, given...)
	rest := object.clone()
	rest.drop(map[string]bool{keyMessages: true})
	if len(all) == 0 {
		all = objectText(rest)
	}
	in := inputOf(all, *rest, idBase)
	if len(given) == 0 {
		in.Raw = trimJSON(input)
	}
	return in, nil
}

// objectText takes the text out of an input object without messages.
func objectText(rest *members) []message {
	for _, key := range textKeys {
		if text, ok := stringOf(rest.get(key)); ok {
			rest.drop(map[string]bool{key: true})
			if text == "" {
				return nil
			}
			return []message{humanMessage(text)}
		}
	}
	said := rest.clone()
	said.drop(map[string]bool{keyFiles: true})
	if len(said.list) == 0 {
		return nil
	}
	return []message{humanMessage(string(compactJSON(joinObject(said.list))))}
}

// inputOf puts an Input together: messages, and the other members.
func inputOf(all []message, rest members, idBase string) Input {
	in := Input{Messages: completeMessages(all, idBase)}
	for i := len(all) - 1; i >= 0 && in.Text == ""; i-- {
		if all[i].kind == typeHuman {
			in.Text = contentText(all[i].content)
			break
		}
	}
	in.HasText = in.Text != ""
	raw := rest.clone()
	if len(in.Messages) > 0 {
		raw.put(newMember(keyMessages, joinArray(in.Messages)))
	}
	in.Raw = joinObject(raw.list)
	if files := rest.get(keyFiles); kindOf(files) == '{' {
		in.Files = map[string]json.RawMessage{}
		_ = eachMember(files, func(m member) { in.Files[m.key] = m.val })
		rest.drop(map[string]bool{keyFiles: true})
	}
	if len(rest.list) > 0 {
		in.Other = joinObject(rest.list)
	}
	return in
}

func inputText(input json.RawMessage) (string, error) {
	if text, ok := stringOf(input); ok {
		return text, nil
	}
	b := compactJSON(input)
	if b == nil {
		return "", invalid("The input is not valid JSON.")
	}
	return string(b), nil
}

// Delta is the input as an update of the state of an opaque agent:
// {messages, files}; never nil.
func (in Input) Delta() json.RawMessage {
	var w objectWriter
	if len(in.Messages) > 0 {
		w.raw(keyMessages, joinArray(in.Messages))
	}
	if len(in.Files) > 0 {
		var files objectWriter
		for _, path := range sortedKeys(in.Files) {
			files.raw(statePath(path), in.Files[path])
		}
		w.raw(keyFiles, files.done())
	}
	return w.done()
}

// CheckFiles refuses, with an *Error of class Invalid, input files that cannot
// be artifacts: a name that CleanPath refuses, or content of no known shape.
// It is for agents that have no state of their own; others know best what
// their files are.
func (in Input) CheckFiles() error {
	for _, path := range sortedKeys(in.Files) {
		if _, err := CleanPath(path); err != nil {
			return err
		}
		if _, err := decodeFile(path, in.Files[path]); err != nil {
			return invalid("The file %q in the input cannot be read: %v.", path, err)
		}
	}
	return nil
}

func newMember(key string, val json.RawMessage) member {
	return member{key, quoted(key), val}
}

func invalid(format string, args ...any) *Error {
	return Errorf(Invalid, CodeInvalid, format, args...)
}

func invalidAt(where string, format string, args ...any) *Error {
	e := invalid("%s: %s", where, fmt.Sprintf(format, args...))
	e.Detail = map[string]any{"field": where}
	return e
}
