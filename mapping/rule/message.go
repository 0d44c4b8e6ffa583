package rule

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
)

// Message types in a state. The Agent Protocol calls the first two user and assistant.
const (
	typeHuman  = "human"
	typeAI     = "ai"
	typeSystem = "system"
	typeTool   = "tool"
	typeRemove = "remove" // removes a message; see state.Removes
)

// message is a message that is being normalised.
type message struct {
	kind    string
	id      string
	content json.RawMessage
	text    string         // the content, if it is only text
	rest    rawjson.Object // further members, verbatim
}

func humanMessage(text string) message {
	return message{kind: typeHuman, content: rawjson.Quote(text)}
}

// place is the position of a message in a request, for errors.
type place struct {
	list string
	at   int // index in the list, or -1 if it is not in a list
}

func (p place) String() string {
	if p.at < 0 {
		return p.list
	}
	return p.list + "[" + strconv.Itoa(p.at) + "]"
}

// protocolMessages splits RunCreate.messages of the Agent Protocol, whose schema Message requires role and content.
func protocolMessages(b json.RawMessage) ([]json.RawMessage, error) {
	if rawjson.IsNull(b) {
		return nil, nil
	}
	list, err := rawjson.Elements(b)
	if err != nil {
		return nil, mapping.InvalidAt("messages", "must be a list of messages")
	}
	for i, e := range list {
		for _, key := range [...]string{"role", "content"} {
			if rawjson.IsNull(rawjson.Get(e, key)) {
				return nil, mapping.InvalidAt(place{"messages", i}.String(), "a message needs a role and content; %s is missing", key)
			}
		}
	}
	return list, nil
}

// parseMessage reads {role|type, content, id?}, [role, content] or a string.
func parseMessage(b json.RawMessage, at place) (message, error) {
	switch rawjson.Kind(b) {
	case '"':
		if end, ok := rawjson.Scan(b, 0); ok && end == len(b) {
			return message{kind: typeHuman, content: b}, nil
		}
	case '[':
		return parsePair(b, at)
	case '{':
		return parseMessageObject(b, at)
	}
	return message{}, mapping.InvalidAt(at.String(), "a message must be an object, a [role, content] pair or a string")
}

func parsePair(b json.RawMessage, at place) (message, error) {
	pair, err := rawjson.Elements(b)
	if err == nil && len(pair) == 2 {
		if role, ok := rawjson.Text(pair[0]); ok && role != "" {
			m := message{kind: messageType(role), content: pair[1]}
			return m, checkContent(m, at)
		}
	}
	return message{}, mapping.InvalidAt(at.String(), "a message that is a list must be [role, content]")
}

func parseMessageObject(b json.RawMessage, at place) (message, error) {
	m, err := messageOf(b)
	if err != nil {
		return message{}, mapping.InvalidAt(at.String(), "%v", err)
	}
	if class, ok := parseConstructor(b, m); ok {
		return class, checkContent(class, at)
	}
	if m.kind == "" {
		return message{}, mapping.InvalidAt(at.String(), "a message needs a role (or type)")
	}
	return m, checkContent(m, at)
}

// checkRole refuses a role in a request that LangChain does not know (langchain_core/messages/utils.py,
// _create_message_from_message_type). Such a message would have no speaker, and a run would begin without a request. A
// removal must name its message.
func checkRole(m message, at place) error {
	if m.kind == typeRemove && m.id == "" {
		return mapping.InvalidAt(at.String(), "a removal needs the id of the message to remove")
	}
	if slices.Contains(messageRoles, m.kind) {
		return nil
	}
	if near := mapping.Misspelt(m.kind, messageRoles); near != "" {
		return mapping.InvalidAt(at.String(), "%s is not a message role. Did you mean %s?", m.kind, near)
	}
	last := len(messageRoles) - 1
	return mapping.InvalidAt(at.String(), "%.40q is not a message role. Use %s or %s.", m.kind, strings.Join(messageRoles[:last], ", "), messageRoles[last])
}

var messageRoles = []string{"user", "human", "assistant", "ai", "system", "developer", "tool", "function", typeRemove}

// messageOf reads the members of a message object. role takes precedence, because type may then have another meaning
// ("message").
func messageOf(b json.RawMessage) (m message, err error) {
	var role, kind string
	err = rawjson.EachMember(b, func(name rawjson.Quoted, val json.RawMessage) {
		switch {
		case name.Is("role"):
			role = rawjson.TextOf(val)
		case name.Is("type"):
			kind = rawjson.TextOf(val)
		case name.Is("content"):
			m.content = val
		case name.Is("id"):
			m.id = rawjson.TextOf(val)
		default:
			m.rest.Put(rawjson.Member{Name: name.Text(), Quoted: name, Value: val})
		}
	})
	if role == "" {
		role = kind
	}
	m.kind = messageType(role)
	m.takeBlocks()
	return m, err
}

// takeBlocks uses content_blocks as the content of a message that has none. LangChain serialises its classes this way
// if their output_version is v1.
func (m *message) takeBlocks() {
	if blocks := m.rest.Get("content_blocks"); m.content == nil && rawjson.Kind(blocks) == '[' {
		m.content = blocks
		m.rest.Drop(map[string]bool{"content_blocks": true})
	}
}

// parseConstructor reads the JSON form of LangChain's message classes: {lc: 1, type: "constructor", id: […
// "HumanMessage"], kwargs}. Nothing is constructed by name.
func parseConstructor(b json.RawMessage, m message) (message, bool) {
	if m.rest.Get("lc") == nil {
		return message{}, false
	}
	if rawjson.GetText(b, "type") != "constructor" {
		return message{}, false
	}
	path, err := rawjson.Elements(rawjson.Get(b, "id"))
	class, err2 := messageOf(m.rest.Get("kwargs"))
	if err != nil || err2 != nil || len(path) == 0 {
		return message{}, false
	}
	name := rawjson.TextOf(path[len(path)-1])
	class.kind = messageType(name)
	return class, class.kind != ""
}

// checkContent requires a string or a list of parts. Messages of an agent or a tool may be empty.
func checkContent(m message, at place) error {
	switch kind := rawjson.Kind(m.content); {
	case kind == '"', kind == '[':
		return nil
	case rawjson.IsNull(m.content) && m.kind != typeHuman && m.kind != typeSystem:
		return nil
	default:
		return mapping.InvalidAt(at.String(), "the content of a message must be a string or a list of parts")
	}
}

// messageType returns the type for a role, a type or the name of a LangChain class.
func messageType(role string) string {
	switch role {
	case "user", "human", "HumanMessage", "HumanMessageChunk":
		return typeHuman
	case "assistant", "ai", "AIMessage", "AIMessageChunk":
		return typeAI
	case "developer", "SystemMessage", "SystemMessageChunk":
		return typeSystem
	case "ToolMessage", "ToolMessageChunk":
		return typeTool
	case "FunctionMessage", "FunctionMessageChunk":
		return "function"
	case "RemoveMessage":
		return typeRemove
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

// json returns the normal form: the members of LangGraph's own messages, followed by the others.
func (m message) json() json.RawMessage {
	w := rawjson.Writer{Bytes: make([]byte, 0, len(m.content)+normalSize)}
	m.writeTo(&w)
	return w.Bytes
}

// normalSize is the approximate size that the normal form adds to a message.
const normalSize = 160

func (m message) writeTo(w *rawjson.Writer) {
	if m.kind == typeRemove { // LangChain requires content in every message
		w.Open('{').Key("content").Text("").Key("id").Text(m.id).Key("type").Text(m.kind).Close('}')
		return
	}
	w.Open('{').Key("content")
	if rawjson.IsNull(m.content) {
		w.Text(m.text)
	} else {
		w.Raw(m.content, "null")
	}
	m.writeMember(w, "additional_kwargs", "{}")
	m.writeMember(w, "response_metadata", "{}")
	w.Key("id").Text(m.id).Key("type").Text(m.kind)
	if m.kind == typeAI {
		m.writeCalls(w)
	}
	for _, e := range m.rest.Members() {
		if !m.standard(e.Name) {
			w.Member(&e)
		}
	}
	w.Close('}')
}

// writeMember writes a standard member as it was sent, or its default.
func (m message) writeMember(w *rawjson.Writer, key, otherwise string) {
	val := m.rest.Get(key)
	if rawjson.IsNull(val) {
		val = nil
	}
	w.Key(key).Raw(val, otherwise)
}

// writeCalls writes the tool calls of an ai message.
func (m message) writeCalls(w *rawjson.Writer) {
	if calls, invalid := m.calls(); calls != nil {
		w.Key("tool_calls").Raw(calls, "[]").Key("invalid_tool_calls").Raw(invalid, "[]")
		return
	}
	m.writeMember(w, "tool_calls", "[]")
	m.writeMember(w, "invalid_tool_calls", "[]")
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

// NormalValues returns a state update or PATCH of values with its messages in the form of a state: type, content and
// id. Ids are chosen as by ParseInput. An error is an *Error of class Invalid.
func NormalValues(values json.RawMessage, idBase string) (json.RawMessage, error) {
	if rawjson.IsNull(values) {
		return json.RawMessage("{}"), nil
	}
	if rawjson.Kind(values) != '{' || !rawjson.Valid(values) {
		return nil, mapping.InvalidAt("values", "must be an object")
	}
	given, err := inputSource(rawjson.Get(values, state.KeyMessages), "values.messages")
	if err != nil || given.list == nil {
		return rawjson.Trim(values), err
	}
	_, delta, _, err := normalMessages(idBase, given)
	if err != nil {
		return nil, err
	}
	messages := json.RawMessage("[]")
	if delta != nil {
		messages = rawjson.Get(delta, state.KeyMessages)
		if rawjson.CountMembers(values) == 1 {
			return delta, nil
		}
	}
	return rawjson.WithMember(values, state.KeyMessages, messages)
}

// RoleMessages returns messages as WriteRoleMessage writes them. Anything that is not a message is omitted.
func RoleMessages(messages []json.RawMessage) []json.RawMessage {
	out := make([]json.RawMessage, 0, len(messages))
	for _, b := range messages {
		w := rawjson.Writer{Bytes: make([]byte, 0, len(b)+normalSize/4)}
		if WriteRoleMessage(&w, b); len(w.Bytes) > 0 {
			out = append(out, w.Bytes)
		}
	}
	return out
}

// WriteRoleMessage writes a message (an element of values.messages) in the form of the Agent Protocol (schema Message),
// with role (user, assistant, system or tool) instead of type, content, id and metadata. It writes nothing if b is not
// a message.
func WriteRoleMessage(w *rawjson.Writer, b json.RawMessage) {
	m, err := parseMessage(b, place{state.KeyMessages, -1})
	if err != nil {
		return
	}
	w.Open('{').Key("role").Text(messageRole(m.kind)).Key("content")
	if rawjson.IsNull(m.content) {
		w.Text("")
	} else {
		w.Raw(m.content, "null")
	}
	if m.id != "" {
		w.Key("id").Text(m.id)
	}
	if metadata := m.rest.Get("metadata"); rawjson.Kind(metadata) == '{' {
		w.Key("metadata").Raw(metadata, "null")
	}
	w.Close('}')
}

// MessageText returns the text of a message's content: a string, joined content parts, or "".
func MessageText(message json.RawMessage) string {
	return contentText(rawjson.Get(message, "content"))
}

// contentText concatenates the text parts of a content, as LangChain's own text accessor does.
func contentText(content json.RawMessage) string {
	if text, ok := rawjson.Text(content); ok {
		return text
	}
	if rawjson.Kind(content) != '[' {
		return ""
	}
	parts := rawjson.ElementsOf(content)
	var b strings.Builder
	for _, p := range parts {
		if text, ok := rawjson.Text(p); ok {
			b.WriteString(text)
		} else if kind := rawjson.GetText(p, "type"); isText(kind) {
			text := rawjson.GetText(p, "text")
			b.WriteString(text)
		}
	}
	return b.String()
}

// messageKind returns the type of a message in a state.
func messageKind(message json.RawMessage) string {
	if kind, ok := rawjson.Text(rawjson.Get(message, "type")); ok && kind != "message" {
		return messageType(kind)
	}
	role := rawjson.GetText(message, "role")
	return messageType(role)
}
