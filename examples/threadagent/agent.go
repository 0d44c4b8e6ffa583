// Package threadagent is a small agent in the manner of a LangGraph server: it
// serves assistants, threads and runs with event streams, keeps the state of
// its threads in memory, and has one graph of two nodes, plan → answer. It
// needs no model.
//
// A request that says "ask me" is interrupted before the answer; the run that
// resumes it brings what the person said.
package threadagent

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// state is a value: nodes and updates make a new one, so that checkpoints can
// keep the old.
type state struct {
	Messages []message      `json:"messages"`
	Files    map[string]any `json:"files,omitempty"`
}

type message struct {
	ID      string          `json:"id"`
	Type    string          `json:"type"`
	Role    string          `json:"role,omitempty"` // another spelling of Type, read only
	Content json.RawMessage `json:"content"`
}

type interrupt struct {
	ID    string `json:"id"`
	Value any    `json:"value"`
}

// nodes of the graph, in the order they run in.
var nodes = []struct {
	name string
	run  func(s state, resume *string) (delta state, ask *interrupt)
}{{"plan", plan}, {"answer", answer}}

func plan(s state, _ *string) (state, *interrupt) {
	text := fmt.Sprintf("I will answer %q", s.request())
	if len(s.Files) > 0 {
		text += fmt.Sprintf(" with %d file(s) at hand", len(s.Files))
	}
	return state{Messages: []message{said("ai", text+".")}}, nil
}

func answer(s state, resume *string) (state, *interrupt) {
	text := "The answer to " + s.request()
	if strings.Contains(strings.ToLower(s.request()), "ask me") {
		if resume == nil {
			return state{}, &interrupt{ID: newID(), Value: map[string]string{"question": "What shall the answer say?"}}
		}
		text += ": you told me " + *resume
	}
	file := map[string]string{"content": text + "\n", "encoding": "utf-8", "mimeType": "text/plain"}
	return state{
		Messages: []message{said("ai", text+".")},
		Files:    map[string]any{"/answer.txt": file},
	}, nil
}

// merge is the graph's reducer: messages by id, files by path (null deletes).
func (s state) merge(delta state) state {
	next := state{Messages: slices.Clone(s.Messages), Files: maps.Clone(s.Files)}
	for _, m := range delta.Messages {
		m = m.normal()
		at := slices.IndexFunc(next.Messages, func(old message) bool { return old.ID == m.ID })
		if at >= 0 {
			next.Messages[at] = m
		} else {
			next.Messages = append(next.Messages, m)
		}
	}
	for path, file := range delta.Files {
		if next.Files == nil {
			next.Files = map[string]any{}
		}
		if next.Files[path] = file; file == nil {
			delete(next.Files, path)
		}
	}
	return next
}

// request is the text of the last human message.
func (s state) request() string {
	for _, m := range slices.Backward(s.Messages) {
		if m.Type == "human" {
			return m.text()
		}
	}
	return "nothing"
}

func said(kind, text string) message {
	content, _ := json.Marshal(text)
	return message{ID: newID(), Type: kind, Content: content}
}

// normal gives a client's message an id and one spelling of its type.
func (m message) normal() message {
	if m.Type == "" {
		m.Type = m.Role
	}
	switch m.Role = ""; m.Type {
	case "user", "":
		m.Type = "human"
	case "assistant":
		m.Type = "ai"
	}
	if m.ID == "" {
		m.ID = newID()
	}
	return m
}

// text reads content as a string, as a list of parts, or as it stands.
func (m message) text() string {
	var plain string
	if json.Unmarshal(m.Content, &plain) == nil {
		return plain
	}
	var parts []struct{ Text string }
	json.Unmarshal(m.Content, &parts)
	for _, p := range parts {
		plain += p.Text
	}
	if plain == "" {
		return string(m.Content)
	}
	return plain
}
