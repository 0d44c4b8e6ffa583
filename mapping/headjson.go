package mapping

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// AppendJSON appends a head as encoding/json would write it, but for raw values,
// which are spliced as they are: every event is logged with one, and they are
// most of what a log writes. What is seldom there is left to encoding/json.
// "{}" is a head that says nothing.
func (h *Head) AppendJSON(dst []byte) ([]byte, error) {
	w := headWriter{b: append(dst, '{')}
	w.text("node", h.Node)
	w.seldom("ns", h.NS, len(h.NS) > 0)
	w.text("name", h.Name)
	w.flag("reduce", h.Reduce)
	if h.Step != nil {
		w.object("step", func() { w.step(h.Step) })
	}
	w.seldom("interrupts", h.Interrupts, len(h.Interrupts) > 0)
	w.seldom("link", h.Link, h.Link != nil)
	if h.Checkpoint != nil {
		w.object("checkpoint", func() { w.checkpoint(h.Checkpoint) })
	}
	if h.Outcome != nil {
		w.object("outcome", func() { w.outcome(h.Outcome) })
	}
	w.seldom("next", h.Next, len(h.Next) > 0)
	w.flag("full", h.Full)
	w.number("attempt", int64(h.Attempt), h.Attempt != 0)
	w.flag("ahead", h.Ahead)
	w.text("upstream_id", h.UpstreamID)
	w.seldom("artifacts", h.Artifacts, len(h.Artifacts) > 0)
	w.number("uploaded", int64(h.Uploaded), h.Uploaded != 0)
	return append(w.b, '}'), w.err
}

// headWriter appends members; those that say nothing are left out.
type headWriter struct {
	b   []byte
	err error
}

func (w *headWriter) step(s *StepInfo) {
	w.text("id", s.ID)
	w.text("name", s.Name)
	w.text("status", s.Status)
	w.raw("output", s.Output)
	w.raw("additional", s.Additional)
	w.flag("is_last", s.IsLast)
	if s.Input != nil {
		w.name("input")
		w.b = appendQuoted(w.b, *s.Input)
	}
}

func (w *headWriter) checkpoint(c *Checkpoint) {
	w.name("id")
	w.b = appendQuoted(w.b, c.ID)
	w.text("parent", c.Parent)
	w.name("source")
	w.b = appendQuoted(w.b, c.Source)
	w.number("step", int64(c.Step), true)
	w.seldom("next", c.Next, len(c.Next) > 0)
	w.raw("tasks", c.Tasks)
	w.text("remote", c.Remote)
	w.text("run_id", c.RunID)
	w.raw("metadata", c.Metadata)
	w.text("remote_thread", c.RemoteThread)
}

func (w *headWriter) outcome(o *Outcome) {
	w.text("status", string(o.Status))
	w.flag("parked", o.Parked)
	w.flag("cancelled", o.Cancelled)
	w.seldom("fault", o.Fault, o.Fault != nil)
	w.seldom("interrupts", o.Interrupts, len(o.Interrupts) > 0)
}

func (w *headWriter) name(key string) {
	if w.b[len(w.b)-1] != '{' {
		w.b = append(w.b, ',')
	}
	w.b = append(append(append(w.b, '"'), key...), '"', ':')
}

func (w *headWriter) text(key, s string) {
	if s != "" {
		w.name(key)
		w.b = appendQuoted(w.b, s)
	}
}

func (w *headWriter) flag(key string, set bool) {
	if set {
		w.name(key)
		w.b = append(w.b, "true"...)
	}
}

func (w *headWriter) number(key string, n int64, there bool) {
	if there {
		w.name(key)
		w.b = strconv.AppendInt(w.b, n, 10)
	}
}

func (w *headWriter) raw(key string, v json.RawMessage) {
	if len(v) > 0 {
		w.name(key)
		w.b = append(w.b, v...)
	}
}

func (w *headWriter) object(key string, members func()) {
	w.name(key)
	w.b = append(w.b, '{')
	members()
	w.b = append(w.b, '}')
}

func (w *headWriter) seldom(key string, v any, there bool) {
	if !there {
		return
	}
	b, err := plainJSON(v)
	if err != nil {
		w.err = err
		return
	}
	w.raw(key, b)
}

// plainJSON is v as encoding/json writes it, without escapes for HTML.
func plainJSON(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
