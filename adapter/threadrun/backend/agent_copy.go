package backend

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
)

// This file reads the parts of a thread that only the agent has (adapter.CopyReader).

// statesAsk has the used members of the body of POST /threads/{thread_id}/history.
type statesAsk struct {
	Limit      int             `json:"limit"`
	Before     string          `json:"before,omitempty"`
	Metadata   json.RawMessage `json:"metadata,omitempty"`
	Checkpoint *pointWire      `json:"checkpoint,omitempty"`
}

// stateAsk is the body of POST /threads/{thread_id}/state/checkpoint.
type stateAsk struct {
	Checkpoint pointWire       `json:"checkpoint"`
	Subgraphs  json.RawMessage `json:"subgraphs,omitempty"`
}

// innerUpdate is the body of POST /threads/{thread_id}/state for an inner graph.
type innerUpdate struct {
	Values     json.RawMessage `json:"values"`
	AsNode     string          `json:"as_node,omitempty"`
	Checkpoint pointWire       `json:"checkpoint"`
}

func innerPoint(at adapter.InnerPoint) pointWire { return pointWire{ID: at.Checkpoint, NS: at.NS} }

// Tasks implements adapter.CopyReader.
func (b *backend) Tasks(ctx context.Context, c adapter.Copy, at adapter.Fork, deep bool) (json.RawMessage, error) {
	if err := b.readable(c); err != nil {
		return nil, err
	}
	path := threadPath(c.Link.Remote) + "/state"
	raw, err := b.rootState(ctx, path, deep)
	if err == nil && !isAt(raw, at) { // the agent's thread has changed since, or the checkpoint was never its newest
		var id string
		if id, err = b.checkpointAt(ctx, c, at); err == nil {
			raw, err = b.rootState(ctx, path+"/"+url.PathEscape(id), deep)
		}
	}
	if err == nil && !isAt(raw, at) {
		err = b.lostCheckpoint()
	}
	if err != nil {
		return nil, b.copyError(err)
	}
	read, _ := positionOf(raw)
	o := b.copyOf(ctx, c)
	o.root = pair{read.Checkpoint, c.Checkpoint}
	return o.tasks(rawjson.Get(raw, "tasks")), nil
}

// rootState reads a state of the root graph. If deep is true, it includes the states of the graphs within its tasks.
func (b *backend) rootState(ctx context.Context, path string, deep bool) (raw json.RawMessage, err error) {
	query := ""
	if deep {
		query = "?subgraphs=true"
	}
	err = b.http.getJSON(ctx, path+query, &raw)
	if err == nil && rawjson.Kind(raw) != '{' {
		err = b.http.bad(http.MethodGet, path, "it is not an object")
	}
	return raw, err
}

// positionOf returns the position of a state in the agent's thread.
func positionOf(state json.RawMessage) (at adapter.Fork, meta checkpointMeta) {
	var st stateWire
	_ = json.Unmarshal(state, &st)
	_ = json.Unmarshal(st.Metadata, &meta)
	return adapter.Fork{Checkpoint: st.head(), Run: meta.RunID, Step: meta.Step}, meta
}

// isAt reports whether a state is at the position. Version 1.5.1 of the JavaScript server returns an empty state for a
// checkpoint that it does not have. The server created by createEmbedServer does not name the runs that created its
// checkpoints.
func isAt(state json.RawMessage, at adapter.Fork) bool {
	if isEmpty(state) {
		return false
	}
	got, meta := positionOf(state)
	if at.Checkpoint != "" {
		return got.Checkpoint == at.Checkpoint
	}
	sameRun := got.Run == at.Run || got.Run == "" && meta.Source != "update"
	return sameRun && got.Step == at.Step
}

func isEmpty(state json.RawMessage) bool { return rawjson.IsNull(rawjson.Get(state, "created_at")) }

// mostOfAStep limits the checkpoints that are read to find one by its step. Forks of a thread and updates count the same
// steps.
const mostOfAStep = 10

// checkpointAt returns the agent's id of a checkpoint. A retried run may have several checkpoints for one step. In that
// case the right one is unknown, and the checkpoint counts as lost.
func (b *backend) checkpointAt(ctx context.Context, c adapter.Copy, at adapter.Fork) (string, error) {
	if at.Checkpoint != "" {
		return at.Checkpoint, nil
	}
	step := strconv.Itoa(at.Step)
	list, err := b.states(ctx, c, statesAsk{Limit: mostOfAStep, Metadata: json.RawMessage(`{"run_id":` + string(quoted(at.Run)) + `,"step":` + step + `}`)})
	if err == nil && len(list) == 0 {
		list, err = b.states(ctx, c, statesAsk{Limit: mostOfAStep, Metadata: json.RawMessage(`{"step":` + step + `}`)})
	}
	if err != nil {
		return "", err
	}
	if len(list) == mostOfAStep { // there may be more
		return "", b.lostCheckpoint()
	}
	id := ""
	for _, st := range list {
		switch found, _ := positionOf(st); {
		case found.Checkpoint == "" || !isAt(st, at):
		case id != "":
			return "", b.lostCheckpoint()
		default:
			id = found.Checkpoint
		}
	}
	if id == "" {
		return "", b.lostCheckpoint()
	}
	return id, nil
}

// TaskHistory implements adapter.CopyReader.
func (b *backend) TaskHistory(ctx context.Context, c adapter.Copy, before *adapter.Fork, run string, limit int) ([]adapter.TasksAt, error) {
	if err := b.readable(c); err != nil {
		return nil, err
	}
	ask := statesAsk{Limit: limit}
	if run != "" {
		ask.Metadata = textOf(map[string]json.RawMessage{"run_id": quoted(run)})
	}
	if before != nil {
		id, err := b.checkpointAt(ctx, c, *before)
		if err != nil {
			return nil, b.copyError(err)
		}
		ask.Before = id
	}
	states, err := b.states(ctx, c, ask)
	list, o := make([]adapter.TasksAt, len(states)), b.copyOf(ctx, c)
	for i, st := range states {
		at, meta := positionOf(st)
		list[i] = adapter.TasksAt{Checkpoint: at.Checkpoint, Run: cmp.Or(meta.Ours, meta.RunID), Step: at.Step, Source: meta.Source, Tasks: o.tasks(rawjson.Get(st, "tasks"))}
	}
	return list, b.copyError(err)
}

func (b *backend) states(ctx context.Context, c adapter.Copy, ask statesAsk) (list []json.RawMessage, err error) {
	return list, b.http.askJSON(ctx, threadPath(c.Link.Remote)+"/history", ask, &list)
}

// Inner implements adapter.CopyReader.
func (b *backend) Inner(ctx context.Context, c adapter.Copy, at adapter.InnerPoint, deep bool) (json.RawMessage, error) {
	if err := b.readable(c); err != nil {
		return nil, err
	}
	ask, path := stateAsk{Checkpoint: innerPoint(at)}, threadPath(c.Link.Remote)+"/state/checkpoint"
	if deep {
		ask.Subgraphs = json.RawMessage(`true`)
	}
	var raw json.RawMessage
	err := b.http.askJSON(ctx, path, ask, &raw)
	if deep && upstream.Status(err) == http.StatusBadRequest { // version 1.5.1 of the JavaScript server requires a string
		ask.Subgraphs = json.RawMessage(`"true"`)
		err = b.http.askJSON(ctx, path, ask, &raw)
	}
	if err != nil {
		return nil, b.copyError(err)
	}
	if isEmpty(raw) {
		return nil, nil
	}
	return b.copyOf(ctx, c).state(raw), nil
}

// InnerHistory implements adapter.CopyReader.
func (b *backend) InnerHistory(ctx context.Context, c adapter.Copy, at adapter.InnerPoint, q adapter.HistoryQuery) ([]json.RawMessage, error) {
	if err := b.readable(c); err != nil {
		return nil, err
	}
	point := innerPoint(at)
	list, err := b.states(ctx, c, statesAsk{Limit: q.Limit, Before: q.Before, Metadata: factsThere(c, q.Metadata), Checkpoint: &point})
	if err != nil {
		return nil, b.copyError(err)
	}
	o := b.copyOf(ctx, c)
	for i, st := range list {
		list[i] = o.state(st)
	}
	return list, nil
}

// factsThere translates a filter on checkpoint metadata for the agent, which stores the bridge's run id in a separate
// member.
func factsThere(c adapter.Copy, facts json.RawMessage) json.RawMessage {
	members, ok := membersOf(facts)
	if !ok {
		return facts
	}
	for i, m := range members {
		switch m.Name {
		case "run_id":
			members[i].Name = runKey
		case "thread_id":
			if rawjson.TextOf(m.Value) == c.ThreadID {
				members[i].Value = quoted(c.Link.Remote)
			}
		}
	}
	return objectOf(members)
}

// UpdateInner implements adapter.CopyReader.
func (b *backend) UpdateInner(ctx context.Context, c adapter.Copy, at adapter.InnerPoint, u adapter.StateUpdate) (json.RawMessage, error) {
	if err := b.readable(c); err != nil {
		return nil, err
	}
	body := innerUpdate{Values: orNull(u.Values), AsNode: u.AsNode, Checkpoint: innerPoint(at)}
	if len(u.Then) > 0 {
		body.Values = rawjson.Array(u.All()...)
	}
	path := threadPath(c.Link.Remote) + "/state"
	var made json.RawMessage
	if err := b.http.writeJSON(ctx, http.MethodPost, path, body, &made); err != nil {
		return nil, b.updateError(err)
	}
	cp := rawjson.Get(made, "checkpoint")
	if rawjson.Kind(cp) != '{' {
		return nil, b.http.bad(http.MethodPost, path, "field checkpoint is not an object")
	}
	return b.copyOf(ctx, c).point(cp), nil
}

// readable returns an error if the states on the copy's server cannot be read.
func (b *backend) readable(c adapter.Copy) error {
	if c.Link.Profile == profilePlain {
		return mapping.Errorf(mapping.Invalid, mapping.CodeNotSupported,
			"Agent %q is a plain Agent Protocol server: it cannot return the states of graphs within its graph.", b.up.Name)
	}
	return nil
}

func (b *backend) lostCheckpoint() error {
	return mapping.Errorf(mapping.Upstream, mapping.CodeUpstreamLost,
		"Agent %q no longer has this checkpoint of the thread; it may have been restarted. Only the agent had the states of the graphs within its graph.", b.up.Name)
}

// copyError reclassifies the response of a server that does not know the thread or has no such route.
func (b *backend) copyError(err error) error {
	switch upstream.Status(err) {
	case http.StatusNotFound:
		e := b.lostCheckpoint().(*mapping.Error)
		e.Err = err
		return e
	case http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return &mapping.Error{Class: mapping.Invalid, Code: mapping.CodeNotSupported, Err: err, Message: mapping.Classify(err).Message}
	}
	return err
}

// pair holds the agent's and the bridge's id of the same object.
type pair struct{ theirs, ours string }

// copyOf replaces the agent's ids with the bridge's in a copy of a thread, except in values and task results. Ids of
// inner checkpoints are kept, because clients send them back to the agent.
type copyOf struct {
	http                           *client
	thread, assistant, graph, root pair // root is the checkpoint of the root graph that contains the copy, if both sides know it
}

func (b *backend) copyOf(ctx context.Context, c adapter.Copy) copyOf {
	t, _ := b.graphs.target(ctx) // if the agent does not respond, its own ids are kept
	return copyOf{http: b.http, thread: pair{c.Link.Remote, c.ThreadID}, assistant: pair{t.id, c.AssistantID}, graph: pair{t.graph, c.Agent}}
}

func (o copyOf) state(raw json.RawMessage) json.RawMessage {
	members, ok := membersOf(raw)
	if !ok {
		return raw
	}
	for i, m := range members {
		switch m.Name {
		case "tasks":
			members[i].Value = o.tasks(m.Value)
		case "metadata":
			members[i].Value = o.metadata(m.Value)
		case "checkpoint", "parent_checkpoint":
			members[i].Value = o.point(m.Value)
		}
	}
	return objectOf(members)
}

func (o copyOf) tasks(raw json.RawMessage) json.RawMessage {
	list := rawjson.ElementsOf(o.http.hideErrors(raw))
	for i, task := range list {
		members, ok := membersOf(task)
		if !ok {
			continue
		}
		for n, m := range members {
			switch m.Name {
			case "checkpoint":
				members[n].Value = o.point(m.Value)
			case "state":
				members[n].Value = o.state(m.Value)
			}
		}
		list[i] = objectOf(members)
	}
	return rawjson.Array(list...)
}

// metadata replaces the run id with the one that the bridge wrote into the run's metadata, and removes the bridge's
// members. A server also writes the run's configurable into it, whose credentials belong to the client that started the
// run.
func (o copyOf) metadata(raw json.RawMessage) json.RawMessage {
	members, ok := membersOf(raw)
	if !ok {
		return raw
	}
	run, _ := find(members, runKey)
	for i, m := range members {
		switch m.Name {
		case "run_id":
			if rawjson.Kind(run) == '"' {
				members[i].Value = run
			}
		case "parents", "checkpoint_map":
			members[i].Value = o.roots(m.Value)
		default:
			members[i].Value = o.id(m)
		}
	}
	return rule.WithoutCredentials(objectOf(without(members, runKey, threadKey, firstKey)))
}

func (o copyOf) point(raw json.RawMessage) json.RawMessage {
	members, ok := membersOf(raw)
	if !ok {
		return raw
	}
	for i, m := range members {
		switch m.Name {
		case "checkpoint_map":
			members[i].Value = o.roots(m.Value)
		default:
			members[i].Value = o.id(m)
		}
	}
	return objectOf(members)
}

// roots translates checkpoint ids by namespace. The root graph's namespace is "".
func (o copyOf) roots(raw json.RawMessage) json.RawMessage {
	members, ok := membersOf(raw)
	if !ok {
		return raw
	}
	for i, m := range members {
		if m.Name == "" {
			members[i].Value = o.root.in(m.Value)
		}
	}
	return objectOf(members)
}

// id returns the translated value of a member that names the thread, the assistant or the graph.
func (o copyOf) id(m rawjson.Member) json.RawMessage {
	switch m.Name {
	case "thread_id":
		return o.thread.in(m.Value)
	case "assistant_id":
		return o.assistant.in(m.Value)
	case "graph_id":
		return o.graph.in(m.Value)
	}
	return m.Value
}

// in returns the bridge's id if value is the agent's id. Otherwise it returns value.
func (p pair) in(value json.RawMessage) json.RawMessage {
	if p.theirs == "" || p.ours == "" || !bytes.Equal(value, quoted(p.theirs)) {
		return value
	}
	return quoted(p.ours)
}
