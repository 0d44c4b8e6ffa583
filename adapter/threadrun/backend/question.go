package backend

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// question handles the value of __interrupt__. The question is yielded when the run has ended, because a client may
// answer at once, while the rest of the superstep is still running. An empty list means that the graph stopped before
// or after a node, as the client requested.
func (tr *translator) question(head mapping.Head, raw json.RawMessage) error {
	var list []interruptWire
	if err := json.Unmarshal(raw, &list); err != nil {
		return tr.badFrame("updates", "field "+interruptKey+": "+jsonProblem(err))
	}
	if len(list) == 0 {
		return tr.stoppedAtNode("updates", head, objectOf([]rawjson.Member{{Name: interruptKey, Value: raw}}))
	}
	for _, w := range list {
		q := tr.asks(w)
		head.Interrupts, tr.told.asked = append(head.Interrupts, q), append(tr.told.asked, q)
	}
	tr.told.tellEnd()
	tr.keepBack(mapping.Event{Kind: mapping.KindInterrupt, Head: head})
	return nil
}

func (tr *translator) asks(w interruptWire) mapping.Interrupt {
	id := cmp.Or(w.id(), mapping.InterruptID(tr.t.Run.ID, len(tr.told.asked)))
	return w.question(id, tr.askers[w.id()], tr.within[w.id()])
}

// stoppedAtNode handles a frame for a graph that stopped at a node, without a question. If the client requested that,
// it is passed on unchanged. In lockstep the bridge requested it.
func (tr *translator) stoppedAtNode(mode string, head mapping.Head, data json.RawMessage) error {
	if mode == "updates" {
		tr.told.paused = true
		tr.told.tellEnd()
	}
	if !tr.t.OneStep && tr.told.paused {
		tr.keepBack(tr.kept(mode, head, data))
	}
	return nil
}

// noteAskers records which state task asks which question.
func (tr *translator) noteAskers(data json.RawMessage) {
	var task taskWire
	if !bytes.Contains(data, []byte(`"interrupts":[{`)) || json.Unmarshal(data, &task) != nil {
		return
	}
	for _, w := range task.Interrupts {
		if id := w.id(); id != "" {
			tr.askers[id] = task.ID
		}
	}
}

// noteWithin records which graph asks which question. The frame of the asking graph precedes those of the enclosing
// graphs.
func (tr *translator) noteWithin(ns []string, data json.RawMessage) {
	var frame struct {
		Asked []interruptWire `json:"__interrupt__"`
	}
	if json.Unmarshal(data, &frame) != nil {
		return
	}
	for _, w := range frame.Asked {
		if id := w.id(); id != "" && tr.within[id] == "" {
			tr.within[id] = strings.Join(ns, "|")
		}
	}
}

// keepBack holds an event back until the run has ended, because clients stop reading at a frame with __interrupt__
// (RemoteGraph also at one from a subgraph) and continue the thread at once.
func (tr *translator) keepBack(ev mapping.Event) {
	ev.Head.UpstreamID, ev.WithEnd = "", true // without an id, so that a broken stream is reopened after the logged frames
	tr.told.held = append(tr.told.held, ev)
}

// releaseHeld yields the events that were held back. Then it yields the open questions that no frame of the root has
// asked, such as those of a subgraph.
func (tr *translator) releaseHeld(open []mapping.Interrupt) error {
	asked, within := map[string]bool{}, map[string]string{}
	for _, in := range tr.told.asked {
		asked[in.ID] = true
	}
	for _, in := range open {
		within[in.ID] = in.Within
	}
	rest := slices.DeleteFunc(slices.Clone(open), func(in mapping.Interrupt) bool { return asked[in.ID] })
	if len(rest) > 0 {
		tr.keepBack(mapping.Event{Kind: mapping.KindInterrupt, Head: mapping.Head{Interrupts: rest}})
	}
	for _, ev := range tr.told.held {
		for i, in := range ev.Head.Interrupts {
			ev.Head.Interrupts[i].Within = cmp.Or(in.Within, within[in.ID])
		}
		if err := tr.emit(ev); err != nil {
			return err
		}
	}
	tr.told.held = nil
	return nil
}
