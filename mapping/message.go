package mapping

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Message types as they stand in a state; the Agent Protocol calls the first
// two user and assistant.
const (
	typeHuman  = "human"
	typeAI     = "ai"
	typeSystem = "system"
	typeTool   = "tool"
)

// message is a message on its way into normal form.
type message struct {
	kind    string
	id      string
	content json.RawMessage
	rest    []member // further members, verbatim
}

func humanMessage(text string) message {
	return message{kind: typeHuman, content: quoted(text)}
}

// parseProtocolMessages reads RunCreate.messages of the Agent Protocol, whose
// schema Message requires role and content.
func parseProtocolMessages(b json.RawMessage) ([]message, error) {
	if isNull(b) {
		return nil, nil
	}
	list, err := splitArray(b)
	if err != nil {
		return nil, invalidAt("messages", "must be a list of messages")
	}
	out := make([]message, len(list))
	for i, e := range list {
		where := fmt.Sprintf("messages[%d]", i)
		for _, key := range [...]string{"role", "content"} {
			if isNull(lookup(e, key)) {
				return nil, invalidAt(where, "a message needs a role and content; %s is missing", key)
			}
		}
		if out[i], err = parseMessage(e, where); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// parseMessages reads the messages of a LangGraph input or state update: a
// list, or one message.
func parseMessages(b json.RawMessage, where string) ([]message, error) {
	switch {
	case isNull(b):
		return nil, nil
	case kindOf(b) != '[':
		m, err := parseMessage(trimJSON(b), where)
		return []message{m}, err
	}
	list, err := splitArray(b)
	if err != nil {
		return nil, invalidAt(where, "%v", err)
	}
	out := make([]message, len(list))
	for i, e := range list {
		if out[i], err = parseMessage(e, fmt.Sprintf("%s[%d]", where, i)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// parseMessage reads {role|type, content, id?}, [role, content] or a string.
func parseMessage(b json.RawMessage, where string) (message, error) {
	switch kindOf(b) {
	case '"':
		if _, ok := stringOf(b); ok {
			return message{kind: typeHuman, content: b}, nil
		}
	case '[':
		return parsePair(b, where)
	case '{':
		return parseMessageObject(b, where)
	}
	return message{}, invalidAt(where, "a message is an object, a [role, content] pair or a string")
}

func parsePair(b json.RawMessage, where string) (message, error) {
	pair, err := splitArray(b)
	if err == nil && len(pair) == 2 {
		if role, ok := stringOf(pair[0]); ok && role != "" {
			m := message{kind: messageType(role), content: pair[1]}
			return m, checkContent(m, where)
		}
	}
	return message{}, invalidAt(where, "a message that is a list must be [role, content]")
}

func parseMessageObject(b json.RawMessage, where string) (message, error) {
	list, err := splitObject(b)
	if err != nil {
		return message{}, invalidAt(where, "%v", err)
	}
	if m, ok := parseConstructor(list); ok {
		return m, checkContent(m, where)
	}
	m := messageOf(list)
	if m.kind == "" {
		return message{}, invalidAt(where, "a message needs a role (or type)")
	}
	return m, checkContent(m, where)
}

// messageOf sorts the members of a message object. A role that is there
// decides; type may then be something else ("message").
func messageOf(list []member) message {
	var m message
	var role, kind string
	for _, e := range list {
		switch e.key {
		case "role":
			role, _ = stringOf(e.val)
		case "type":
			kind, _ = stringOf(e.val)
		case "content":
			m.content = e.val
		case "id":
			m.id, _ = stringOf(e.val)
		default:
			m.rest = append(m.rest, e)
		}
	}
	if role == "" {
		role = kind
	}
	m.kind = messageType(role)
	return m
}

// parseConstructor reads the form in which LangChain's message classes write
// themselves to JSON: {lc: 1, type: "constructor", id: [… "HumanMessage"],
// kwargs}. It is only read: nothing is constructed by name.
func parseConstructor(list []member) (message, bool) {
	o := members{list: list}
	if kind, _ := stringOf(o.get("type")); kind != "constructor" || o.get("lc") == nil {
		return message{}, false
	}
	path, err := splitArray(o.get("id"))
	kwargs, err2 := splitObject(o.get("kwargs"))
	if err != nil || err2 != nil || len(path) == 0 {
		return message{}, false
	}
	class, _ := stringOf(path[len(path)-1])
	m := messageOf(kwargs)
	m.kind = messageType(strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(class, "Chunk"), "Message")))
	return m, m.kind != ""
}

// checkContent wants a string or a list of parts; what an agent or a tool said
// may be nothing.
func checkContent(m message, where string) error {
	switch kind := kindOf(m.content); {
	case kind == '"', kind == '[':
		return nil
	case isNull(m.content) && m.kind != typeHuman && m.kind != typeSystem:
		return nil
	default:
		return invalidAt(where, "the content of a message is a string or a list of parts")
	}
}

// messageType is the type of a role, or of a type in another spelling.
func messageType(role string) string {
	switch role {
	case "user", "human", "HumanMessageChunk":
		return typeHuman
	case "assistant", "ai", "AIMessageChunk":
		return typeAI
	case "developer":
		return typeSystem
	default:
		return role
	}
}

func messageRole(kind string) string {
	switch kind := messageType(kind); kind {
	case typeHuman:
		return "user"
	case typeAI:
		return "assistant"
	case "function":
		return typeTool
	default:
		return kind
	}
}

// completeMessages writes messages in normal form and gives ids to those
// without one.
func completeMessages(list []message, idBase string) []json.RawMessage {
	if len(list) == 0 {
		return nil
	}
	out := make([]json.RawMessage, len(list))
	for i, m := range list {
		if m.id == "" {
			m.id = MessageID(idBase, inputName(i, len(list)))
		}
		out[i] = m.json()
	}
	return out
}

func inputName(i, n int) string {
	if n == 1 {
		return "input"
	}
	return fmt.Sprintf("input/%d", i+1)
}

// json is the normal form: what LangGraph's own messages have, then whatever
// else was sent.
func (m message) json() json.RawMessage {
	w := objectWriter{buf: make([]byte, 0, len(m.content)+160)}
	if m.content == nil || isNull(m.content) {
		m.content = json.RawMessage(`""`)
	}
	w.raw("content", m.content)
	m.raw(&w, "additional_kwargs", "{}")
	m.raw(&w, "response_metadata", "{}")
	w.text("id", m.id)
	w.text("type", m.kind)
	if m.kind == typeAI {
		m.raw(&w, "tool_calls", "[]")
		m.raw(&w, "invalid_tool_calls", "[]")
	}
	for _, e := range m.rest {
		if !m.standard(e.key) {
			w.spliced(e.name)
			w.buf = append(w.buf, e.val...)
		}
	}
	return w.done()
}

// raw writes a standard member: as sent, else its default.
func (m message) raw(w *objectWriter, key, otherwise string) {
	for _, e := range m.rest {
		if e.key == key && !isNull(e.val) {
			w.raw(key, e.val)
			return
		}
	}
	w.raw(key, json.RawMessage(otherwise))
}

func (m message) standard(key string) bool {
	switch key {
	case "additional_kwargs", "response_metadata":
		return true
	case "tool_calls", "invalid_tool_calls":
		return m.kind == typeAI
	default:
		return false
	}
}

// NormalValues is a state update or PATCH of values with its messages in the
// form a state holds them: type, content and id, whatever spelling was sent.
// Ids are given as ParseInput gives them. The error is an *Error of class
// Invalid.
func NormalValues(values json.RawMessage, idBase string) (json.RawMessage, error) {
	if isNull(values) {
		return json.RawMessage("{}"), nil
	}
	list, err := splitObject(values)
	if err != nil {
		return nil, invalidAt("values", "must be an object")
	}
	for i := range list {
		if list[i].key != keyMessages || isNull(list[i].val) {
			continue
		}
		parsed, err := parseMessages(list[i].val, "values.messages")
		if err != nil {
			return nil, err
		}
		list[i].val = joinArray(completeMessages(parsed, idBase))
	}
	return joinObject(list), nil
}

// AgentProtocolMessages renders messages (values.messages elements) in the
// form of the Agent Protocol (schema Message): role user, assistant, system or
// tool instead of type, with content, id and metadata.
func AgentProtocolMessages(messages []json.RawMessage) []json.RawMessage {
	out := make([]json.RawMessage, 0, len(messages))
	for _, b := range messages {
		m, err := parseMessage(b, keyMessages)
		if err != nil {
			continue
		}
		out = append(out, m.protocol())
	}
	return out
}

func (m message) protocol() json.RawMessage {
	w := objectWriter{buf: make([]byte, 0, len(m.content)+96)}
	w.text("role", messageRole(m.kind))
	if isNull(m.content) {
		m.content = json.RawMessage(`""`)
	}
	w.raw("content", m.content)
	if m.id != "" {
		w.text("id", m.id)
	}
	for _, e := range m.rest {
		if e.key == "metadata" && kindOf(e.val) == '{' {
			w.raw("metadata", e.val)
		}
	}
	return w.done()
}

// MessageText is the text of a message's content: a string as it is, content
// parts joined, "" for none.
func MessageText(message json.RawMessage) string {
	return contentText(lookup(message, "content"))
}

// contentText joins the text parts of a content without anything between
// them, as LangChain's own text accessor does.
func contentText(content json.RawMessage) string {
	if text, ok := stringOf(content); ok {
		return text
	}
	if kindOf(content) != '[' {
		return ""
	}
	parts, _ := splitArray(content)
	var b strings.Builder
	for _, p := range parts {
		if text, ok := stringOf(p); ok {
			b.WriteString(text)
		} else if kind, _ := stringOf(lookup(p, "type")); kind == "text" {
			text, _ := stringOf(lookup(p, "text"))
			b.WriteString(text)
		}
	}
	return b.String()
}

// messageKind is the type of a message element of a state.
func messageKind(message json.RawMessage) string {
	if kind, ok := stringOf(lookup(message, "type")); ok && kind != "message" {
		return messageType(kind)
	}
	role, _ := stringOf(lookup(message, "role"))
	return messageType(role)
}
