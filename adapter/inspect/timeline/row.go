// Package timeline puts one run on one axis: the events of its log, the frames that clients of each dialect got of
// them, and the calls of its agent meanwhile. Packages inspect and export read it. It reads adapter.Service and knows
// no HTTP. It never makes agents' and clients' words inert: the page does that.
package timeline

import (
	"slices"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// Row is one line of the axis: an event, or a call of the agent. A call stands where its answer ended.
type Row struct {
	Seq       int64        `json:"seq,omitempty"` // of the event; 0: the line is a call
	At        time.Time    `json:"at"`
	Since     float64      `json:"since_seconds"` // since the run was made; 0 of what was noted while that was under way
	Kind      mapping.Kind `json:"kind"`
	Node      string       `json:"node,omitempty"`
	Namespace []string     `json:"namespace,omitempty"`
	Says      string       `json:"says"`
	Bytes     int          `json:"bytes"` // of the event's data
	Usage     *Usage       `json:"usage,omitempty"`
	Losses    []string     `json:"losses,omitempty"` // on the line that begins the run
	Artifacts []string     `json:"artifacts,omitempty"`
	Cells     []Cell       `json:"cells,omitempty"` // one for each column; none of a call
	Call      *Call        `json:"call,omitempty"`
}

// KindCall is the kind of a row that is a call.
const KindCall mapping.Kind = "call"

// Cell is what clients of one dialect got of an event.
type Cell []Seen

// Seen is an adapter.Sight in a line. Those of one name and note that follow each other are one.
type Seen struct {
	Name  string `json:"name"`
	ID    string `json:"id,omitempty"` // of the first
	Note  string `json:"note,omitempty"`
	Times int    `json:"times,omitempty"` // 0: once
}

// Call is a call of the agent in a line.
type Call struct {
	N        int64   `json:"n"`
	Method   string  `json:"method"`
	URL      string  `json:"url"`
	Status   int     `json:"status,omitempty"`
	Error    string  `json:"error,omitempty"`
	Seconds  float64 `json:"seconds"`
	Sent     int64   `json:"sent_bytes"`
	Received int64   `json:"received_bytes"`
}

// Failed reports whether the call was not answered as it should have been.
func (c *Call) Failed() bool { return c.Error != "" || c.Status >= 400 }

func rowOf(run *mapping.Run, ev *mapping.Event, seen [][]adapter.Frame) Row {
	r := Row{
		Seq: ev.Seq, At: ev.At, Since: max(0, ev.At.Sub(run.CreatedAt).Seconds()), Kind: ev.Kind, Node: ev.Head.Node, Namespace: ev.Head.NS,
		Says: says(ev), Bytes: len(ev.Data), Usage: usage(ev), Artifacts: ev.Head.Artifacts, Cells: make([]Cell, len(seen)),
	}
	if ev.Kind == mapping.KindStarted && ev.Head.Attempt <= 1 {
		r.Losses = lost(run.Options.Losses)
	}
	for i, list := range seen {
		r.Cells[i] = cellOf(list)
	}
	return r
}

func cellOf(list []adapter.Frame) Cell {
	c := Cell{}
	for _, s := range list {
		if n := len(c) - 1; n >= 0 && c[n].Name == s.Name && c[n].Note == s.Note {
			c[n].Times = max(c[n].Times, 1) + 1
			continue
		}
		c = append(c, Seen{Name: s.Name, ID: s.ID, Note: s.Note})
	}
	return c
}

// lost says of each field of the request what became of it.
func lost(losses []mapping.Loss) (list []string) {
	for _, l := range losses {
		list = append(list, l.Field+": "+string(l.Fate))
	}
	return list
}

func usage(ev *mapping.Event) *Usage {
	if ev.Kind != mapping.KindUpdate {
		return nil
	}
	var sum Usage
	for _, m := range messages(ev.Data) {
		if m.Usage != nil {
			sum.Input += m.Usage.Input
			sum.Output += m.Usage.Output
		}
	}
	if sum == (Usage{}) {
		return nil
	}
	return &sum
}

func rowOfCall(run *mapping.Run, c *adapter.AgentCall) Row {
	end := c.At.Add(c.Took)
	return Row{At: end, Since: end.Sub(run.CreatedAt).Seconds(), Kind: KindCall, Call: CallOf(c)}
}

// CallOf returns a call as a line of the axis shows it.
func CallOf(c *adapter.AgentCall) *Call {
	return &Call{N: c.N, Method: c.Method, URL: c.URL, Status: c.Status, Error: c.Error, Seconds: c.Took.Seconds(), Sent: c.Sent.Size, Received: c.Received.Size}
}

// withCalls puts the calls that ended from a time on, and before another one, where they ended. A zero time bounds
// nothing.
func withCalls(rows []Row, run *mapping.Run, calls []adapter.AgentCall, from, to time.Time) []Row {
	for i := range calls {
		end := calls[i].At.Add(calls[i].Took)
		if end.Before(from) || !to.IsZero() && !end.Before(to) {
			continue
		}
		rows = append(rows, rowOfCall(run, &calls[i]))
	}
	slices.SortStableFunc(rows, func(a, b Row) int {
		if a.Seq > 0 && b.Seq > 0 {
			return int(a.Seq - b.Seq)
		}
		return a.At.Compare(b.At)
	})
	return rows
}
