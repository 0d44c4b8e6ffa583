package backend

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/apbridge/apbridge/adapter/sse"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// interruptKey is the member under which LangGraph puts questions into
// updates and values frames.
const interruptKey = "__interrupt__"

// frame turns one frame of the stream into at most one event, or two for an
// updates frame that also asks.
func (s *session) frame(f sse.Event) error {
	if f.Name == "" || len(f.Data) == 0 || f.Name == "end" {
		return nil // heartbeats, and the end of older servers
	}
	if !rawjson.Valid(f.Data) {
		return s.badFrame(f.Name, "it is not valid JSON")
	}
	s.frames++
	name, ns := frameName(f.Name)
	head := mapping.Head{NS: ns, UpstreamID: f.ID}
	if f.ID != "" {
		s.lastID = f.ID
	}
	if len(ns) > 0 {
		return s.nested(name, head, f.Data)
	}
	switch name {
	case "metadata":
		return s.metadataFrame(f.Data)
	case "values":
		return s.valuesFrame(head, f.Data)
	case "checkpoints":
		return s.checkpointFrame(head, f.Data)
	case "updates":
		return s.updatesFrame(head, f.Data)
	case "error":
		return s.errorFrame(f.Data)
	case "tasks":
		s.over = false
		if begins(f.Data) {
			s.made.task()
		}
		s.noteAskers(f.Data)
	}
	return s.keep(name, head, f.Data)
}

// frameName takes "mode|ns1|ns2" apart.
func frameName(name string) (mode string, ns []string) {
	parts := strings.Split(name, "|")
	if len(parts) == 1 {
		return name, nil
	}
	return parts[0], parts[1:]
}

// nested is a frame of a subgraph. It changes nothing at the root, so states
// and questions stay the frames they are.
func (s *session) nested(mode string, head mapping.Head, data json.RawMessage) error {
	if mode == "updates" {
		if members, ok := membersOf(data); ok && len(members) > 0 && !bytes.Contains(data, []byte(interruptKey)) {
			head.Node, data = nodeOf(members, data)
			return s.emit(mapping.Event{Kind: mapping.KindUpdate, Head: head, Data: data})
		}
	}
	if (mode == "updates" || mode == "values") && bytes.Contains(data, []byte(interruptKey)) {
		s.hold(s.kept(mode, head, data))
		return nil
	}
	return s.keep(mode, head, data)
}

// hold keeps an event back until the run has ended. Clients leave at a frame with
// __interrupt__ (RemoteGraph also at one of a subgraph) and go on at once.
func (s *session) hold(ev mapping.Event) {
	ev.Head.UpstreamID, ev.WithEnd = "", true // a stream that breaks is gone back to behind what was logged
	s.held = append(s.held, ev)
}

// keep passes on a frame whose meaning the bridge does not need.
func (s *session) keep(mode string, head mapping.Head, data json.RawMessage) error {
	return s.emit(s.kept(mode, head, data))
}

func (s *session) kept(mode string, head mapping.Head, data json.RawMessage) mapping.Event {
	if mode == "custom" {
		return mapping.Event{Kind: mapping.KindCustom, Head: head, Data: data}
	}
	ev := mapping.Event{Kind: mapping.KindChunk, Head: head, Data: s.own(data)}
	switch {
	case mode == "debug":
		ev.Head.Name, ev.Data = mode, s.ownPoints(len(head.NS) == 0, ev.Data)
	case mode == "messages" && isTuple(data):
		ev.Kind = mapping.KindDelta
	default:
		ev.Head.Name = mode
	}
	return ev
}

func isTuple(data json.RawMessage) bool {
	var pair []json.RawMessage
	return json.Unmarshal(data, &pair) == nil && len(pair) == 2
}

// metadataFrame tells the run's id, where the header did not.
func (s *session) metadataFrame(data json.RawMessage) error {
	var m struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return s.badFrame("metadata", jsonComplaint(err))
	}
	return s.began(m.RunID)
}

// valuesFrame is the whole state. With a question it is the question alone, or
// in newer servers the state and the question; the updates frame has asked it.
func (s *session) valuesFrame(head mapping.Head, data json.RawMessage) error {
	if bytes.Contains(data, []byte(`"`+interruptKey+`"`)) {
		members, ok := membersOf(data)
		rest := without(members, interruptKey)
		switch {
		case ok && len(rest) == 0:
			return s.stoppedAtNode("values", head, data)
		case ok && len(rest) < len(members):
			data = objectOf(rest)
		}
	}
	if !isObject(data) {
		return s.badFrame("values", "it is not an object")
	}
	head.Name, head.Full = "values", true
	return s.emit(mapping.Event{Kind: mapping.KindState, Head: head, Data: data})
}

// checkpointFrame is the state at a checkpoint, with what comes next. The
// short form, which servers send beside values, has no state: it is kept.
func (s *session) checkpointFrame(head mapping.Head, data json.RawMessage) error {
	cp, err := checkpointOf(data)
	if err != nil {
		return s.badFrame("checkpoints", jsonComplaint(err))
	}
	if cp.Values == nil {
		return s.keep("checkpoints", head, data)
	}
	if !isObject(cp.Values) {
		return s.badFrame("checkpoints", "field values is not an object")
	}
	var meta checkpointMeta
	if err := json.Unmarshal(cp.Metadata, &meta); err != nil {
		return s.badFrame("checkpoints", "field metadata: "+jsonComplaint(err))
	}
	s.checkpoints++
	s.step = meta.Step
	s.told = len(cp.Next) == 0
	s.over = s.told && meta.Source == "loop"
	s.made.checkpoint(len(cp.Next))
	head.Name, head.Full, head.Next = "checkpoints", true, nonNil(cp.Next)
	head.Checkpoint = &mapping.Checkpoint{ID: s.pointID(), Source: orElse(meta.Source, "loop"), Step: meta.Step,
		Next: head.Next, RunID: s.t.Run.ID, Metadata: s.own(cp.Metadata)}
	return s.emit(mapping.Event{Kind: mapping.KindState, Head: head, Data: cp.Values})
}

// checkpointOf reads a checkpoint, without going over its values more than once;
// encoding/json says what is wrong with one that cannot be read. The values are parts
// of data.
func checkpointOf(data json.RawMessage) (cp checkpointWire, err error) {
	var next json.RawMessage
	whole := rawjson.EachMember(data, func(name rawjson.Quoted, value json.RawMessage) {
		switch name.Text() {
		case "values":
			cp.Values = value
		case "metadata":
			cp.Metadata = value
		case "next":
			next = value
		}
	})
	if whole == nil && (next == nil || json.Unmarshal(next, &cp.Next) == nil) {
		return cp, nil
	}
	cp = checkpointWire{} // its values are parts of data, which would be written over
	err = json.Unmarshal(data, &cp)
	return cp, err
}

// updatesFrame is what one node put out, or several of one superstep, or a
// question. The delta of one node is the event's data as it came; several stay
// together in one event, whose node is their names joined by "+" and whose
// data is the whole object. A node with "+" in its own name is written that
// way too, so that a reader can tell.
func (s *session) updatesFrame(head mapping.Head, data json.RawMessage) error {
	members, ok := membersOf(data)
	if !ok {
		return s.badFrame("updates", "it is not an object")
	}
	question, asks := find(members, interruptKey)
	nodes := without(members, interruptKey, "__metadata__")
	if len(nodes) > 0 {
		if len(nodes) < len(members) {
			data = objectOf(nodes)
		}
		if err := s.update(head, nodes, data); err != nil {
			return err
		}
	}
	if asks {
		return s.question(head, question)
	}
	return nil
}

func (s *session) update(head mapping.Head, nodes []rawjson.Member, data json.RawMessage) error {
	if err := s.mayMake(); err != nil {
		return err
	}
	s.over = false
	head.Node, data = nodeOf(nodes, data)
	if !emptyDelta(data) {
		s.outputs++
	}
	return s.emit(mapping.Event{Kind: mapping.KindUpdate, Head: head, Data: data})
}

// nodeOf is the node and data of an update event.
func nodeOf(nodes []rawjson.Member, whole json.RawMessage) (string, json.RawMessage) {
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = n.Name
	}
	node := strings.Join(names, "+")
	if len(nodes) == 1 && !strings.Contains(node, "+") {
		return node, nodes[0].Value
	}
	return node, whole
}

func emptyDelta(data json.RawMessage) bool {
	text := string(bytes.TrimSpace(data))
	return text == "null" || text == "{}" || text == "[]"
}

// question is the value of __interrupt__. It is told when the run has ended: a client that is
// shown a question may answer at once, while the rest of its superstep still runs. An
// empty list says that the graph was stopped before or after a node, as the client asked.
func (s *session) question(head mapping.Head, raw json.RawMessage) error {
	var list []interruptWire
	if err := json.Unmarshal(raw, &list); err != nil {
		return s.badFrame("updates", "field "+interruptKey+": "+jsonComplaint(err))
	}
	if len(list) == 0 {
		return s.stoppedAtNode("updates", head, objectOf([]rawjson.Member{{Name: interruptKey, Value: raw}}))
	}
	for i := range list {
		head.Interrupts = append(head.Interrupts, s.interrupt(list[i], i))
	}
	s.asked, s.told = append(s.asked, head.Interrupts...), true
	s.hold(mapping.Event{Kind: mapping.KindInterrupt, Head: head})
	return nil
}

func (s *session) interrupt(w interruptWire, i int) mapping.Interrupt {
	id := orElse(w.ID, w.OldID)
	if id == "" {
		id = mapping.InterruptID(s.t.Run.ID, len(s.asked)+i)
	}
	return mapping.Interrupt{ID: id, Value: orNull(w.Value), Task: s.askers[id], NS: w.NS, When: w.When}
}

// stoppedAtNode is a frame that says that the graph was stopped at a node,
// without a question. Where the client asked for that it is passed on as it
// came; in lockstep it is the bridge that asked.
func (s *session) stoppedAtNode(mode string, head mapping.Head, data json.RawMessage) error {
	if mode == "updates" {
		s.paused, s.told = true, true
	}
	if !s.t.OneStep && s.paused {
		s.hold(s.kept(mode, head, data))
	}
	return nil
}

// noteAskers remembers which state task asks which question.
func (s *session) noteAskers(data json.RawMessage) {
	var task taskWire
	if !bytes.Contains(data, []byte(`"interrupts":[{`)) || json.Unmarshal(data, &task) != nil {
		return
	}
	for _, w := range task.Interrupts {
		s.askers[orElse(w.ID, w.OldID)] = task.ID
	}
}

// errorFrame ends the run. Its data is {error, message}, or a text where the
// server speaks of the stream itself.
func (s *session) errorFrame(data json.RawMessage) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		if strings.Contains(text, "not found") {
			return s.lost("run")
		}
		return s.failed(errorWire{Message: text})
	}
	var e errorWire
	if err := json.Unmarshal(data, &e); err != nil {
		return s.badFrame("error", jsonComplaint(err))
	}
	return s.failed(e)
}

func (s *session) badFrame(name, complaint string) error {
	return &mapping.Error{Class: mapping.Upstream, Code: mapping.CodeBadUpstream, Err: errBadAnswer,
		Message: fmt.Sprintf("A %q event of agent %q cannot be used: %s.", name, s.b.up.Name, complaint)}
}
