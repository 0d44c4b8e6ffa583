package rule

import (
	"cmp"
	"encoding/json"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
)

// Input is the input of a run in normal form. It comes from RunCreate.input and .messages of the Agent Protocol, or
// from "input" in LangGraph's payload.
type Input struct {
	Messages []json.RawMessage          // complete messages with type, content and id
	Text     string                     // text of the last human message, for a task/step agent
	HasText  bool                       // whether Text is set
	Files    map[string]json.RawMessage // input.files, by path as given; see CheckFiles
	Other    json.RawMessage            // remaining keys of an input object, or nil
	Raw      json.RawMessage            // for a thread/run agent: an object, or null

	delta   json.RawMessage // {messages}, of which Messages are slices; nil if there are none
	further int             // number of Messages that were sent separately from the input
	single  bool            // the input had a single message instead of a list
}

// textKeys are searched, in this order, for the text of an input object without messages.
var textKeys = [...]string{"input", "message", "prompt", "query", "question", "task", "text"}

// ParseInput reads input and, for the Agent Protocol, messages. If both are given, messages follow those of the input,
// and an input that is not an object is treated as {"input": …}. null is the same as absent.
//
// Without messages the text is the input itself if it is a string, or the first string under input, message, prompt,
// query, question, task or text, or the input as compact JSON without its files. The text becomes one human message. An
// empty text becomes a message only if it was sent as one. Messages without an id get MessageID(idBase, "input"), or
// "input/1", "input/2" … if there are several. An error is an *Error of class Invalid.
//
// Raw is the original input object. Messages of the Agent Protocol, and inputs that are not objects, are added to it in
// normal form.
func ParseInput(input, messages json.RawMessage, idBase string) (*Input, error) {
	if rawjson.IsNull(input) && rawjson.IsNull(messages) {
		return &Input{Raw: json.RawMessage("null")}, nil
	}
	given, err := protocolMessages(messages)
	if err != nil {
		return nil, err
	}
	switch {
	case rawjson.Kind(input) == '{':
		return parseInputObject(input, given, idBase)
	case rawjson.IsNull(input):
		return inputOf(&inputParts{text: json.RawMessage("{}")}, messageSource{}, given, idBase)
	case len(given) > 0:
		if !rawjson.Valid(input) {
			return nil, mapping.Invalidf("The input is not valid JSON.")
		}
		return inputOf(&inputParts{text: rawObject("input", rawjson.Trim(input)), others: 1}, messageSource{}, given, idBase)
	}
	text, err := inputText(input)
	if err != nil {
		return nil, err
	}
	return TextInput(text, idBase), nil
}

// TextInput returns the Input for a plain text: one human message. An empty text has no message.
func TextInput(text, idBase string) *Input {
	if text == "" {
		return &Input{Raw: json.RawMessage("{}")}
	}
	in := &Input{Text: text, HasText: true}
	in.setMessage(idBase)
	in.Raw = in.delta
	return in
}

// setMessage sets the only message to the text.
func (in *Input) setMessage(idBase string) {
	w := newDelta(rawjson.QuotedSize(in.Text) + normalSize)
	w.add(message{kind: typeHuman, id: mapping.MessageID(idBase, "input"), text: in.Text})
	in.Messages, in.delta = w.done()
}

// inputParts holds the parts of an input object as slices of its text. If a name is repeated, the last value counts.
type inputParts struct {
	text     json.RawMessage // the whole object
	messages json.RawMessage
	files    json.RawMessage // an object, or nil
	said     [len(textKeys)]json.RawMessage
	others   int // number of members except messages and files
}

func readParts(input json.RawMessage) (*inputParts, error) {
	p := &inputParts{text: input}
	err := rawjson.EachMember(input, p.addMember)
	return p, err
}

func (p *inputParts) addMember(name rawjson.Quoted, value json.RawMessage) {
	switch {
	case name.Is(state.KeyMessages):
		p.messages = value
		return
	case name.Is(state.KeyFiles) && rawjson.Kind(value) == '{':
		p.files = value
		return
	}
	p.others++
	for i, key := range textKeys {
		if name.Is(key) {
			p.said[i] = value
		}
	}
}

func parseInputObject(input json.RawMessage, given []json.RawMessage, idBase string) (*Input, error) {
	parts, err := readParts(input)
	if err != nil {
		return nil, mapping.Invalidf("The input cannot be read: %v.", err)
	}
	own, err := inputSource(parts.messages, "input.messages")
	if err != nil {
		return nil, err
	}
	return inputOf(parts, own, given, idBase)
}

// inputOf builds an Input from messages and the other members.
func inputOf(parts *inputParts, own messageSource, given []json.RawMessage, idBase string) (in *Input, err error) {
	in = &Input{further: len(given), single: own.one}
	var spoken json.RawMessage
	in.Messages, in.delta, spoken, err = normalMessages(idBase, own, messageSource{name: "messages", list: given})
	if err != nil {
		return nil, err
	}
	said := ""
	if len(in.Messages) == 0 {
		said, in.Text = parts.words()
		if in.Text != "" {
			in.setMessage(idBase)
		}
	} else {
		in.Text = contentText(spoken)
	}
	in.HasText = in.Text != ""
	in.takeRest(parts, said)
	if in.Raw = rawjson.Trim(parts.text); len(given) > 0 {
		in.Raw = withMessages(parts.text, in.Messages)
	}
	return in, nil
}

// words returns the text of an input object that has no messages: the text of the first member in textKeys that is a
// string, with the member's name, or all members except the files as compact JSON.
func (p *inputParts) words() (member, text string) {
	for i, key := range textKeys {
		if text, ok := rawjson.Text(p.said[i]); ok {
			return key, text
		}
	}
	if p.others == 0 {
		return "", ""
	}
	return "", rawjson.CompactText(p.rest(""))
}

// rest returns the object without its messages and files, and without the member named said unless that is "". If there
// is nothing to remove, it returns the same bytes.
func (p *inputParts) rest(said string) json.RawMessage {
	if p.messages == nil && p.files == nil && said == "" {
		return rawjson.Trim(p.text)
	}
	rest, _ := rawjson.Without(p.text, state.KeyMessages, p.filesKey(), cmp.Or(said, state.KeyMessages)) // read before
	return rest
}

func (p *inputParts) filesKey() string {
	if p.files == nil {
		return state.KeyMessages
	}
	return state.KeyFiles
}

// takeRest sets Files, and sets Other to the members besides messages, files and the member named said.
func (in *Input) takeRest(p *inputParts, said string) {
	if p.files != nil {
		in.Files = map[string]json.RawMessage{}
		_ = rawjson.EachMember(p.files, func(name rawjson.Quoted, value json.RawMessage) { in.Files[name.Text()] = value })
	}
	others := p.others
	if said != "" {
		others--
	}
	if others > 0 {
		in.Other = p.rest(said)
	}
}

// withMessages returns an input object with its other members followed by messages, all in normal form.
func withMessages(object json.RawMessage, messages []json.RawMessage) json.RawMessage {
	w := rawjson.Writer{Bytes: make([]byte, 0, len(object)+rawjson.ArraySize(messages)+16)}
	_ = w.Open('{').Without(object, state.KeyMessages) // read before
	return w.Key(state.KeyMessages).Array(messages).Close('}').Bytes
}

func inputText(input json.RawMessage) (string, error) {
	if text, ok := rawjson.Text(input); ok {
		return text, nil
	}
	if !rawjson.Valid(input) {
		return "", mapping.Invalidf("The input is not valid JSON.")
	}
	return rawjson.CompactText(input), nil
}

// Delta returns the input as an update of an opaque agent's state: {messages, files}. It never returns nil.
func (in *Input) Delta() json.RawMessage {
	if in.delta != nil && len(in.Files) == 0 {
		return in.delta
	}
	w := rawjson.Writer{Bytes: make([]byte, 0, rawjson.ArraySize(in.Messages)+16)}
	w.Open('{')
	if len(in.Messages) > 0 {
		w.Key(state.KeyMessages).Array(in.Messages)
	}
	if len(in.Files) > 0 {
		w.Key(state.KeyFiles).Open('{')
		for _, path := range sortedKeys(in.Files) {
			w.Name(statePath(path)).Raw(in.Files[path], "null")
		}
		w.Close('}')
	}
	return w.Close('}').Bytes
}

// CheckFiles returns an *Error of class Invalid if an input file cannot be an artifact, because its path is invalid or
// its content has an unknown form. It is for agents without their own state. Other agents define the form of their
// files themselves.
func (in *Input) CheckFiles() error {
	for _, path := range sortedKeys(in.Files) {
		if err := checkFile(path, in.Files[path], "the input"); err != nil {
			return err
		}
	}
	return nil
}

// CheckStatedFiles is CheckFiles for the files that an update of a state sets, by path. null deletes a file.
func CheckStatedFiles(files json.RawMessage) error {
	list, err := rawjson.Members(files)
	if err != nil {
		return mapping.Invalidf("values.files is not an object: %v.", err)
	}
	for _, m := range list {
		if rawjson.IsNull(m.Value) {
			continue
		}
		if err := checkFile(m.Name, m.Value, "values.files"); err != nil {
			return err
		}
	}
	return nil
}

// CheckFileCount returns an error if a request has more than most files. If most is 0, any number is allowed.
func CheckFileCount(n, most int) error {
	if most > 0 && n > most {
		return mapping.Errorf(mapping.Invalid, "too_many_files",
			"The request has %d files, and limits.max_files_per_request of this bridge is %d. Send fewer at a time.", n, most)
	}
	return nil
}

// CountFiles returns the number of files in the values of a state, or 0 if they are unreadable.
func CountFiles(values json.RawMessage) (n int) {
	files, err := rawjson.Lookup(values, state.KeyFiles)
	if err == nil {
		n = rawjson.CountMembers(files)
	}
	return n
}

func checkFile(path string, content json.RawMessage, where string) error {
	if _, err := CleanPath(path); err != nil {
		return err
	}
	if _, err := decodeFile(path, content); err != nil {
		return mapping.Invalidf("The file %q in %s cannot be read: %v.", path, where, err)
	}
	return nil
}
