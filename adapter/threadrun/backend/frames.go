package backend

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/apbridge/apbridge/adapter/sse"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
)

// interruptKey is the member for questions in updates and values frames of LangGraph.
const interruptKey = "__interrupt__"

// translator turns frames of an upstream run into events and records the progress that they show.
type translator struct {
	*job
	names  *names
	told   progress
	made   supersteps
	askers map[string]string // interrupt id to state task id
	within map[string]string // interrupt id to the namespace of the graph that asks, if one of its frames was read
}

// replay reads the run's progress from the log.
func (tr *translator) replay() {
	for _, ev := range tr.t.After {
		if l := ev.Head.Link; l != nil {
			tr.replayLink(*l)
		}
		if ev.Kind == mapping.KindChunk && ev.Head.Name == "tasks" && len(ev.Head.NS) == 0 {
			tr.noteAskers(ev.Data)
		}
		tr.told.note(ev)
		tr.made.note(ev)
	}
}

// replayLink adopts a link. It discards the progress of an earlier upstream run.
func (tr *translator) replayLink(l mapping.Link) {
	if l.RemoteRun != tr.link.RemoteRun {
		tr.told.forget()
		clear(tr.askers)
		clear(tr.within)
	}
	tr.link = l
}

// frame turns one frame into at most one event, or into two if an updates frame also asks a question.
func (tr *translator) frame(f sse.Event) error {
	if f.Name == "" || len(f.Data) == 0 {
		return nil // heartbeat
	}
	if f.Name == "end" { // sent by some servers
		tr.told.over = true
		return nil
	}
	if !rawjson.Valid(f.Data) {
		read, ok := tr.b.http.withoutNaN(f.Data)
		if !ok {
			return tr.badFrame(f.Name, "it is not valid JSON")
		}
		f.Data = read
	}
	tr.told.read(f.ID)
	name, ns := frameName(f.Name)
	switch name {
	case "tasks", "debug", "checkpoints":
		f.Data = tr.b.http.hideErrors(f.Data)
	}
	head := mapping.Head{NS: ns, UpstreamID: f.ID}
	if len(ns) > 0 {
		tr.told.wentOn()
		tr.told.worked = true
		return tr.nested(name, head, f.Data)
	}
	switch name {
	case "metadata":
		return tr.metadataFrame(f.Data)
	case "error":
		return tr.errorFrame(f.Data)
	}
	tr.told.wentOn()
	tr.told.worked = true
	switch name {
	case "values":
		return tr.valuesFrame(head, f.Data)
	case "checkpoints":
		return tr.checkpointFrame(head, f.Data)
	case "updates":
		return tr.updatesFrame(head, f.Data)
	case "tasks":
		tr.told.goOn()
		if begins(f.Data) {
			tr.made.task()
		}
		tr.noteAskers(f.Data)
	}
	return tr.keep(name, head, f.Data)
}

// frameName splits "mode|ns1|ns2".
func frameName(name string) (mode string, ns []string) {
	parts := strings.Split(name, "|")
	if len(parts) == 1 {
		return name, nil
	}
	return parts[0], parts[1:]
}

// nested handles a frame of a subgraph. It does not change the root, so states and questions are passed on as frames.
// If subgraphs were requested only for their tokens, custom output of graphs is kept as well, because without that
// request the server sends it at the root.
func (tr *translator) nested(mode string, head mapping.Head, data json.RawMessage) error {
	if rule.InnerTokens(&tr.t.Run.Options) && mode != "messages" && mode != "custom" {
		return nil
	}
	if mode == "updates" {
		if members, ok := membersOf(data); ok && len(members) > 0 && !bytes.Contains(data, []byte(interruptKey)) {
			head.Node, data = nodeOf(members, data)
			return tr.emit(mapping.Event{Kind: mapping.KindUpdate, Head: head, Data: data})
		}
	}
	if (mode == "updates" || mode == "values") && bytes.Contains(data, []byte(interruptKey)) {
		tr.noteWithin(head.NS, data)
		tr.keepBack(tr.kept(mode, head, data))
		return nil
	}
	return tr.keep(mode, head, data)
}

// keep passes on a frame that the bridge does not need to understand.
func (tr *translator) keep(mode string, head mapping.Head, data json.RawMessage) error {
	return tr.emit(tr.kept(mode, head, data))
}

func (tr *translator) kept(mode string, head mapping.Head, data json.RawMessage) mapping.Event {
	if mode == "custom" {
		return mapping.Event{Kind: mapping.KindCustom, Head: head, Data: data}
	}
	ev := mapping.Event{Kind: mapping.KindChunk, Head: head, Data: tr.names.own(data)}
	switch {
	case mode == "debug" || mode == "checkpoints":
		ev.Head.Name, ev.Data = mode, tr.names.ownPoints(mode == "debug" && len(head.NS) == 0, tr.told.step, ev.Data)
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

// metadataFrame reads the run's id if the header did not contain it.
func (tr *translator) metadataFrame(data json.RawMessage) error {
	var m struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return tr.badFrame("metadata", jsonProblem(err))
	}
	return tr.began(m.RunID)
}

// valuesFrame handles the whole state. A frame with a question contains only the question or, from newer servers, also
// the state. The updates frame has already reported the question.
func (tr *translator) valuesFrame(head mapping.Head, data json.RawMessage) error {
	if bytes.Contains(data, []byte(`"`+interruptKey+`"`)) {
		members, ok := membersOf(data)
		rest := without(members, interruptKey)
		switch {
		case ok && len(rest) == 0:
			return tr.stoppedAtNode("values", head, data)
		case ok && len(rest) < len(members):
			data = objectOf(rest)
		}
	}
	if rawjson.Kind(data) != '{' {
		return tr.badFrame("values", "it is not an object")
	}
	head.Name, head.Full = "values", true
	return tr.emit(mapping.Event{Kind: mapping.KindState, Head: head, Data: data})
}

// checkpointFrame handles the state at a checkpoint, with the next tasks. The short form that servers send along with
// values has no state and is passed on.
func (tr *translator) checkpointFrame(head mapping.Head, data json.RawMessage) error {
	cp, err := checkpointOf(data)
	if err != nil {
		return tr.badFrame("checkpoints", jsonProblem(err))
	}
	if cp.Values == nil {
		return tr.keep("checkpoints", head, data)
	}
	if rawjson.Kind(cp.Values) != '{' {
		return tr.badFrame("checkpoints", "field values is not an object")
	}
	var meta checkpointMeta
	if err := json.Unmarshal(cp.Metadata, &meta); err != nil {
		return tr.badFrame("checkpoints", "field metadata: "+jsonProblem(err))
	}
	repeated := tr.repeats(cp, meta)
	tr.told.checkpoint(meta.Step, len(cp.Next), meta.Source == "loop")
	tr.made.checkpoint(len(cp.Next))
	head.Name, head.Full, head.Next = "checkpoints", true, nonNil(cp.Next)
	point := &mapping.Checkpoint{Source: cmp.Or(meta.Source, "loop"), Step: meta.Step, Next: head.Next, Metadata: tr.names.metadata(cp.Metadata)}
	if repeated {
		tr.names.startsAt(tr.t.Run.Base)
		point.Metadata, _ = rawjson.Without(point.Metadata, "run_id") // the agent's id of a different run
		head.Repeated = point
	} else {
		point.ID, point.RunID = tr.names.pointID(), tr.t.Run.ID
		head.Checkpoint = point
	}
	return tr.emit(mapping.Event{Kind: mapping.KindState, Head: head, Data: cp.Values})
}

// repeats reports whether this is the checkpoint from which the run started. Servers send that checkpoint with its
// stored metadata, which names an earlier run or a state update. They send a new checkpoint without a run. The server
// created by createEmbedServer does not store the names of runs. There, the first checkpoint of a run without input is
// a repetition if its state equals the initial one.
func (tr *translator) repeats(cp checkpointWire, meta checkpointMeta) bool {
	if meta.Source == "update" || meta.RunID != "" && tr.link.RemoteRun != "" && meta.RunID != tr.link.RemoteRun {
		return true
	}
	return tr.target.bare && tr.told.checkpoints == 0 && meta.Source == "loop" && len(cp.Next) > 0 &&
		rawjson.IsNull(tr.t.Input.Raw) && tr.t.State != nil && rawjson.Equal(tr.t.State.JSON(), cp.Values)
}

// checkpointOf reads a checkpoint in one pass. Its values are slices of data. If it is unreadable, encoding/json
// provides the error.
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
	cp = checkpointWire{} // encoding/json would overwrite its values, which are slices of data
	err = json.Unmarshal(data, &cp)
	return cp, err
}

// updatesFrame handles the output of one node or several nodes of a superstep, or a question. The delta of a single
// node becomes the event's data unchanged. Several nodes share one event: its node is their names joined with "+", and
// its data is the whole object. A single node with "+" in its name uses the same form, so that readers can distinguish
// the cases.
func (tr *translator) updatesFrame(head mapping.Head, data json.RawMessage) error {
	members, ok := membersOf(data)
	if !ok {
		return tr.badFrame("updates", "it is not an object")
	}
	question, asks := find(members, interruptKey)
	nodes := without(members, interruptKey, "__metadata__")
	if len(nodes) > 0 {
		if len(nodes) < len(members) {
			data = objectOf(nodes)
		}
		if err := tr.update(head, nodes, data); err != nil {
			return err
		}
	}
	if asks {
		return tr.question(head, question)
	}
	return nil
}

func (tr *translator) update(head mapping.Head, nodes []rawjson.Member, data json.RawMessage) error {
	if err := tr.mayMake(); err != nil {
		return err
	}
	tr.told.goOn()
	head.Node, data = nodeOf(nodes, data)
	if !emptyDelta(data) {
		tr.told.outputs++
	}
	return tr.emit(mapping.Event{Kind: mapping.KindUpdate, Head: head, Data: data})
}

// nodeOf returns the node and data of an update event.
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

// errorFrame handles an error frame. Its data is {error, message}, or a string if the error is about the stream. Older
// LangGraph servers also send it for an attempt that they retry, so the server is asked if possible.
func (tr *translator) errorFrame(data json.RawMessage) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		if strings.Contains(text, "not found") {
			return tr.lost("run")
		}
		return tr.failed(errorWire{Message: text})
	}
	var e errorWire
	if err := json.Unmarshal(data, &e); err != nil {
		return tr.badFrame("error", jsonProblem(err))
	}
	return tr.failed(e)
}

func (tr *translator) failed(e errorWire) error {
	if tr.target.plain || tr.link.RemoteRun == "" {
		return &runError{said: e}
	}
	tr.told.fail(e)
	return nil
}

func (tr *translator) badFrame(name, problem string) error {
	return &mapping.Error{Class: mapping.Upstream, Code: mapping.CodeBadUpstream, Err: errBadAnswer,
		Message: fmt.Sprintf("A %q event of agent %q cannot be used: %s.", name, tr.b.up.Name, problem)}
}
