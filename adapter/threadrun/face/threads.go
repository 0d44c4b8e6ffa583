package face

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/threadrun/face/render"
	"github.com/apbridge/apbridge/adapter/threadrun/face/request"
	"github.com/apbridge/apbridge/adapter/threadrun/face/selection"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
)

var threadStatuses = []string{"idle", "busy", "interrupted", "error"}

// threadKeys lists the members that select may name. ThreadSelectField of the SDKs also has context, which belongs to
// runs here. If it were accepted, threads would appear to have no context.
var threadKeys = []string{"thread_id", "created_at", "updated_at", "state_updated_at", "metadata", "status", "config", "values", "interrupts", "ttl", "messages", "error"}

// ThreadSortBy of the SDKs has updated_at and state_updated_at. The bridge sorts by the same time for both.
var threadSorts = []request.Sort{
	{Word: "thread_id", By: mapping.SortByID}, {Word: "status", By: mapping.SortByStatus}, {Word: "created_at", By: mapping.SortByCreated},
	{Word: "updated_at", By: mapping.SortByUpdated}, {Word: "state_updated_at", By: mapping.SortByUpdated},
}

func (s *server) createThread(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, false)
	if err != nil {
		return err
	}
	n := adapter.ThreadRequest{
		ID:         o.UUID("thread_id"),
		Metadata:   o.Object("metadata"),
		OrGet:      o.Enum("if_exists", "raise", "do_nothing") == "do_nothing",
		Supersteps: superstepsOf(o),

		IdempotencyKey: r.Header.Get(adapter.IdempotencyKeyHeader),
	}
	if ttl, keepLatest := ttlOf(o); ttl != nil {
		n.TTL, n.KeepLatest = *ttl, keepLatest
	}
	if err := o.Err(); err != nil {
		return err
	}
	t, err := s.svc.CreateThread(r.Context(), n)
	return replyThread(w, t, err)
}

// superstepsOf reads initial states: [{updates: [{values, as_node}]}].
func superstepsOf(o *request.Fields) []adapter.Superstep {
	var out []adapter.Superstep
	for i, raw := range rawjson.ElementsOf(o.List("supersteps")) {
		step := o.Element("supersteps", i, raw)
		if step == nil {
			return nil
		}
		var ups []adapter.StateUpdate
		for j, raw := range rawjson.ElementsOf(step.List("updates")) {
			if up := step.Element("updates", j, raw); up != nil {
				ups = append(ups, superstepUpdate(up))
			}
		}
		out = append(out, adapter.Superstep{Updates: ups})
	}
	return out
}

// superstepUpdate reads {values, command, as_node}. A non-empty command replaces values, as on a LangGraph server. Its
// goto and resume are refused, because only a graph can execute them.
func superstepUpdate(o *request.Fields) adapter.StateUpdate {
	up := adapter.StateUpdate{AsNode: o.Text("as_node")}
	up.Values, up.Then = updatesOf(o, "values")
	if c := o.Sub("command"); c != nil {
		update, jumps := c.Object("update"), request.UnlessEmpty(c.Get("goto")) != nil || c.Get("resume") != nil
		if update != nil || jumps {
			up.Values, up.Then = update, nil
		}
		if jumps {
			up.Command = o.Object("command")
		}
	}
	return up
}

// ttlOf reads a time to live: a number of minutes, or {ttl, strategy}. The default strategy is to delete the thread.
func ttlOf(o *request.Fields) (d *time.Duration, keepLatest bool) {
	v := o.Get("ttl")
	if rawjson.Kind(v) == '{' {
		in := o.Sub("ttl")
		keepLatest = in.Enum("strategy", render.TTLDelete, render.TTLKeepLatest) == render.TTLKeepLatest
		if in.Get("strategy") != nil && in.Get("ttl") == nil {
			in.Refuse("ttl", "is required with a strategy, which has no effect without a time")
		}
		return request.Minutes(in, "ttl"), keepLatest
	}
	return request.Minutes(o, "ttl"), false
}

// threadFault returns the failure of a thread's last run if the status of the thread is error.
func (s *server) threadFault(ctx context.Context, t mapping.Thread) (*mapping.Fault, error) {
	if t.Status != mapping.ThreadError {
		return nil, nil
	}
	last, err := adapter.All(s.svc.ListRuns(ctx, mapping.RunQuery{ThreadID: t.ID, Limit: 1}))
	if err != nil || len(last) == 0 {
		return nil, err
	}
	return last[0].Fault, nil
}

func replyThread(w http.ResponseWriter, t mapping.Thread, err error) error {
	if err != nil {
		return err
	}
	var e rawjson.Writer
	if err := render.Thread(&e, t, render.ThreadParts{Messages: true}); err != nil {
		return err
	}
	reply(w, http.StatusOK, e.Bytes)
	return nil
}

func (s *server) getThread(w http.ResponseWriter, r *http.Request) error {
	id, err := threadOf(r)
	if err != nil {
		return err
	}
	q := request.QueryOf(r)
	parts := q.Texts("include")
	for _, name := range parts {
		if name != "ttl" {
			q.Refuse("include", "names the unknown part "+strconv.Quote(name)+"; only ttl is supported")
		}
	}
	if err := q.Err(); err != nil {
		return err
	}
	t, err := s.svc.GetThread(r.Context(), id)
	if err != nil {
		return err
	}
	fault, err := s.threadFault(r.Context(), t)
	if err != nil {
		return err
	}
	var e rawjson.Writer
	if err := render.Thread(&e, t, render.ThreadParts{Messages: true, TTL: len(parts) > 0, Fault: fault}); err != nil {
		return err
	}
	reply(w, http.StatusOK, e.Bytes)
	return nil
}

func (s *server) patchThread(w http.ResponseWriter, r *http.Request) error {
	id, err := threadOf(r)
	if err != nil {
		return err
	}
	o, err := s.request(w, r, true)
	if err != nil {
		return err
	}
	p := adapter.ThreadPatch{Metadata: o.Object("metadata"), Values: o.Object("values")}
	p.TTL, p.KeepLatest = ttlOf(o)
	p.Checkpoint = checkpointOf(o)
	messages := o.List("messages")
	if err := o.Err(); err != nil {
		return err
	}
	if p.Messages, err = s.neutralMessages(messages); err != nil {
		return err
	}
	t, err := s.svc.PatchThread(r.Context(), id, p)
	if err == nil && strings.Contains(r.Header.Get("Prefer"), "return=minimal") {
		w.Header().Set("Preference-Applied", "return=minimal")
		noContent(w)
		return nil
	}
	return replyThread(w, t, err)
}

// neutralMessages reads messages of the Agent Protocol. It assigns an id to messages without one.
func (s *server) neutralMessages(messages json.RawMessage) ([]json.RawMessage, error) {
	if messages == nil {
		return nil, nil
	}
	if err := rule.CheckMessages(rawjson.CountElements(messages), s.face.Limits.Messages); err != nil {
		return nil, err
	}
	in, err := rule.ParseInput(nil, messages, mapping.NewID())
	if err != nil {
		return nil, err
	}
	return in.Messages, nil
}

func (s *server) deleteThread(w http.ResponseWriter, r *http.Request) error {
	id, err := threadOf(r)
	if err != nil {
		return err
	}
	if err := s.svc.DeleteThread(r.Context(), id); err != nil {
		return err
	}
	noContent(w)
	return nil
}

func (s *server) copyThread(w http.ResponseWriter, r *http.Request) error {
	id, err := threadOf(r)
	if err != nil {
		return err
	}
	t, err := s.svc.CopyThread(r.Context(), id, r.Header.Get(adapter.IdempotencyKeyHeader))
	return replyThread(w, t, err)
}

// threadQuery reads the filters of search and count.
func threadQuery(o *request.Fields) (q adapter.ThreadSearch) {
	q.Metadata, q.Values = o.Object("metadata"), o.Object("values")
	q.Status = mapping.ThreadStatus(o.Enum("status", threadStatuses...))
	for _, id := range o.Texts("ids") {
		if id = strings.ToLower(id); !mapping.IsUUID(id) {
			o.Refuse("ids", "must be a list of UUIDs")
		}
		q.IDs = append(q.IDs, id)
	}
	return q
}

func (s *server) searchThreads(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, false)
	if err != nil {
		return err
	}
	q, p := threadQuery(o), request.PageOf(o, 10)
	q.SortBy, q.Asc = request.SortOf(o, threadSorts...)
	q.Limit, q.Offset = p.Limit, p.Offset
	set, err := selection.Of(o.Texts("select"), threadKeys...)
	wanted := selection.ReadExtract(o, threadKeys)
	if err := cmp.Or(o.Err(), err); err != nil {
		return err
	}
	q.NoValues = set != nil && !set["values"] && !set["messages"] && !slices.ContainsFunc(wanted, selection.Extract.WithValues)
	list, total, err := s.svc.SearchThreads(r.Context(), q)
	if err != nil {
		return err
	}
	paginate(w, p, min(p.Limit, max(total-p.Offset, 0)), total)
	a := newAnswer(w)
	if err := s.writeThreads(a, r, list, set, wanted); err != nil {
		return err
	}
	a.sendRest()
	return nil
}

// usuallyListed is the default number of threads or assistants in the response to a GET.
const usuallyListed = 100

// listedKeys are the members of a thread in the response to a GET, none of which needs the state.
var listedKeys = selection.Set{
	"thread_id": true, "created_at": true, "updated_at": true, "state_updated_at": true, "metadata": true, "status": true, "config": true, "interrupts": true,
}

// listThreads serves GET /threads as Aegra does, with paging.
func (s *server) listThreads(w http.ResponseWriter, r *http.Request) error {
	q := request.QueryOf(r)
	p := request.PageOf(q, usuallyListed)
	if err := q.Err(); err != nil {
		return err
	}
	all := adapter.ThreadSearch{NoValues: true}
	all.Limit, all.Offset = p.Limit, p.Offset
	list, total, err := s.svc.SearchThreads(r.Context(), all)
	if err != nil {
		return err
	}
	paginate(w, p, min(p.Limit, max(total-p.Offset, 0)), total)
	a := newAnswer(w)
	a.Open('{').Key("threads")
	if err := s.writeThreads(a, r, list, listedKeys, nil); err != nil {
		return err
	}
	a.Key("total").Int(int64(total)).Close('}')
	a.sendRest()
	return nil
}

func (s *server) writeThreads(a *answer, r *http.Request, list iter.Seq2[mapping.Thread, error], set selection.Set, wanted []selection.Extract) error {
	a.Open('[')
	for t, err := range list {
		if err == nil {
			err = s.writePickedThread(r.Context(), &a.Writer, t, set, wanted)
		}
		if err != nil {
			return s.breakOff(a, r, err)
		}
		if a.spill() != nil {
			return nil
		}
	}
	a.Close(']')
	return nil
}

// writePickedThread writes the selected members of a thread. It omits messages, time to live and error unless they are
// selected.
func (s *server) writePickedThread(ctx context.Context, e *rawjson.Writer, t mapping.Thread, set selection.Set, wanted []selection.Extract) error {
	var one rawjson.Writer
	asked := func(part string) bool {
		return set[part] || slices.ContainsFunc(wanted, func(x selection.Extract) bool { return x.Within(part) })
	}
	parts := render.ThreadParts{Messages: asked("messages"), TTL: asked("ttl")}
	if asked("error") {
		var err error
		if parts.Fault, err = s.threadFault(ctx, t); err != nil {
			return err
		}
	}
	if err := render.Thread(&one, t, parts); err != nil {
		return err
	}
	if set.Pick(e, one.Bytes); len(wanted) > 0 {
		e.Bytes = e.Bytes[:len(e.Bytes)-1] // removes the closing brace
		e.Key("extracted")
		selection.WriteExtracted(e, one.Bytes, wanted)
		e.Close('}')
	}
	return nil
}

func (s *server) countThreads(w http.ResponseWriter, r *http.Request) error {
	return count(s, w, r, threadQuery, s.svc.CountThreads)
}

func isNotFound(err error) bool { return isClass(err, mapping.NotFound) }

func isClass(err error, c mapping.Class) bool {
	var e *mapping.Error
	return errors.As(err, &e) && e.Class == c
}

// pruneThreads deletes threads, or all their states except the newest. It responds with the number of threads from
// which something was deleted. Threads with an active run keep their states. Neither they nor missing threads are
// counted. Source: threads.prune of the LangGraph SDKs.
func (s *server) pruneThreads(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, true)
	if err != nil {
		return err
	}
	strategy := o.Enum("strategy", "delete", "keep_latest")
	ids := o.Texts("thread_ids")
	if o.Get("thread_ids") == nil {
		o.Refuse("thread_ids", "is required")
	}
	if most := s.face.Limits.MaxPruneThreads; most > 0 && len(ids) > most {
		o.Refuse("thread_ids", "contains %d threads, but limits.max_prune_threads of this bridge allows %d at a time", len(ids), most)
	}
	for i, id := range ids {
		if ids[i] = strings.ToLower(id); !mapping.IsUUID(ids[i]) {
			o.Refuse("thread_ids", "must be a list of UUIDs")
		}
	}
	if err := o.Err(); err != nil {
		return err
	}
	remove := s.pruneHistory
	if strategy != "keep_latest" {
		remove = s.pruneThread
	}
	n, err := prune(r.Context(), ids, remove)
	if err != nil {
		return err
	}
	var e rawjson.Writer
	reply(w, http.StatusOK, e.Open('{').Key("pruned_count").Int(int64(n)).Close('}').Bytes)
	return nil
}

func prune(ctx context.Context, ids []string, remove func(context.Context, string) (bool, error)) (n int, err error) {
	for _, id := range ids {
		switch did, err := remove(ctx, id); {
		case err != nil && !isNotFound(err):
			return n, err
		case did:
			n++
		}
	}
	return n, nil
}

func (s *server) pruneThread(ctx context.Context, id string) (bool, error) {
	err := s.svc.DeleteThread(ctx, id)
	return err == nil, err
}

func (s *server) pruneHistory(ctx context.Context, id string) (bool, error) {
	n, err := s.svc.DeleteHistory(ctx, id)
	return n > 0, err
}

// getThreadStorage reports the space that a thread uses in the database. It is an extension of this bridge.
func (s *server) getThreadStorage(w http.ResponseWriter, r *http.Request) error {
	id, err := threadOf(r)
	if err != nil {
		return err
	}
	use, err := s.svc.ThreadStorage(r.Context(), id)
	if err != nil {
		return err
	}
	return replyJSON(w, use)
}
