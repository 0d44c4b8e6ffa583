// Package export writes one run down to be handed on: as lines of JSON, or as an HTTP archive of the calls of its
// agent. Package inspect offers it. It reads adapter.Service, and never writes what grants access: adapter.Runs gives
// calls without credentials, and those in the log, as of a client's own, are hidden (credential.Set.Hide).
package export

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"time"
	"unicode/utf8"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/inspect/timeline"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
)

// version of the form of the lines.
const version = 1

// head is the first line.
type head struct {
	Version   int               `json:"apbridge_run"`
	RunID     string            `json:"run_id"`
	ThreadID  string            `json:"thread_id"`
	TaskID    string            `json:"task_id"`
	Agent     string            `json:"agent"`
	Flavour   mapping.Flavour   `json:"flavour"`
	Status    mapping.RunStatus `json:"status"`
	Attempt   int               `json:"attempt"`
	CreatedAt time.Time         `json:"created_at"`
	StartedAt time.Time         `json:"started_at,omitzero"`
	EndedAt   time.Time         `json:"ended_at,omitzero"`
	Fault     *mapping.Fault    `json:"error,omitempty"`
	Losses    []mapping.Loss    `json:"losses,omitempty"`
}

// event is a line for an event of the log.
type event struct {
	Event int64            `json:"event"`
	At    time.Time        `json:"at"`
	Kind  mapping.Kind     `json:"kind"`
	Head  json.RawMessage  `json:"head"`
	Data  json.RawMessage  `json:"data,omitempty"`
	Seen  map[string][]got `json:"seen"` // by the name of the dialect
}

// got is what clients got of it.
type got struct {
	Name string `json:"name"`
	ID   string `json:"id,omitempty"`
	Note string `json:"note,omitempty"`
	Text string `json:"text"`
}

// call is a line for a call of the agent.
type call struct {
	adapter.AgentCall
	N        int64 `json:"call"`
	Sent     part  `json:"sent"`
	Received part  `json:"received"`
}

type part struct {
	Header   map[string]string `json:"header,omitempty"`
	Size     int64             `json:"size"`
	Cut      bool              `json:"cut,omitempty"` // Size is more than there is
	Body     string            `json:"body,omitempty"`
	Encoding string            `json:"encoding,omitempty"` // base64 of what is no text
}

// Lines writes a run as lines of JSON: one that says what run it is, one for each event of its log in their order, one
// for each call that is kept, as who may see it. get returns a call with its bodies; one that is not kept any more is
// left out.
func Lines(w io.Writer, who mapping.Principal, a *timeline.Axis, each func(func(*state.Entry, [][]adapter.Frame) bool) error, calls []adapter.AgentCall, get func(n int64) (adapter.AgentCall, error)) error {
	to := json.NewEncoder(w)
	to.SetEscapeHTML(false)
	if err := to.Encode(headOf(&a.Run)); err != nil {
		return err
	}
	var failed error
	err := each(func(e *state.Entry, seen [][]adapter.Frame) bool {
		var line event
		if line, failed = lineOf(a.Names(), timeline.HeadFor(who, &e.Head), e, seen); failed == nil {
			failed = to.Encode(line)
		}
		return failed == nil
	})
	if err == nil {
		err = failed
	}
	for i := 0; i < len(calls) && err == nil; i++ {
		var c adapter.AgentCall
		if c, err = get(calls[i].N); err == nil {
			err = to.Encode(call{AgentCall: c, N: c.N, Sent: partOf(&c.Sent), Received: partOf(&c.Received)})
		} else if gone(err) {
			err = nil
		}
	}
	return err
}

func headOf(r *mapping.Run) head {
	return head{version, r.ID, r.ThreadID, r.TaskID, r.Agent, r.Flavour, r.Status, r.Attempt, r.CreatedAt, r.StartedAt, r.EndedAt, hiddenFault(r.Fault), r.Options.Losses}
}

func lineOf(names []string, h *mapping.Head, e *state.Entry, seen [][]adapter.Frame) (event, error) {
	head, err := hiddenHead(h)
	line := event{e.Seq, e.At, e.Kind, head, noneKnown.HideBytes(e.Data), map[string][]got{}}
	for c, sights := range seen {
		for _, s := range sights {
			line.Seen[names[c]] = append(line.Seen[names[c]], got{s.Name, s.ID, s.Note, noneKnown.Hide(string(s.Bytes()))})
		}
	}
	return line, err
}

func partOf(p *adapter.CallPart) part {
	text, encoding := textOf(p.Body)
	return part{p.Header, p.Size, p.Cut(), text, encoding}
}

// textOf is a body as JSON can have it.
func textOf(b []byte) (text, encoding string) {
	if utf8.Valid(b) {
		return string(b), ""
	}
	return base64.StdEncoding.EncodeToString(b), "base64"
}
