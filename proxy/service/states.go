package service

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/store"
)

// states reads and writes the state of a thread.
type states struct{ *core }

func (s *states) Get(ctx context.Context, threadID, checkpointID string) (adapter.ThreadState, error) {
	t, err := s.st.Thread(ctx, threadID)
	if err != nil {
		return adapter.ThreadState{}, err
	}
	fold, c, err := s.log.State(ctx, threadID, checkpointID)
	if err != nil {
		return adapter.ThreadState{}, err
	}
	return s.state(ctx, t, c, fold)
}

// state is what GET state says of a checkpoint. The head also tells how the
// thread stands: its open questions, or why its last run failed.
func (s *states) state(ctx context.Context, t mapping.Thread, c mapping.Checkpoint, fold *mapping.Fold) (adapter.ThreadState, error) {
	out := adapter.ThreadState{ThreadID: t.ID, Values: fold.JSON(), Next: []string{}, Tasks: json.RawMessage(`[]`), Metadata: json.RawMessage(`{}`)}
	if c.ID == "" {
		return out, nil
	}
	out.Checkpoint, out.Parent, out.CreatedAt = c.ID, c.Parent, c.CreatedAt
	if c.Next != nil {
		out.Next = c.Next
	}
	var fault *mapping.Fault
	if c.ID == t.Head {
		out.Interrupts = t.Interrupts
		if t.Status == mapping.ThreadError {
			var err error
			if fault, err = s.lastFault(ctx, t.ID); err != nil {
				return out, err
			}
		}
	}
	var err error
	if out.Metadata, err = checkpointMetadata(t.ID, c); err != nil {
		return out, err
	}
	if c.Tasks != nil && fault == nil && len(out.Interrupts) == 0 {
		out.Tasks = c.Tasks
	} else {
		out.Tasks = mapping.StateTasks(c.ID, out.Next, fault, out.Interrupts)
	}
	return out, nil
}

func (s *states) lastFault(ctx context.Context, threadID string) (*mapping.Fault, error) {
	last, err := s.st.Runs(ctx, store.RunQuery{ThreadID: threadID, Limit: 1})
	if err != nil || len(last) == 0 || last[0].Fault == nil {
		return nil, err
	}
	return last[0].Fault, nil
}

// checkpointMetadata is {source, step, run_id, thread_id, parents} over what
// an upstream said itself.
func checkpointMetadata(threadID string, c mapping.Checkpoint) (json.RawMessage, error) {
	own := `{"source":` + strconv.Quote(c.Source) + `,"step":` + strconv.Itoa(c.Step) + `,"parents":{},"thread_id":` + strconv.Quote(threadID)
	if c.RunID != "" {
		own += `,"run_id":` + strconv.Quote(c.RunID)
	}
	return mapping.MergeMetadata(object(c.Metadata), json.RawMessage(own+`}`))
}

func (s *states) History(ctx context.Context, threadID string, q adapter.HistoryQuery) ([]adapter.ThreadState, error) {
	t, err := s.st.Thread(ctx, threadID)
	if err != nil {
		return nil, err
	}
	list, folds, err := s.page(ctx, threadID, q)
	if err != nil {
		return nil, err
	}
	out := make([]adapter.ThreadState, len(list))
	for i, c := range list {
		if out[i], err = s.state(ctx, t, c, folds[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// page reads checkpoints with their states, newest first. Where one goes between the
// two, as its run is rolled back or deleted, the page is read anew.
func (s *states) page(ctx context.Context, threadID string, q adapter.HistoryQuery) ([]mapping.Checkpoint, []*mapping.Fold, error) {
	for try := 1; ; try++ {
		list, err := s.st.Checkpoints(ctx, threadID, store.CheckpointQuery{Before: q.Before, At: q.At, Metadata: q.Metadata, Limit: q.Limit})
		if err != nil || len(list) == 0 {
			return nil, nil, err
		}
		folds, err := s.folds(ctx, threadID, list)
		if err == nil || try == headRetries || mapping.Classify(err).Code != mapping.CodeCheckpointNotFound {
			return list, folds, err
		}
	}
}

// folds reads the states of a page of checkpoints, newest first, sharing what
// they share.
func (s *states) folds(ctx context.Context, threadID string, list []mapping.Checkpoint) ([]*mapping.Fold, error) {
	ids := make([]string, len(list))
	for i, c := range list {
		ids[len(list)-1-i] = c.ID // oldest first
	}
	read, err := s.st.StatesOf(ctx, threadID, ids)
	if err != nil {
		return nil, err
	}
	folds := make([]*mapping.Fold, len(list))
	var f *mapping.Fold
	for i, st := range read {
		if f, err = foldOn(f, st); err != nil {
			return nil, err
		}
		folds[len(list)-1-i] = f
	}
	return folds, nil
}

// foldOn folds a state that says what came since the one before (Continues),
// or one that stands alone.
func foldOn(before *mapping.Fold, st store.State) (*mapping.Fold, error) {
	if !st.Continues {
		return eventlog.FoldState(st)
	}
	entries, err := eventlog.Fold(before, st.Events)
	if err != nil || len(entries) == 0 {
		return before, err
	}
	return entries[len(entries)-1].After, nil
}

func (s *states) Update(ctx context.Context, threadID string, u adapter.StateUpdate) (mapping.Checkpoint, error) {
	return s.update(ctx, threadID, u, note{})
}

// headRetries bounds how often an update, or the reading of a page, is tried that
// others overtake.
const headRetries = 8

// note is what a request with a key is remembered to have made.
type note struct {
	key   store.Key
	makes string
}

// update reduces values into a new checkpoint of the thread.
func (c *core) update(ctx context.Context, threadID string, u adapter.StateUpdate, n note) (mapping.Checkpoint, error) {
	for try := 0; ; try++ {
		made, err := c.tryUpdate(ctx, threadID, u, n)
		if err != nil && mapping.Classify(err).Code == "head_moved" && try < headRetries {
			continue
		}
		return made, err
	}
}

func (c *core) tryUpdate(ctx context.Context, threadID string, u adapter.StateUpdate, n note) (mapping.Checkpoint, error) {
	t, err := c.st.Thread(ctx, threadID)
	if err != nil {
		return mapping.Checkpoint{}, err
	}
	if t.Status == mapping.ThreadBusy {
		return mapping.Checkpoint{}, errBusy(threadID)
	}
	from := u.CheckpointID
	if from == "" {
		from = t.Head
	}
	fold, at, far, err := c.log.Distance(ctx, threadID, from)
	if err != nil {
		return mapping.Checkpoint{}, err
	}
	source, opt := "update", store.StateOptions{Key: n.key, Makes: n.makes}
	if from != t.Head {
		source, opt.ForkFrom = "fork", from
	}
	ev, after, links, err := c.change(ctx, t, fold, u, source, at.Step+1)
	if err != nil {
		return mapping.Checkpoint{}, err
	}
	opt.Links = links
	if far = far.Plus(len(ev.Data)); opt.ForkFrom != "" || far.SnapshotDue(after.Size()) {
		opt.Snapshot, far = after.JSON(), store.Distance{}
	}
	if len(at.Next) > 0 && links == nil {
		ev.Head.Checkpoint.Next = at.Next
	}
	logged, err := c.st.AppendState(ctx, threadID, t.Head, []mapping.Event{ev}, opt)
	if err != nil {
		return mapping.Checkpoint{}, err
	}
	c.log.Keep(ev.Head.Checkpoint.ID, after, far)
	c.log.RingThread(threadID)
	made := *logged[0].Head.Checkpoint
	made.Seq = logged[0].Seq
	return made, nil
}

func (s *states) Forget(ctx context.Context, threadID string) (int, error) {
	n, err := s.st.ForgetPast(ctx, threadID)
	return int(n), err
}

// change is the event of a state update: reduced by the agent itself where
// both sides agree on the state and the agent can, else by the bridge.
func (c *core) change(ctx context.Context, t mapping.Thread, fold *mapping.Fold, u adapter.StateUpdate, source string, step int) (mapping.Event, *mapping.Fold, []mapping.Link, error) {
	if source == "update" {
		link, read, err := c.upstream(ctx, t, u)
		if err != nil {
			return mapping.Event{}, nil, nil, err
		}
		if read != nil {
			ev, after, err := replaceEvent(fold, read.Values, step, c.now())
			link.RemoteCheckpoint, link.RemoteMark = read.Checkpoint, ""
			if err == nil {
				c := ev.Head.Checkpoint
				c.Next, c.Remote, c.RemoteThread = read.Next, read.Checkpoint, link.Remote
				link.LocalCheckpoint = ev.Head.Checkpoint.ID
			}
			return ev, after, []mapping.Link{link}, err
		}
	}
	ev, after, err := updateEvent(fold, u, source, step, c.now())
	return ev, after, nil, err
}

// upstream sends an update through the agent's own reducers and reads the
// state back. A nil state: this thread has no agent that could.
func (c *core) upstream(ctx context.Context, t mapping.Thread, u adapter.StateUpdate) (mapping.Link, *adapter.State, error) {
	links, err := c.st.Links(ctx, t.ID)
	if err != nil {
		return mapping.Link{}, nil, err
	}
	for _, l := range links {
		if l.TaskID != "" || l.Remote == "" || l.LocalCheckpoint != t.Head || t.Head == "" {
			continue
		}
		agent, ok := c.engine.Agent(l.Agent)
		if !ok {
			continue
		}
		b, _, err := agent.Backend(ctx)
		if err != nil {
			continue // it is away: the bridge reduces, and seeds the agent anew at the next run
		}
		w, ok := b.(adapter.StateWriter)
		if !ok {
			continue
		}
		read, err := w.UpdateState(ctx, l, u.Values, u.AsNode)
		if cannotUpdate(err) {
			continue
		}
		return l, &read, err
	}
	return mapping.Link{}, nil, nil
}

// cannotUpdate tells an agent that has no way to take a state update, or not
// now, from one that refused this one. The bridge then reduces by itself, and
// the next run there starts from what it made: whether the agent has taken the
// update all the same does not matter, since a new thread is made there.
func cannotUpdate(err error) bool {
	if err == nil {
		return false
	}
	switch mapping.Classify(err).Code {
	case mapping.CodeNotSupported, mapping.CodeUpstreamLost, mapping.CodeUpstreamUnreachable:
		return true
	}
	return false
}

// replaceEvent says that the state became what an agent says it is.
func replaceEvent(fold *mapping.Fold, values json.RawMessage, step int, now time.Time) (mapping.Event, *mapping.Fold, error) {
	diff, after, err := fold.DiffTo(values)
	if err != nil {
		return mapping.Event{}, nil, mapping.Errorf(mapping.Upstream, mapping.CodeBadUpstream, "The agent answered the state update with a state that is not an object.")
	}
	cp := &mapping.Checkpoint{ID: mapping.NewID(), Source: "update", Step: step, CreatedAt: now}
	return mapping.Event{Kind: mapping.KindState, At: now, Data: diff, Head: mapping.Head{Checkpoint: cp}}, after, nil
}

// updateEvent reduces values onto a state and returns the event that says so. The
// node that is named as their author is kept with the checkpoint.
func updateEvent(fold *mapping.Fold, u adapter.StateUpdate, source string, step int, now time.Time) (mapping.Event, *mapping.Fold, error) {
	id := mapping.NewID()
	values, err := mapping.NormalValues(object(u.Values), id)
	if err != nil {
		return mapping.Event{}, nil, err
	}
	reduced, err := fold.Reduce(values)
	if err != nil {
		return mapping.Event{}, nil, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "values must be an object of state keys: %v.", err)
	}
	diff, after := fold.DiffToReduced(reduced)
	cp := &mapping.Checkpoint{ID: id, Source: source, Step: step, CreatedAt: now}
	if u.AsNode != "" {
		if cp.Metadata, err = json.Marshal(map[string]string{"as_node": u.AsNode}); err != nil {
			return mapping.Event{}, nil, err
		}
	}
	return mapping.Event{Kind: mapping.KindState, At: now, Data: diff, Head: mapping.Head{Checkpoint: cp}}, after, nil
}

func errBusy(threadID string) error {
	return mapping.Errorf(mapping.Conflict, mapping.CodeThreadBusy,
		"Thread %s has an active run, so its state cannot be changed now. Wait for the run or cancel it.", threadID)
}
