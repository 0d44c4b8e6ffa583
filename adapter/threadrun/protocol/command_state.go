package protocol

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// stateGet returns the newest state of a namespace, or some of its keys.
func (c *command) stateGet() (func(w *writer), error) {
	ns, err := c.namespace()
	if err != nil {
		return nil, err
	}
	keys, ok := textsOf(c.get("keys"))
	if !ok && c.get("keys") != nil {
		return nil, invalid("keys must be a list of strings.")
	}
	values, checkpoint, err := c.newestState(ns)
	if err != nil {
		return nil, err
	}
	if ok {
		values = only(values, keys)
	}
	return func(w *writer) {
		w.Key("values").Raw(values, "{}")
		if checkpoint != "" {
			w.object("checkpoint", func() { w.text("id", checkpoint).text("ns", ns) })
		}
	}, nil
}

// newestState returns the state of the agent's graph, or of an inner graph, with the id of its checkpoint.
func (c *command) newestState(ns string) (values json.RawMessage, checkpoint string, err error) {
	if ns == "" {
		st, err := c.s.Service.GetStateWithTasks(c.ctx, c.thread, "")
		return st.Values, st.Checkpoint, err
	}
	inner, err := c.s.Service.GetInnerState(c.ctx, c.thread, adapter.InnerPoint{NS: ns}, false)
	if err == nil && inner == nil {
		err = noNamespace(ns)
	}
	return member(inner, "values"), rawjson.GetText(member(inner, "checkpoint"), "checkpoint_id"), err
}

func noNamespace(ns string) error {
	return mapping.Errorf(mapping.NotFound, codeNamespace, "The thread has no state for the namespace %s.", ns)
}

// only returns an object with just the requested members.
func only(object json.RawMessage, keys []string) json.RawMessage {
	w := &writer{spelling: Snake}
	w.open()
	_ = rawjson.EachMember(object, func(name rawjson.Quoted, value json.RawMessage) {
		if slices.ContainsFunc(keys, name.Is) {
			w.Spliced(name).Raw(value, "null")
		}
	})
	return w.close().Bytes
}

// The default and maximum number of checkpoints in a list.
const (
	usualCheckpoints = 10
	mostCheckpoints  = 1000
)

// stateListCheckpoints lists checkpoints, newest first.
func (c *command) stateListCheckpoints() (func(w *writer), error) {
	q, err := c.history()
	if err != nil {
		return nil, err
	}
	ns, err := c.namespace()
	if err != nil {
		return nil, err
	}
	if ns != "" {
		return c.listInner(ns, q)
	}
	list := []adapter.ThreadState{}
	for st, err := range c.s.Service.StateHistory(c.ctx, c.thread, q) {
		if err != nil {
			return nil, err
		}
		st.Values = nil
		list = append(list, st)
	}
	return func(w *writer) {
		w.Key("checkpoints").Open('[')
		for _, st := range list {
			w.summary(st)
		}
		w.Close(']')
	}, nil
}

// listInner lists the checkpoints of an inner graph.
func (c *command) listInner(ns string, q adapter.HistoryQuery) (func(w *writer), error) {
	list, err := c.s.Service.InnerStateHistory(c.ctx, c.thread, adapter.InnerPoint{NS: ns}, q)
	if err == nil && len(list) == 0 && q.Before == "" {
		err = noNamespace(ns)
	}
	return func(w *writer) {
		w.Key("checkpoints").Open('[')
		for _, st := range list {
			w.open().text("id", rawjson.GetText(member(st, "checkpoint"), "checkpoint_id")).text("timestamp", rawjson.GetText(st, "created_at"))
			w.Key("step").Raw(member(member(st, "metadata"), "step"), "0")
			w.raw("metadata", member(st, "metadata")).close()
		}
		w.Close(']')
	}, err
}

func (c *command) history() (q adapter.HistoryQuery, err error) {
	q.Limit = usualCheckpoints
	if v := c.get("limit"); v != nil {
		n, ok := whole(v)
		if !ok || n == 0 {
			return q, invalid("limit must be a whole number, 1 or greater.")
		}
		q.Limit = int(min(n, mostCheckpoints))
	}
	if q.Before, err = c.text("before", false); err == nil && q.Before != "" && !mapping.IsUUID(q.Before) {
		err = invalid("before must be the id of a checkpoint.")
	}
	return q, err
}

// summary writes a checkpoint (CDDL, CheckpointSummary).
func (w *writer) summary(st adapter.ThreadState) {
	w.open().text("id", st.Checkpoint).text("timestamp", st.CreatedAt.UTC().Format(time.RFC3339Nano))
	w.Key("step").Raw(member(st.Metadata, "step"), "0")
	w.raw("metadata", st.Metadata).close()
}

// agentGetTree returns the tree of graphs of a run, by default of the thread's newest one.
func (c *command) agentGetTree() (func(w *writer), error) {
	id, err := c.text("run_id", false)
	if err != nil {
		return nil, err
	}
	run, err := c.runOr(id)
	if err != nil {
		return nil, err
	}
	tr, status, err := c.s.treeOf(c.ctx, run)
	return func(w *writer) {
		w.Key("tree")
		tr.encode(w, []string{}, status)
	}, err
}
