package inspect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
)

// row is an event or a call of the agent. A call is placed at the end of its response.
type row struct {
	Seq       int64        `json:"seq,omitempty"` // of the event; 0 for a call
	At        time.Time    `json:"at"`
	Since     float64      `json:"since_seconds"` // seconds since the creation of the run
	Kind      mapping.Kind `json:"kind"`
	Node      string       `json:"node,omitempty"`
	Namespace []string     `json:"namespace,omitempty"`
	Says      string       `json:"says"`
	Bytes     int          `json:"bytes"` // of the event's data
	Usage     *usage       `json:"usage,omitempty"`
	Losses    []string     `json:"losses,omitempty"` // only in the first row
	Artifacts []string     `json:"artifacts,omitempty"`
	Cells     [][]frames   `json:"cells,omitempty"` // one for each column, not null; none for a call
	Call      *callLine    `json:"call,omitempty"`
}

const kindCall mapping.Kind = "call"

// frames is one adapter.Frame, or consecutive ones with the same name and note.
type frames struct {
	Name  string `json:"name"`
	ID    string `json:"id,omitempty"` // of the first
	Note  string `json:"note,omitempty"`
	Times int    `json:"times,omitempty"` // 0 means once
}

// callLine is a call of the agent without its bodies.
type callLine struct {
	N        int64   `json:"n"`
	Method   string  `json:"method"`
	URL      string  `json:"url"`
	Status   int     `json:"status,omitempty"`
	Error    string  `json:"error,omitempty"`
	Seconds  float64 `json:"seconds"`
	Sent     int64   `json:"sent_bytes"`
	Received int64   `json:"received_bytes"`
}

// Failed reports whether the call got an error status or no response. A resource that was looked up and not found is no
// failure.
func (c *callLine) Failed() bool {
	return c.Error != "" || c.Status >= 400 && (c.Status != http.StatusNotFound || c.Method != http.MethodGet)
}

func rowOf(run *mapping.Run, ev *mapping.Event, seen [][]adapter.Frame) row {
	r := row{
		Seq: ev.Seq, At: ev.At, Since: max(0, ev.At.Sub(run.CreatedAt).Seconds()), Kind: ev.Kind, Node: ev.Head.Node, Namespace: ev.Head.NS,
		Says: summary(ev), Bytes: len(ev.Data), Usage: usageOf(ev), Artifacts: ev.Head.Artifacts, Cells: make([][]frames, len(seen)),
	}
	if ev.Kind == mapping.KindStarted && ev.Head.Attempt <= 1 {
		for _, l := range run.Options.Losses {
			r.Losses = append(r.Losses, l.Field+": "+string(l.Fate))
		}
	}
	for i, list := range seen {
		r.Cells[i] = cellOf(list)
	}
	return r
}

func cellOf(list []adapter.Frame) []frames {
	c := []frames{}
	for _, s := range list {
		if n := len(c) - 1; n >= 0 && c[n].Name == s.Name && c[n].Note == s.Note {
			c[n].Times = max(c[n].Times, 1) + 1
			continue
		}
		c = append(c, frames{Name: s.Name, ID: s.ID, Note: s.Note})
	}
	return c
}

func lineOfCall(c *adapter.AgentCall) *callLine {
	return &callLine{N: c.N, Method: c.Method, URL: c.URL, Status: c.Status, Error: c.Error, Seconds: c.Took.Seconds(), Sent: c.Sent.Size, Received: c.Received.Size}
}

// withCalls inserts the calls that ended in [from, to). A zero time is no bound.
func withCalls(rows []row, run *mapping.Run, calls []adapter.AgentCall, from, to time.Time) []row {
	for i := range calls {
		end := calls[i].At.Add(calls[i].Took)
		if end.Before(from) || !to.IsZero() && !end.Before(to) {
			continue
		}
		rows = append(rows, row{At: end, Since: end.Sub(run.CreatedAt).Seconds(), Kind: kindCall, Call: lineOfCall(&calls[i])})
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		if a.Seq > 0 && b.Seq > 0 {
			return int(a.Seq - b.Seq)
		}
		return a.At.Compare(b.At)
	})
	return rows
}

const (
	maxSummary = 300       // runes
	maxRead    = 256 << 10 // bytes of data that are read for a summary
)

// summary describes an event in one line.
func summary(ev *mapping.Event) string {
	switch ev.Kind {
	case mapping.KindStarted:
		if ev.Head.Attempt > 1 {
			return fmt.Sprintf("Attempt %d begins.", ev.Head.Attempt)
		}
		return "The run begins."
	case mapping.KindLinked:
		return summaryOfLink(ev.Head.Link)
	case mapping.KindDelta:
		return tokenText(ev.Data)
	case mapping.KindInput, mapping.KindUpdate:
		return summaryOfUpdate(ev)
	case mapping.KindInterrupt:
		return summaryOfQuestions(ev.Head.Interrupts)
	case mapping.KindState:
		return summaryOfState(ev)
	case mapping.KindEnd:
		return summaryOfEnd(ev.Head.Outcome)
	}
	return cutRunes(string(ev.Data[:min(len(ev.Data), maxRead)]), maxSummary)
}

func summaryOfLink(l *mapping.Link) string {
	if l == nil || l.Remote == "" {
		return "The agent knows about it."
	}
	return "Id at the agent: " + l.Remote + "."
}

func summaryOfState(ev *mapping.Event) string {
	said := "The state does not change."
	if ev.Data != nil {
		said = "The state changes."
	}
	if c := ev.Head.Checkpoint; c != nil {
		said += " Checkpoint: " + stepName(c.StepNumber(), c.Parent) + "."
	}
	if len(ev.Head.Next) > 0 {
		said += " Next: " + strings.Join(ev.Head.Next, ", ") + "."
	}
	return said
}

func summaryOfEnd(o *mapping.Outcome) string {
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

func summaryOfQuestions(list []mapping.Interrupt) string {
	var b strings.Builder
	b.WriteString("It asks: ")
	for i, q := range list {
		if i > 0 {
			b.WriteString(" · ")
		}
		b.WriteString(rule.QuestionText(q.Value))
	}
	return cutRunes(b.String(), maxSummary)
}

// shownMessage holds the fields of a message that a summary shows.
type shownMessage struct {
	Type    string          `json:"type"`
	Content json.RawMessage `json:"content"`
	Calls   []struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"tool_calls"`
}

func tokenText(data []byte) string {
	var pair []json.RawMessage
	var m shownMessage
	if len(data) > maxRead || json.Unmarshal(data, &pair) != nil || len(pair) == 0 || json.Unmarshal(pair[0], &m) != nil {
		return ""
	}
	return cutRunes(contentText(m.Content), maxSummary)
}

// summaryOfUpdate shows the messages of an update, or else its data.
func summaryOfUpdate(ev *mapping.Event) string {
	if len(ev.Data) > maxRead {
		return fmt.Sprintf("%d bytes", len(ev.Data))
	}
	var parts []string
	for _, m := range updateMessages(ev.Data) {
		if text := contentText(m.Content); text != "" {
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
		parts = append(parts, summaryOfQuestions(ev.Head.Interrupts))
	}
	return cutRunes(strings.Join(parts, " · "), maxSummary)
}

// updateMessages returns the member "messages" of an update, which is a message or a list of messages.
func updateMessages(data []byte) (list []shownMessage) {
	var update struct {
		Messages json.RawMessage `json:"messages"`
	}
	if len(data) > maxRead || json.Unmarshal(data, &update) != nil {
		return nil
	}
	var one shownMessage
	if json.Unmarshal(update.Messages, &list) == nil {
		return list
	}
	if json.Unmarshal(update.Messages, &one) == nil && one.Type != "" {
		return []shownMessage{one}
	}
	return nil
}

// contentText returns a text, the texts of a list of parts, or else the JSON.
func contentText(content json.RawMessage) string {
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
