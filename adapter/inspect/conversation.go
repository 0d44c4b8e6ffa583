package inspect

import (
	"encoding/json"
	"slices"

	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
)

// turn is one message for display. The page links to the whole message if it shows only a part.
type turn struct {
	Index    int        `json:"index"` // among all messages of the state, from 0
	ID       string     `json:"id"`
	Role     string     `json:"role"` // person, agent, tool, system, bridge, or the message's own word
	Name     string     `json:"name,omitempty"`
	Text     cutText    `json:"text"`
	Files    []fileLink `json:"files,omitempty"`
	Calls    []toolCall `json:"calls,omitempty"`
	Answers  string     `json:"answers,omitempty"`  // the id of the tool call
	Tool     string     `json:"tool,omitempty"`     // the tool that was called, for the result of a call
	Failed   bool       `json:"failed,omitempty"`   // the tool reported an error
	Failure  bool       `json:"failure,omitempty"`  // the bridge's report of a failed run
	Asks     bool       `json:"asks,omitempty"`     // a question that stopped a run
	Question string     `json:"question,omitempty"` // the id of the open question with which the run of the page ended
	Run      string     `json:"run_id,omitempty"`   // the other run of a question that was answered: the one that asked or answered
}

// roleBridge is the role of a report of the bridge.
const roleBridge = "bridge"

// Class returns the classes of its element.
func (t turn) Class() string {
	class := "turn " + t.Role
	if t.Failure {
		class += " failure"
	}
	if t.Failed {
		class += " failed"
	}
	if t.Asks {
		class += " asks"
	}
	return class
}

// IsCut reports whether a text of the message is not shown completely.
func (t turn) IsCut() bool {
	return t.Text.Cut > 0 || slices.ContainsFunc(t.Calls, func(c toolCall) bool { return c.Args.Cut > 0 })
}

// fileLink is a file in a message.
type fileLink struct {
	Name string `json:"name,omitempty"`
	Type string `json:"type,omitempty"` // media type
	Link string `json:"link,omitempty"` // an address outside of the message, which is shown but never followed

	File *fileView `json:"file,omitempty"` // the kept version; nil if there is none
}

type toolCall struct {
	ID   string  `json:"id,omitempty"`
	Name string  `json:"name"`
	Args cutText `json:"args"`
}

// conversation is a part of the messages of a state.
type conversation struct {
	Turns   []turn `json:"turns"`
	Total   int    `json:"total"`
	Earlier int    `json:"earlier,omitempty"` // the index before which the previous page ends; 0 if there is none
}

// readConversation returns the last messages before an index. 0 means the end.
func readConversation(values json.RawMessage, before, limit int) conversation {
	list := messagesIn(values)
	p := conversation{Total: len(list), Turns: []turn{}}
	if before <= 0 || before > len(list) {
		before = len(list)
	}
	p.Earlier = max(0, before-limit)
	for i := p.Earlier; i < before; i++ {
		t := turnOf(list[i])
		t.Index = i
		p.Turns = append(p.Turns, t)
	}
	nameTools(p.Turns, list)
	return p
}

// lastWords returns the agent's last text in a state, or "" if a user's message follows it.
func lastWords(values json.RawMessage) string {
	for _, m := range slices.Backward(messagesIn(values)) {
		switch text := rule.MessageText(m); {
		case roleOf(m) == "person":
			return ""
		case roleOf(m) == "agent" && text != "" && !rule.IsFaultMessage(m):
			return text
		}
	}
	return ""
}

// messagesIn returns the messages of a state, which may be anything.
func messagesIn(values json.RawMessage) []json.RawMessage {
	if rawjson.Kind(values) != '{' {
		return nil
	}
	held := rawjson.Get(values, state.KeyMessages)
	if rawjson.IsNull(held) {
		return nil
	}
	list, _ := state.MessagesIn(held)
	return list
}

func turnOf(m json.RawMessage) turn {
	if text, ok := rawjson.Text(m); ok { // a state may hold anything there
		return turn{Role: "message", Text: cut(text)}
	}
	t := turn{ID: rawjson.GetText(m, "id"), Role: roleOf(m), Name: rawjson.GetText(m, "name"), Text: cut(rule.MessageText(m)), Answers: rawjson.GetText(m, "tool_call_id"), Failure: rule.IsFaultMessage(m)}
	if t.Failure {
		t.Role = roleBridge
	}
	for _, a := range rule.Attachments(m) {
		t.Files = append(t.Files, fileLink{Name: a.Name, Type: a.MIMEType, Link: cut(a.Link).Text})
	}
	if t.Answers != "" {
		t.Tool, t.Failed = t.Name, rawjson.GetText(m, "status") == "error"
	}
	for _, c := range callsIn(m) {
		t.Calls = append(t.Calls, toolCall{rawjson.GetText(c, "id"), rawjson.GetText(c, "name"), cut(string(rawjson.Compact(rawjson.Get(c, "args"))))})
	}
	return t
}

// callsIn returns the tool calls of a message.
func callsIn(m json.RawMessage) []json.RawMessage {
	calls, _ := rawjson.Elements(rawjson.Get(m, "tool_calls"))
	return calls
}

// nameTools names the tools of results that do not name them, from the calls in all messages of the state.
func nameTools(turns []turn, messages []json.RawMessage) {
	var names map[string]string // by id of the call
	for i := range turns {
		t := &turns[i]
		if t.Answers == "" || t.Tool != "" {
			continue
		}
		if names == nil {
			names = map[string]string{}
			for _, m := range messages {
				for _, c := range callsIn(m) {
					names[rawjson.GetText(c, "id")] = rawjson.GetText(c, "name")
				}
			}
		}
		t.Tool = names[t.Answers]
	}
}

// roleOf returns the speaker, from LangChain's type or OpenAI's role.
func roleOf(m json.RawMessage) string {
	said := rawjson.GetText(m, "role")
	if said == "" {
		said = rawjson.GetText(m, "type")
	}
	switch said {
	case "human", "user":
		return "person"
	case "ai", "assistant", "AIMessageChunk":
		return "agent"
	case "tool", "function":
		return "tool"
	case "system", "developer":
		return "system"
	case "":
		return "message"
	}
	return cut(said).Text
}
