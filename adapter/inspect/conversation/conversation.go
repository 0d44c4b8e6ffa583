// Package conversation is a thread's messages as a person reads them: the speakers, their words, files and tool calls.
// Package inspect shows it. It leaves out the rest of a message, to which the page leads, and makes no HTML.
package conversation

import (
	"encoding/json"

	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
)

// Turn is one message.
type Turn struct {
	Index   int    `json:"index"` // among all messages of the state, from 0
	ID      string `json:"id"`
	Role    string `json:"role"` // person, agent, tool, system, or what the message calls itself
	Name    string `json:"name,omitempty"`
	Text    Text   `json:"text"`
	Files   []File `json:"files,omitempty"`
	Calls   []Call `json:"calls,omitempty"`
	Answers string `json:"answers,omitempty"` // the id of the call that a tool answers
	Failure bool   `json:"failure,omitempty"` // it says why a run failed, and not what an agent said
}

// Text is a text as far as a page shows it.
type Text struct {
	Text string `json:"text"`
	Cut  int    `json:"cut,omitempty"` // how many bytes more there are
}

// File is a file within a message.
type File struct {
	Name string `json:"name,omitempty"`
	Type string `json:"type,omitempty"` // media type
	Link string `json:"link,omitempty"` // where it lies, if not in the message. It is shown, and never followed.
}

// Call is a tool call.
type Call struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	Args Text   `json:"args"`
}

// most is how many bytes of one text a page shows.
const most = 4000

// Cut returns a text as far as a page shows it. It ends with a whole character.
func Cut(text string) Text {
	if len(text) <= most {
		return Text{Text: text}
	}
	at := most
	for at > 0 && text[at]&0xc0 == 0x80 {
		at--
	}
	return Text{text[:at], len(text) - at}
}

// Page is a part of a conversation.
type Page struct {
	Turns []Turn `json:"turns"`
	Total int    `json:"total"`
	// Earlier leads to the page before this one: the index that it ends before; 0: there is none.
	Earlier int `json:"earlier,omitempty"`
}

// Read returns what stands in the messages of a state before an index, at most so many; before 0: to the end.
func Read(values json.RawMessage, before, limit int) Page {
	list := messages(values)
	p := Page{Total: len(list), Turns: []Turn{}}
	if before <= 0 || before > len(list) {
		before = len(list)
	}
	p.Earlier = max(0, before-limit)
	for i := p.Earlier; i < before; i++ {
		t := turn(list[i])
		t.Index = i
		p.Turns = append(p.Turns, t)
	}
	return p
}

// LastWords returns what the agent said last in a state, "" where the last that was said is a person's.
func LastWords(values json.RawMessage) string {
	list := messages(values)
	for i := len(list) - 1; i >= 0; i-- {
		switch text := rule.MessageText(list[i]); {
		case role(list[i]) == "person":
			return ""
		case role(list[i]) == "agent" && text != "" && !rule.SaysFault(list[i]):
			return text
		}
	}
	return ""
}

// Message returns one message of a state, as it is; nil: there is none.
func Message(values json.RawMessage, index int) json.RawMessage {
	list := messages(values)
	if index < 0 || index >= len(list) {
		return nil
	}
	return list[index]
}

// messages are those of a state, which may be anything.
func messages(values json.RawMessage) []json.RawMessage {
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

func turn(m json.RawMessage) Turn {
	if text, ok := rawjson.Text(m); ok { // a state may hold anything there
		return Turn{Role: "message", Text: Cut(text)}
	}
	t := Turn{ID: rawjson.GetText(m, "id"), Role: role(m), Name: rawjson.GetText(m, "name"), Text: Cut(rule.MessageText(m)), Answers: rawjson.GetText(m, "tool_call_id"), Failure: rule.SaysFault(m)}
	for _, a := range rule.Attachments(m) {
		t.Files = append(t.Files, File{a.Name, a.MIMEType, Cut(a.Link).Text})
	}
	calls, _ := rawjson.Elements(rawjson.Get(m, "tool_calls"))
	for _, c := range calls {
		t.Calls = append(t.Calls, Call{rawjson.GetText(c, "id"), rawjson.GetText(c, "name"), Cut(string(rawjson.Compact(rawjson.Get(c, "args"))))})
	}
	return t
}

// role is the speaker: LangChain's types and OpenAI's roles name the same ones.
func role(m json.RawMessage) string {
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
	return Cut(said).Text
}
