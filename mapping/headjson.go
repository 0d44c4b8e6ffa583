package mapping

import (
	"encoding/json"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// AppendJSON appends a head as encoding/json would write it, but keeps raw values verbatim. Both encoding/json and
// go-json-experiment would remove their white space, so that a step read from the log would differ from the one handed
// out. Rare members are left to encoding/json. An empty head is "{}".
func (h *Head) AppendJSON(dst []byte) ([]byte, error) {
	w := &rawjson.Writer{Bytes: dst}
	w.Open('{')
	writeText(w, "node", h.Node)
	writeTexts(w, "ns", h.NS)
	writeText(w, "name", h.Name)
	writeFlag(w, "reduce", h.Reduce)
	writeFlag(w, "streamed", h.Streamed)
	writeFlag(w, "passing", h.Passing)
	writeFlag(w, "waiting", h.Waiting)
	writeRaw(w, "native", h.Native)
	if h.Step != nil {
		h.Step.writeTo(w.Key("step"))
	}
	if len(h.Interrupts) > 0 {
		w.Key("interrupts").Encode(h.Interrupts)
	}
	if h.Link != nil {
		w.Key("link").Encode(h.Link)
	}
	if h.Checkpoint != nil {
		h.Checkpoint.writeTo(w.Key("checkpoint"))
	}
	if h.Repeated != nil {
		h.Repeated.writeTo(w.Key("repeated"))
	}
	if h.Outcome != nil {
		h.Outcome.writeTo(w.Key("outcome"))
	}
	writeTexts(w, "next", h.Next)
	writeFlag(w, "full", h.Full)
	writeNumber(w, "attempt", int64(h.Attempt))
	writeNumber(w, "agent_ns", int64(h.AgentTime))
	writeText(w, "upstream_id", h.UpstreamID)
	writeTexts(w, "artifacts", h.Artifacts)
	writeNumber(w, "uploaded", int64(h.Uploaded))
	if len(h.Recalled) > 0 {
		w.Key("told").Encode(h.Recalled)
	}
	return w.Close('}').Bytes, w.Err
}

func (s *StepInfo) writeTo(w *rawjson.Writer) {
	w.Open('{')
	writeText(w, "id", s.ID)
	writeText(w, "name", s.Name)
	writeText(w, "status", s.Status)
	writeRaw(w, "output", s.Output)
	writeRaw(w, "additional", s.Additional)
	writeFlag(w, "is_last", s.SaysLast)
	if s.Input != nil {
		w.Key("input").Text(*s.Input)
	}
	w.Close('}')
}

func (c *Checkpoint) writeTo(w *rawjson.Writer) {
	w.Open('{').Key("id").Text(c.ID)
	writeText(w, "parent", c.Parent)
	w.Key("source").Text(c.Source).Key("step").Int(int64(c.Step))
	writeTexts(w, "next", c.Next)
	writeRaw(w, "tasks", c.Tasks)
	writeText(w, "remote", c.Remote)
	writeText(w, "run_id", c.RunID)
	writeRaw(w, "metadata", c.Metadata)
	writeRaw(w, "facts", c.Facts)
	writeText(w, "as_node", c.AsNode)
	writeText(w, "remote_thread", c.RemoteThread)
	w.Close('}')
}

func (o *Outcome) writeTo(w *rawjson.Writer) {
	w.Open('{')
	writeText(w, "status", string(o.Status))
	writeFlag(w, "parked", o.Parked)
	writeFlag(w, "cancelled", o.Cancelled)
	writeText(w, "reason", o.Reason)
	if o.Fault != nil {
		w.Key("fault").Encode(o.Fault)
	}
	if len(o.Interrupts) > 0 {
		w.Key("interrupts").Encode(o.Interrupts)
	}
	w.Close('}')
}

// The following functions write a member unless it is empty.

func writeText(w *rawjson.Writer, key, s string) {
	if s != "" {
		w.Key(key).Text(s)
	}
}

func writeTexts(w *rawjson.Writer, key string, list []string) {
	if len(list) > 0 {
		w.Key(key).Texts(list)
	}
}

func writeFlag(w *rawjson.Writer, key string, set bool) {
	if set {
		w.Key(key).Bool(true)
	}
}

func writeNumber(w *rawjson.Writer, key string, n int64) {
	if n != 0 {
		w.Key(key).Int(n)
	}
}

func writeRaw(w *rawjson.Writer, key string, v json.RawMessage) {
	if len(v) > 0 {
		w.Key(key).Raw(v, "null")
	}
}
