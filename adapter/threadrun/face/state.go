package face

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/threadrun/face/request"
	"github.com/apbridge/apbridge/adapter/threadrun/face/selection"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/gorilla/mux"
)

var stateKeys = []string{"values", "next", "tasks", "metadata", "created_at", "checkpoint", "parent_checkpoint", "interrupts"}

func (s *server) getState(w http.ResponseWriter, r *http.Request) error {
	return s.serveState(w, r, "")
}

func (s *server) getStateByID(w http.ResponseWriter, r *http.Request) error {
	id := strings.ToLower(mux.Vars(r)["checkpoint_id"])
	if !mapping.IsUUID(id) {
		return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "checkpoint_id must be a UUID.")
	}
	return s.serveState(w, r, id)
}

func (s *server) serveState(w http.ResponseWriter, r *http.Request, checkpoint string) error {
	thread, err := threadOf(r)
	if err != nil {
		return err
	}
	q := request.QueryOf(r)
	deep := q.Flag("subgraphs")
	set, err := selection.OfState(q.Texts("select"), stateKeys...)
	if err := cmp.Or(q.Err(), err); err != nil {
		return err
	}
	return s.replyState(w, r, thread, checkpoint, deep && set.Has("tasks"), set)
}

func (s *server) replyState(w http.ResponseWriter, r *http.Request, thread, checkpoint string, deep bool, set selection.State) error {
	read := s.svc.GetState
	switch {
	case deep:
		read = s.svc.GetDeepState
	case set.Has("tasks"):
		read = s.svc.GetStateWithTasks
	}
	st, err := read(r.Context(), thread, checkpoint)
	if err != nil {
		return err
	}
	var e rawjson.Writer
	set.Write(&e, st)
	reply(w, http.StatusOK, e.Bytes)
	return nil
}

// getStateAtCheckpoint responds with the state at the checkpoint in the body.
func (s *server) getStateAtCheckpoint(w http.ResponseWriter, r *http.Request) error {
	thread, err := threadOf(r)
	if err != nil {
		return err
	}
	o, err := s.request(w, r, true)
	if err != nil {
		return err
	}
	at := pointOf(o)
	deep := o.Flag("subgraphs", false)
	set, err := selection.OfState(o.Texts("select"), stateKeys...)
	if err := cmp.Or(o.Err(), err); err != nil {
		return err
	}
	if at.NS != "" {
		return s.replyInnerState(w, r, thread, at, deep && set.Has("tasks"), set)
	}
	return s.replyState(w, r, thread, at.Checkpoint, deep && set.Has("tasks"), set)
}

// replyInnerState responds with the state of an inner graph.
func (s *server) replyInnerState(w http.ResponseWriter, r *http.Request, thread string, at adapter.InnerPoint, deep bool, set selection.State) error {
	st, err := s.svc.GetInnerState(r.Context(), thread, at, deep)
	if err != nil {
		return err
	}
	var e rawjson.Writer
	if st == nil {
		set.Write(&e, adapter.ThreadState{ThreadID: thread, Next: []string{}})
	} else {
		set.Pick(&e, st)
	}
	reply(w, http.StatusOK, e.Bytes)
	return nil
}

// pointOf reads a checkpoint: checkpoint_id, or checkpoint {thread_id, checkpoint_ns, checkpoint_id, checkpoint_map}.
// Without an id it is the newest. With a namespace it is a checkpoint of an inner graph.
func pointOf(o *request.Fields) adapter.InnerPoint {
	at := adapter.InnerPoint{Checkpoint: o.UUID("checkpoint_id")}
	c := o.Sub("checkpoint")
	if c == nil {
		return at
	}
	at.NS = c.Text("checkpoint_ns")
	inner := c.UUID("checkpoint_id")
	if at.NS != "" && inner == "" {
		if ids := c.Sub("checkpoint_map"); ids != nil {
			inner = ids.UUID(at.NS)
		}
	}
	at.Checkpoint = cmp.Or(at.Checkpoint, inner)
	return at
}

// checkpointOf reads a checkpoint of the agent's own graph. "" is the head.
func checkpointOf(o *request.Fields) string {
	at := pointOf(o)
	if at.NS != "" {
		o.Refuse("checkpoint.checkpoint_ns", "must be empty here: only a checkpoint of the agent's own graph can be named")
	}
	return at.Checkpoint
}

func (s *server) updateState(w http.ResponseWriter, r *http.Request) error {
	thread, err := threadOf(r)
	if err != nil {
		return err
	}
	o, err := s.request(w, r, true)
	if err != nil {
		return err
	}
	at := pointOf(o)
	u := adapter.StateUpdate{AsNode: o.Text("as_node"), CheckpointID: at.Checkpoint, IdempotencyKey: r.Header.Get(adapter.IdempotencyKeyHeader)}
	u.Values, u.Then = updatesOf(o, "values")
	if err := o.Err(); err != nil {
		return err
	}
	if at.NS != "" {
		return s.updateInnerState(w, r, thread, at, u)
	}
	cp, err := s.svc.UpdateState(r.Context(), thread, u)
	if err != nil {
		return err
	}
	var e rawjson.Writer
	e.Open('{').Key("checkpoint").Open('{').Key("thread_id").Text(thread).Key("checkpoint_ns").Text("")
	e.Key("checkpoint_id").Text(cp.ID).Close('}').Close('}')
	reply(w, http.StatusOK, e.Bytes)
	return nil
}

// updateInnerState updates the state of an inner graph.
func (s *server) updateInnerState(w http.ResponseWriter, r *http.Request, thread string, at adapter.InnerPoint, u adapter.StateUpdate) error {
	made, err := s.svc.UpdateInnerState(r.Context(), thread, at, u)
	if err != nil {
		return err
	}
	var e rawjson.Writer
	e.Open('{').Key("checkpoint").Raw(made, "null").Close('}')
	reply(w, http.StatusOK, e.Bytes)
	return nil
}

// updatesOf reads a member that is an object or a list of objects. LangGraph's Python SDK declares the values of
// update_state as dict | Sequence[dict].
func updatesOf(o *request.Fields, name string) (first json.RawMessage, then []json.RawMessage) {
	if rawjson.Kind(o.Get(name)) != '[' {
		return o.Object(name), nil
	}
	list := rawjson.ElementsOf(o.Get(name))
	for i, raw := range list {
		o.Element(name, i, raw)
	}
	if len(list) == 0 {
		return nil, nil
	}
	return list[0], list[1:]
}

func (s *server) getHistory(w http.ResponseWriter, r *http.Request) error {
	q := request.QueryOf(r)
	h := adapter.HistoryQuery{Limit: q.Whole("limit", 10, 1, 1000), Before: strings.ToLower(q.Text("before"))}
	if h.Before != "" && !mapping.IsUUID(h.Before) {
		q.Refuse("before", "must be a checkpoint's UUID")
	}
	set, err := selection.OfState(q.Texts("select"), stateKeys...)
	if err := cmp.Or(q.Err(), err); err != nil {
		return err
	}
	h.Tasks = set.Has("tasks")
	return s.replyHistory(w, r, h, set)
}

func (s *server) searchHistory(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, false)
	if err != nil {
		return err
	}
	at := pointOf(o)
	h := adapter.HistoryQuery{
		Limit:    o.Whole("limit", 10, 1, 1000),
		Metadata: o.Object("metadata"),
		Before:   beforeOf(o),
		At:       at.Checkpoint,
	}
	set, err := selection.OfState(o.Texts("select"), stateKeys...)
	if err := cmp.Or(o.Err(), err); err != nil {
		return err
	}
	if at.NS != "" {
		return s.replyInnerHistory(w, r, at, h, set)
	}
	h.Tasks = set.Has("tasks")
	return s.replyHistory(w, r, h, set)
}

// replyInnerHistory responds with the states of an inner graph.
func (s *server) replyInnerHistory(w http.ResponseWriter, r *http.Request, at adapter.InnerPoint, q adapter.HistoryQuery, set selection.State) error {
	thread, err := threadOf(r)
	if err != nil {
		return err
	}
	list, err := s.svc.InnerStateHistory(r.Context(), thread, at, q)
	if err != nil {
		return err
	}
	var e rawjson.Writer
	e.Open('[')
	for _, st := range list {
		set.Pick(&e, st)
	}
	e.Close(']')
	reply(w, http.StatusOK, e.Bytes)
	return nil
}

// beforeOf reads before, which is a checkpoint id, {checkpoint_id} or {configurable: {checkpoint_id}}.
func beforeOf(o *request.Fields) string {
	switch v := o.Get("before"); rawjson.Kind(v) {
	case 0, '"':
		return o.UUID("before")
	case '{':
		in := o.Sub("before")
		if c := in.Sub("configurable"); c != nil {
			in = c
		}
		return in.UUID("checkpoint_id")
	default:
		o.Refuse("before", "must be a checkpoint or its id, not %s", request.KindName(v))
		return ""
	}
}

func (s *server) replyHistory(w http.ResponseWriter, r *http.Request, q adapter.HistoryQuery, set selection.State) error {
	thread, err := threadOf(r)
	if err != nil {
		return err
	}
	a := newAnswer(w)
	a.Open('[')
	for st, err := range s.svc.StateHistory(r.Context(), thread, q) {
		if err != nil {
			return s.breakOff(a, r, err)
		}
		set.Write(&a.Writer, st)
		if a.spill() != nil {
			return nil
		}
	}
	a.Close(']')
	a.sendRest()
	return nil
}
