package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/adapter/sse"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/api"
	"github.com/apbridge/apbridge/mapping/rule"
)

// talk prints the events of a run's stream as they come.
type talk struct {
	out   io.Writer
	lines bool // each event as a line of JSON, instead of what it says

	asked []api.Question // what the run has ended with
	fault error          // why the run failed
}

func (t *talk) event(f sse.Event) error {
	if t.lines {
		if err := t.line(f); err != nil {
			return err
		}
	}
	switch f.Name {
	case "error":
		t.fault = failed(f.Data)
	case "updates":
		return t.update(f.Data)
	}
	return nil
}

func (t *talk) line(f sse.Event) error {
	return json.NewEncoder(t.out).Encode(struct {
		Event string          `json:"event"`
		ID    string          `json:"id,omitempty"`
		Data  json.RawMessage `json:"data"`
	}{f.Name, f.ID, f.Data})
}

func failed(data []byte) error {
	var e struct{ Error, Message string }
	if err := json.Unmarshal(data, &e); err != nil {
		return err
	}
	return fmt.Errorf("the run failed: %s (%s)", e.Message, e.Error)
}

// update prints what each node said, and keeps what the agent asks.
func (t *talk) update(data []byte) error {
	var nodes map[string]json.RawMessage
	if err := json.Unmarshal(data, &nodes); err != nil {
		return err
	}
	if raw, ok := nodes["__interrupt__"]; ok {
		return json.Unmarshal(raw, &t.asked)
	}
	if t.lines {
		return nil
	}
	for _, node := range slices.Sorted(maps.Keys(nodes)) {
		name, text := said(nodes[node])
		if text != "" {
			fmt.Fprintf(t.out, "%s: %s\n", cmp.Or(name, node), text)
		}
	}
	return nil
}

// questions are what an agent asks, in words.
func questions(list []api.Question) string {
	texts := make([]string, len(list))
	for i, q := range list {
		texts[i] = rule.QuestionText(q.Value)
	}
	return "the agent asks: " + strings.Join(texts, " ")
}

// said is the text of a delta's messages, else the delta itself, and the name of who said it, ""
// for none. Why the run failed is not told here, but at its end.
func said(delta json.RawMessage) (name, text string) {
	var d struct{ Messages []json.RawMessage }
	if json.Unmarshal(delta, &d) != nil || len(d.Messages) == 0 {
		return "", string(delta)
	}
	var parts []string
	for _, raw := range rule.Conversational(d.Messages) {
		var part string
		name, part = wordsOf(raw)
		parts = append(parts, part)
	}
	return name, strings.Join(parts, "\n")
}

// wordsOf is the text of a message, and the name that it gives. Content blocks stay as they are.
func wordsOf(message json.RawMessage) (name, text string) {
	var m struct {
		Name    string
		Content json.RawMessage
	}
	_ = json.Unmarshal(message, &m)
	text = string(m.Content)
	_ = json.Unmarshal(m.Content, &text)
	return m.Name, text
}

// spoken is a message of a thread: who says it, and the text.
func spoken(message json.RawMessage) (who, text string) {
	var m struct{ Type, Role string }
	_ = json.Unmarshal(message, &m)
	name, text := wordsOf(message)
	return cmp.Or(name, m.Type, m.Role, "?"), text
}
