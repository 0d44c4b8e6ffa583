package mapping

import (
	"encoding/json"
	"slices"
	"strconv"
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
	text    string  // the content of a message that is words alone, instead
	rest    members // further members, verbatim
}

func humanMessage(text string) message {
	return message{kind: typeHuman, content: quoted(text)}
}

// place is where a message stands in a request, worded only for a complaint.
type place struct {
	list string
	at   int // in the list; -1: it is no list
}

func (p place) String() string {
	if p.at < 0 {
		return p.list
	}
	return p.list + "[" + strconv.Itoa(p.at) + "]"
}

// protocolMessages splits RunCreate.messages of the Agent Protocol, whose schema
// Message requires role and content.
func protocolMessages(b json.RawMessage) ([]json.RawMessage, error) {
	if isNull(b) {
		return nil, nil
	}
	list, err := splitArray(b)
	if err != nil {
		return nil, invalidAt("messages", "must be a list of messages")
	}
	for i, e := range list {
		for _, key := range [...]string{"role", "content"} {
			if isNull(lookup(e, key)) {
				return nil, invalidAt(place{"messages", i}.String(), "a message needs a role and content; %s is missing", key)
			}
		}
	}
	return list, nil
}

// parseMessage reads {role|type, content, id?}, [role, content] or a string.
func parseMessage(b json.RawMessage, at place) (message, error) {
	switch kindOf(b) {
	case '"':
		if end, ok := scanString(b, 0); ok && end == len(b) {
			return message{kind: typeHuman, content: b}, nil
		}
	case '[':
		return parsePair(b, at)
	case '{':
		return parseMessageObject(b, at)
	}
	return message{}, invalidAt(at.String(), "a message is an object, a [role, content] pair or a string")
}

func parsePair(b json.RawMessage, at place) (message, error) {
	pair, err := splitArray(b)
	if err == nil && len(pair) == 2 {
		if role, ok := stringOf(pair[0]); ok && role != "" {
			m := message{kind: messageType(role), content: pair[1]}
			return m, checkContent(m, at)
		}
	}
	return message{}, invalidAt(at.String(), "a message that is a list must be [role, content]")
}

func parseMessageObject(b json.RawMessage, at place) (message, error) {
	m, err := messageOf(b)
	if err != nil {
		return message{}, invalidAt(at.String(), "%v", err)
	}
	if class, ok := parseConstructor(b, m); ok {
		return class, checkContent(class, at)
	}
	if m.kind == "" {
		return message{}, invalidAt(at.String(), "a message needs a role (or type)")
	}
	return m, checkContent(m, at)
}

// messageOf sorts the members of a message object. A role that is there
// decides; type may then be something else ("message").
func messageOf(b json.RawMessage) (m message, err error) {
	var role, kind string
	err = walkObject(b, func(b []byte, i int, name []byte) (int, bool) {
		end, ok := scanValue(b, i, 1)
		if !ok {
			return end, false
		}
		switch val := b[i:end:end]; {
		case nameIs(name, "role"):
			role, _ = stringOf(val)
		case nameIs(name, "type"):
			kind, _ = stringOf(val)
		case nameIs(name, "content"):
			m.content = val
		case nameIs(name, "id"):
			m.id, _ = stringOf(val)
		default:
			m.rest.put(member{unquote(name), name, val})
		}
		return end, true
	})
	if role == "" {
		role = kind
	}
	m.kind = messageType(role)
	return m, err
}

// parseConstructor reads the form in which LangChain's message classes write
// themselves to JSON: {lc: 1, type: "constructor", id: [… "HumanMessage"],
// kwargs}. It is only read: nothing is constructed by name.
func parseConstructor(b json.RawMessage, m message) (message, bool) {
	if m.rest.get("lc") == nil {
		return message{}, false
	}
	if kind, _ := stringOf(lookup(b, "type")); kind != "constructor" {
		return message{}, false
	}
	path, err := splitArray(lookup(b, "id"))
	class, err2 := messageOf(m.rest.get("kwargs"))
	if err != nil || err2 != nil || len(path) == 0 {
		return message{}, false
	}
	name, _ := stringOf(path[len(path)-1])
	class.kind = messageType(strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(name, "Chunk"), "Message")))
	return class, class.kind != ""
}

// checkContent wants a string or a list of parts; what an agent or a tool said
// may be nothing.
func checkContent(m message, at place) error {
	switch kind := kindOf(m.content); {
	case kind == '"', kind == '[':
		return nil
	case isNull(m.content) && m.kind != typeHuman && m.kind != typeSystem:
		return nil
	default:
		return invalidAt(at.String(), "the content of a message is a string or a list of parts")
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

// json is the normal form: what LangGraph's own messages have, then whatever
// else was sent.
func (m message) json() json.RawMessage {
	return m.appendTo(make([]byte, 0, len(m.content)+normalSize))
}

// normalSize is about what the normal form adds to a message.
const normalSize = 160

func (m message) appendTo(dst []byte) []byte {
	w := objectWriter{buf: dst, start: len(dst)}
	if isNull(m.content) {
		w.text("content", m.text)
	} else {
		w.raw("content", m.content)
	}
	m.raw(&w, "additional_kwargs", "{}")
	m.raw(&w, "response_metadata", "{}")
	w.text("id", m.id)
	w.text("type", m.kind)
	if m.kind == typeAI {
		m.raw(&w, "tool_calls", "[]")
		m.raw(&w, "invalid_tool_calls", "[]")
	}
	for _, e := range m.rest.list {
		if !m.standard(e.key) {
			w.spliced(e.name)
			w.buf = append(w.buf, e.val...)
		}
	}
	return w.done()
}

// raw writes a standard member: as sent, else its default.
func (m message) raw(w *objectWriter, key, otherwise string) {
	if val := m.rest.get(key); !isNull(val) {
		w.raw(key, val)
		return
	}
	w.name(key)
	w.buf = append(w.buf, otherwise...)
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
	if kindOf(values) != '{' || !validJSON(values) {
		return nil, invalidAt("values", "must be an object")
	}
	given, err := inputSource(lookup(values, keyMessages), "values.messages")
	if err != nil || given.list == nil {
		return trimJSON(values), err
	}
	_, delta, _, err := normalMessages(idBase, given)
	if err != nil {
		return nil, err
	}
	messages := json.RawMessage("[]")
	if delta != nil {
		messages = lookup(delta, keyMessages)
		if Members(values) == 1 {
			return delta, nil
		}
	}
	return WithMember(values, keyMessages, messages)
}

// AgentProtocolMessages renders messages (values.messages elements) in the
// form of the Agent Protocol (schema Message): role user, assistant, system or
// tool instead of type, with content, id and metadata.
func AgentProtocolMessages(messages []json.RawMessage) []json.RawMessage {
	out := make([]json.RawMessage, 0, len(messages))
	for _, b := range messages {
		m, err := parseMessage(b, place{keyMessages, -1})
		if err != nil {
			continue
		}
		before, content, after := m.protocol()
		out = append(out, slices.Concat(before, content, after))
	}
	return out
}

// AgentProtocolMessage is one of AgentProtocolMessages in the parts that it is written
// of: what stands before its content, the content, which is a part of b, and what
// follows. ok is false for what is no message.
func AgentProtocolMessage(b json.RawMessage) (before, content, after []byte, ok bool) {
	m, err := parseMessage(b, place{keyMessages, -1})
	if err != nil {
		return nil, nil, nil, false
	}
	before, content, after = m.protocol()
	return before, content, after, true
}

func (m message) protocol() (before, content, after []byte) {
	w := objectWriter{buf: make([]byte, 0, 128)}
	w.text("role", messageRole(m.kind))
	if isNull(m.content) {
		m.content = json.RawMessage(`""`)
	}
	w.name("content")
	mid := len(w.buf)
	if m.id != "" {
		w.text("id", m.id)
	}
	if metadata := m.rest.get("metadata"); kindOf(metadata) == '{' {
		w.raw("metadata", metadata)
	}
	all := w.done()
	return all[:mid:mid], m.content, all[mid:]
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
