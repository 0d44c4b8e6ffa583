package timeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
)

const (
	longest  = 300       // runes of a line
	readable = 256 << 10 // bytes of data that are read for a line
)

// says is an event in a line, for people.
func says(ev *mapping.Event) string {
	switch ev.Kind {
	case mapping.KindStarted:
		if ev.Head.Attempt > 1 {
			return fmt.Sprintf("Attempt %d begins.", ev.Head.Attempt)
		}
		return "The run begins."
	case mapping.KindLinked:
		return linked(ev.Head.Link)
	case mapping.KindDelta:
		return token(ev.Data)
	case mapping.KindInput, mapping.KindUpdate:
		return told(ev)
	case mapping.KindInterrupt:
		return asked(ev.Head.Interrupts)
	case mapping.KindState:
		return stated(ev)
	case mapping.KindEnd:
		return ended(ev.Head.Outcome)
	}
	return Cut(string(ev.Data[:min(len(ev.Data), readable)]), longest)
}

func linked(l *mapping.Link) string {
	if l == nil || l.Remote == "" {
		return "The agent knows of it."
	}
	return "The agent calls it " + l.Remote + "."
}

func stated(ev *mapping.Event) string {
	said := "The state stays as it was."
	if ev.Data != nil {
		said = "The state changes."
	}
	if c := ev.Head.Checkpoint; c != nil {
		said += fmt.Sprintf(" Checkpoint %d.", c.Step)
	}
	if len(ev.Head.Next) > 0 {
		said += " Next: " + strings.Join(ev.Head.Next, ", ") + "."
	}
	return said
}

func ended(o *mapping.Outcome) string {
	switch {
	case o == nil:
		return "The run ends."
	case o.Fault != nil:
		return fmt.Sprintf("The run ends: %s. %s", o.Status, o.Fault.Message)
	case o.Cancelled:
		return "The run was cancelled."
	}
	return fmt.Sprintf("The run ends: %s.", o.Status)
}

func asked(list []mapping.Interrupt) string {
	var b strings.Builder
	b.WriteString("It asks: ")
	for i, q := range list {
		if i > 0 {
			b.WriteString(" · ")
		}
		b.WriteString(rule.QuestionText(q.Value))
	}
	return Cut(b.String(), longest)
}

// message is what is read of a message, in whatever form an agent gives it.
type message struct {
	Type    string          `json:"type"`
	Content json.RawMessage `json:"content"`
	Calls   []toolCall      `json:"tool_calls"`
	Usage   *Usage          `json:"usage_metadata"`
}

type toolCall struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// Usage is what an agent's model said that a message took, in tokens.
type Usage struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
}

func token(data []byte) string {
	var pair []json.RawMessage
	var m message
	if len(data) > readable || json.Unmarshal(data, &pair) != nil || len(pair) == 0 || json.Unmarshal(pair[0], &m) != nil {
		return ""
	}
	return Cut(plain(m.Content), longest)
}

// told are the messages of an update, and else its data.
func told(ev *mapping.Event) string {
	if len(ev.Data) > readable {
		return fmt.Sprintf("%d bytes", len(ev.Data))
	}
	var parts []string
	for _, m := range messages(ev.Data) {
		if text := plain(m.Content); text != "" {
			parts = append(parts, m.Type+": "+text)
		}
		for _, c := range m.Calls {
			parts = append(parts, "calls "+c.Name+" "+string(c.Args))
		}
	}
	if len(parts) == 0 {
		parts = []string{string(ev.Data)}
	}
	if ev.Asks() {
		parts = append(parts, asked(ev.Head.Interrupts))
	}
	return Cut(strings.Join(parts, " · "), longest)
}

// messages are those that an update adds: its member messages is a message or a list of them.
func messages(data []byte) (list []message) {
	var update struct {
		Messages json.RawMessage `json:"messages"`
	}
	if len(data) > readable || json.Unmarshal(data, &update) != nil {
		return nil
	}
	var one message
	if json.Unmarshal(update.Messages, &list) == nil {
		return list
	}
	if json.Unmarshal(update.Messages, &one) == nil && one.Type != "" {
		return []message{one}
	}
	return nil
}

// plain is a text, the texts of a list of parts, or else the JSON.
func plain(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &parts) == nil && len(parts) > 0 {
		var b strings.Builder
		for _, p := range parts {
			b.WriteString(p.Text)
		}
		return b.String()
	}
	if bytes.Equal(content, []byte("null")) {
		return ""
	}
	return string(content)
}

// Cut returns at most n runes of a text, with a mark after them where there were more.
func Cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for i := range text {
		if n--; n < 0 {
			return text[:i] + "…"
		}
	}
	if !utf8.ValidString(text) {
		return strings.ToValidUTF8(text, "�")
	}
	return text
}
