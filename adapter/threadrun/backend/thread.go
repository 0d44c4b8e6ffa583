package backend

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// profileForked marks the link of a thread on which a run was started from an
// older checkpoint. Version 1.4.6 of the JavaScript server keeps that
// checkpoint in the thread's configuration and starts every later run there
// too, unless the run says otherwise.
const profileForked = "forked"

// openThread makes sure of an upstream thread that holds what our thread
// holds. It costs nothing for a new thread, which the run's own request makes,
// and one read for a thread that was used before.
func (s *session) openThread() error {
	switch {
	case s.t.Fork != "" && s.link.Remote != "":
		s.link.Profile = profileForked
		return nil
	case s.link.Remote == "" || s.t.Values != nil:
		return s.freshThread()
	default:
		return s.catchUp()
	}
}

// freshThread makes a thread of its own for this run and puts our state into
// it. Its id is made from the run's, so that making it twice, after an answer
// that was lost, makes one thread.
func (s *session) freshThread() error {
	if s.t.Resume {
		return mapping.Errorf(mapping.Upstream, mapping.CodeNotPortable,
			"The question of agent %q cannot be answered: the thread's state was changed after it was asked, so the agent's own thread no longer fits.", s.b.up.Name)
	}
	s.link = mapping.Link{Agent: s.t.Run.Agent, TaskID: s.link.TaskID, Remote: s.threadID()}
	if s.creates = s.mayCreate(); s.creates {
		return s.emitLink()
	}
	if err := s.makeThread(); err != nil {
		return err
	}
	if err := s.emitLink(); err != nil {
		return err
	}
	return s.seed()
}

// makeThread makes the thread of the link.
func (s *session) makeThread() error {
	body := threadCreate{ID: s.link.Remote, IfExists: "do_nothing", Metadata: s.threadMetadata()}
	var made threadWire
	if err := s.createThread(body, &made); err != nil {
		return err
	}
	if made.ID == "" {
		return s.b.http.bad(http.MethodPost, "/threads", "thread_id is missing")
	}
	s.link.Remote = made.ID
	return nil
}

// mayCreate tells whether the run's own request can make the thread
// (if_not_exists "create"). Servers then give the run's metadata to the
// thread, and the thread's to every later run, so that it must say nothing
// that only this run means; a state has to be there before the run; and the
// runs of one lockstep run could not be told from those of others.
func (s *session) mayCreate() bool {
	meta := s.t.Run.Metadata
	if s.t.OneStep || s.b.separate.Load() || rawjson.CountMembers(s.t.Values) > 0 || rawjson.CountMembers(meta) > len(bridgeKeys)+1 {
		return false
	}
	if s.t.State != nil && s.t.State.Size() > len("{}") {
		return false
	}
	for key, value := range object(meta) {
		if !slices.Contains(bridgeKeys, key) && (key != originKey || object(value) == nil) {
			return false
		}
	}
	return true
}

// createThread may be sent again after a broken connection: the id is ours.
func (s *session) createThread(body threadCreate, made *threadWire) error {
	err := s.b.http.writeJSON(s.ctx, http.MethodPost, "/threads", body, made)
	if err != nil && upstream.Is(err, upstream.Broken) && s.ctx.Err() == nil {
		return s.b.http.writeJSON(s.ctx, http.MethodPost, "/threads", body, made)
	}
	return err
}

// threadID names a fresh thread: one name for the same run, the same attempt,
// and the same thread that it stands in for.
func (s *session) threadID() string {
	name := "thread/" + strconv.Itoa(s.t.Run.Attempt)
	if s.link.Remote != "" {
		name += "/" + s.link.Remote
	}
	return mapping.MessageID(s.t.Run.ID, name)
}

// seed writes the whole local state into a fresh thread, as an update of the
// node that leads to the end. A server that refuses is given the state as part
// of the run's input.
func (s *session) seed() error {
	if rawjson.CountMembers(s.t.Values) == 0 {
		return nil
	}
	path := threadPath(s.link.Remote) + "/state"
	update := stateUpdate{Values: s.t.Values, AsNode: s.b.entry(s.ctx, s.target)}
	err := s.b.http.writeJSON(s.ctx, http.MethodPost, path, update, nil)
	if upstream.Status(err) == 0 || lostAnswer(err) {
		return err // it may have taken the state: by the input it would be there twice
	}
	return s.seedByInput(err)
}

// seedByInput puts the state into the run's input; refused is why it could not
// be written.
func (s *session) seedByInput(refused error) error {
	input, ok := seededInput(s.t.Values, s.t.Input.Raw)
	if !ok {
		return &mapping.Error{Class: mapping.Upstream, Code: mapping.CodeNotPortable, Err: refused,
			Message: fmt.Sprintf("The state of this thread cannot be given to agent %q: it refuses a state update, and the run's input cannot carry it.", s.b.up.Name)}
	}
	s.t.Input.Raw = input
	return nil
}

// seededInput is input with the state put before it: messages and files are
// joined, other keys are the input's own where it has them.
func seededInput(values, input json.RawMessage) (json.RawMessage, bool) {
	all, add := object(values), object(input)
	if all == nil || (add == nil && len(input) > 0 && !bytes.Equal(bytes.TrimSpace(input), []byte("null"))) {
		return nil, false
	}
	for key, value := range add {
		switch joined, ok := join(all[key], value); {
		case ok:
			all[key] = joined
		default:
			all[key] = value
		}
	}
	raw, err := json.Marshal(all)
	return raw, err == nil
}

// join appends lists and merges objects.
func join(a, b json.RawMessage) (json.RawMessage, bool) {
	var x, y []json.RawMessage
	if json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && x != nil && y != nil {
		raw, err := json.Marshal(append(x, y...))
		return raw, err == nil
	}
	m, n := object(a), object(b)
	if m == nil || n == nil {
		return nil, false
	}
	for k, v := range n {
		m[k] = v
	}
	raw, err := json.Marshal(m)
	return raw, err == nil
}

// catchUp looks whether somebody used the upstream thread since our last run
// there. What they did to it comes first, as a state of its own.
func (s *session) catchUp() error {
	if !s.link.Agreed() {
		return nil
	}
	st, err := s.state()
	if lostUpstream(err) && s.heal() {
		return s.freshThread()
	}
	if err != nil {
		return err
	}
	agreed := s.agreed(st)
	s.link.RemoteCheckpoint, s.link.RemoteMark = st.head(), ""
	if agreed {
		s.points.note(st.head(), s.link.LocalCheckpoint)
		return nil
	}
	drift := s.stateEvent(st, "upstream")
	drift.Head.Checkpoint.ID = s.pointID()
	s.points.note(st.head(), s.newest)
	return s.emit(drift)
}

// heal prepares a fresh thread in place of one that the server has forgotten:
// the local state is the record, the upstream thread a working copy. An answer
// cannot be given there, since the question is gone.
func (s *session) heal() bool {
	if s.t.Resume || s.t.State == nil || s.healed {
		return false
	}
	s.healed, s.t.Values, s.t.Fork = true, s.t.State.JSON(), ""
	return true
}

func lostUpstream(err error) bool {
	var e *mapping.Error
	return errors.As(err, &e) && e.Code == mapping.CodeUpstreamLost
}

// state reads the head of the session's upstream thread.
func (s *session) state() (stateWire, error) {
	st, err := s.b.head(s.ctx, s.link.Remote)
	if upstream.Status(err) == http.StatusNotFound {
		return st, s.lost("thread")
	}
	return st, err
}

// head reads the state of an upstream thread.
func (b *backend) head(ctx context.Context, thread string) (st stateWire, err error) {
	path := threadPath(thread) + "/state"
	err = b.http.getJSON(ctx, path, &st)
	if err == nil && object(st.Values) == nil {
		err = b.http.bad(http.MethodGet, path, "field values is not an object")
	}
	return st, err
}

// stateEvent is a state that was read, not streamed; it makes a checkpoint.
func (s *session) stateEvent(st stateWire, source string) mapping.Event {
	var meta checkpointMeta
	_ = json.Unmarshal(st.Metadata, &meta)
	next := nonNil(st.Next)
	return mapping.Event{Kind: mapping.KindState, Data: st.Values, Head: mapping.Head{
		Full: true, Next: next,
		Checkpoint: &mapping.Checkpoint{Source: orElse(source, orElse(meta.Source, "loop")), Step: meta.Step, Next: next,
			Tasks: s.own(bytes.Clone(st.Tasks)), Remote: st.head(), RemoteThread: s.link.Remote, RunID: s.t.Run.ID, Metadata: s.own(bytes.Clone(st.Metadata))},
	}}
}

func nonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func threadPath(id string) string { return "/threads/" + url.PathEscape(id) }

func runPath(thread, run string) string {
	return threadPath(thread) + "/runs/" + url.PathEscape(run)
}
