// Package talk prints an agent's output for the commands run and remote. It starts no runs.
package talk

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
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/mapping/rule"
)

// Printer prints the events of a run's stream as they arrive.
type Printer struct {
	Out     io.Writer
	Environ []string
	Lines   bool // prints events as JSON lines instead of text

	Asked []api.Question // open questions at the end of the run
	Fault error          // error of a failed run

	tools map[string]string // names of called tools by call id
}

// Event prints one event of the stream.
func (t *Printer) Event(f sse.Event) error {
	if t.Lines {
		if err := t.line(f); err != nil {
			return err
		}
	}
	switch f.Name {
	case "error":
		t.Fault = failed(f.Data)
	case "updates":
		return t.update(f.Data)
	}
	return nil
}

func (t *Printer) line(f sse.Event) error {
	return json.NewEncoder(t.Out).Encode(struct {
		Event string          `json:"event"`
		ID    string          `json:"id,omitempty"`
		Data  json.RawMessage `json:"data"`
	}{f.Name, f.ID, f.Data})
}

func failed(data []byte) error {
	var e struct{ Error, Message, Code string }
	if err := json.Unmarshal(data, &e); err != nil {
		return err
	}
	if e.Code == "" || e.Code == e.Error {
		return fmt.Errorf("the run failed: %s (%s)", e.Message, e.Error)
	}
	return fmt.Errorf("the run failed: %s: %s (%s)", e.Error, e.Message, e.Code)
}

// update prints the output of each node and records the agent's questions.
func (t *Printer) update(data []byte) error {
	var nodes map[string]json.RawMessage
	if err := json.Unmarshal(data, &nodes); err != nil {
		return err
	}
	if raw, ok := nodes["__interrupt__"]; ok {
		return json.Unmarshal(raw, &t.Asked)
	}
	if t.Lines {
		return nil
	}
	for _, node := range slices.Sorted(maps.Keys(nodes)) {
		t.delta(node, nodes[node])
	}
	return nil
}

// delta prints the messages of a node, or else its output. Failures are only printed at the end of the run.
func (t *Printer) delta(node string, delta json.RawMessage) {
	var d struct{ Messages []json.RawMessage }
	if json.Unmarshal(delta, &d) != nil || len(d.Messages) == 0 {
		t.say(console.Green, node+": ", string(delta))
		return
	}
	for _, raw := range rule.Conversational(d.Messages) {
		t.message(node, raw)
	}
}

// message prints a message: the agent's text, its tool calls, or the result of a tool call.
func (t *Printer) message(node string, raw json.RawMessage) {
	var m struct {
		Type, Role string
		CallID     string `json:"tool_call_id"`
		Calls      []struct {
			ID, Name string
			Args     json.RawMessage
		} `json:"tool_calls"`
	}
	_ = json.Unmarshal(raw, &m)
	name, text := wordsOf(raw)
	if cmp.Or(m.Type, m.Role) == "tool" {
		t.say(console.Yellow, "tool "+cmp.Or(name, t.tools[m.CallID], node)+" → ", text)
		return
	}
	if text != "" {
		t.say(console.Green, cmp.Or(name, node)+": ", text)
	}
	for _, call := range m.Calls {
		if t.tools == nil {
			t.tools = map[string]string{}
		}
		t.tools[call.ID] = call.Name
		t.say(console.Yellow, "tool "+call.Name+": ", string(call.Args))
	}
}

func (t *Printer) say(colour int, label, text string) {
	console.Label(t.Out, t.Environ, colour, label)
	fmt.Fprintln(t.Out, text)
}

// Questions returns the text of an agent's questions.
func Questions(list []api.Question) string {
	texts := make([]string, len(list))
	for i, q := range list {
		texts[i] = rule.QuestionText(q.Value)
	}
	return "the agent asks: " + strings.Join(texts, " ")
}

// wordsOf returns the name and the text of a message. Content blocks are unchanged.
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

// Spoken returns the speaker and the text of a message of a thread.
func Spoken(message json.RawMessage) (who, text string) {
	var m struct{ Type, Role string }
	_ = json.Unmarshal(message, &m)
	name, text := wordsOf(message)
	return cmp.Or(name, m.Type, m.Role, "?"), text
}

// Paths returns the sorted names of a state's files.
func Paths(files map[string]json.RawMessage) []string { return slices.Sorted(maps.Keys(files)) }
