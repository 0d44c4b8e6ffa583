package stateupdate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
)

// attempt is one attempt at an update of a thread's state.
type attempt struct {
	*Updater
	asked  adapter.StateUpdate
	note   Note
	thread mapping.Thread
	held   string        // the token of store.States.Hold; "" if the thread is not held
	at     *adapter.Fork // the start of the update in the agent's terms, if at an earlier checkpoint
}

func (x *Updater) try(ctx context.Context, threadID string, asked adapter.StateUpdate, n Note) (mapping.Checkpoint, error) {
	u := attempt{Updater: x, asked: asked, note: n}
	if err := u.readThread(ctx, threadID); err != nil {
		return mapping.Checkpoint{}, err
	}
	if u.thread.Status == mapping.ThreadBusy {
		return mapping.Checkpoint{}, errBusy(threadID)
	}
	_, w, err := u.writer(ctx)
	switch {
	case err != nil:
		return mapping.Checkpoint{}, err
	case u.thread.Head == "" && asked.CheckpointID == "" && asked.AsNode != "":
		return u.begin(ctx)
	case w == nil:
		return u.reduce(ctx)
	default:
		return u.throughAgent(ctx)
	}
}

// tryInner is like try, for the state of an inner graph of the agent. It logs nothing.
func (x *Updater) tryInner(ctx context.Context, threadID string, at adapter.InnerPoint, asked adapter.StateUpdate) (made json.RawMessage, err error) {
	u := attempt{Updater: x, asked: asked}
	if err := u.readThread(ctx, threadID); err != nil {
		return nil, err
	}
	if u.thread.Status == mapping.ThreadBusy {
		return nil, errBusy(threadID)
	}
	under, end := u.Engine.UnderLease(context.WithoutCancel(ctx)) // begins before the thread is held
	defer end()
	if u.held, err = u.Store.States.Hold(ctx, u.thread.ID, u.thread.Head, u.note.Key); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	defer u.free(ctx, false)
	link, r, err := agreed[adapter.CopyReader](ctx, &u)
	if err != nil {
		return nil, err
	}
	if link.Remote == "" {
		return nil, mapping.Errorf(mapping.Conflict, mapping.CodeUpstreamLost,
			"No agent has the newest state of thread %s, so no graph within an agent's graph can be changed. Start a run on the thread, which gives the agent its state.", threadID)
	}
	made, err = r.UpdateInner(under, copyAt(link, threadID), at, asked)
	if err != nil && under.Err() != nil {
		err = errUpdateLost(threadID)
	}
	return made, err
}

func (u *attempt) readThread(ctx context.Context, threadID string) (err error) {
	u.thread, err = u.Store.Threads.Get(ctx, threadID)
	return err
}

// forks reports whether the update does not begin at the newest state.
func (u *attempt) forks() bool {
	return u.asked.CheckpointID != "" && u.asked.CheckpointID != u.thread.Head
}

// writer returns the agent that can apply the update: one that has the state to change and supports updates. If there
// is none, the bridge applies the update itself, and an agent's next run starts from the result.
func (u *attempt) writer(ctx context.Context) (mapping.Link, adapter.StateWriter, error) {
	switch {
	case u.thread.Head == "":
		return mapping.Link{}, nil, nil
	case u.forks():
		return u.forkWriter(ctx)
	}
	return agreed[adapter.StateWriter](ctx, u)
}

// forkWriter is like writer, for an update of an earlier checkpoint. It sets u.at.
func (u *attempt) forkWriter(ctx context.Context) (none mapping.Link, _ adapter.StateWriter, err error) {
	c, err := u.Store.States.Checkpoint(ctx, u.thread.ID, u.asked.CheckpointID)
	if err != nil {
		return none, nil, err
	}
	remote := c.RemoteThread
	if u.at = (&adapter.Fork{Checkpoint: c.Remote}); c.Remote == "" {
		l, err := u.Store.Links.Before(ctx, u.thread.ID, c)
		if err != nil || l.RemoteRun == "" {
			return none, nil, err
		}
		remote, u.at = l.Remote, &adapter.Fork{Run: l.RemoteRun, Step: c.Step}
	}
	return writerOf[adapter.StateWriter](ctx, u, func(l mapping.Link) bool { return l.Remote == remote })
}

// agreed returns an agent whose copy has the newest state of the thread and whose backend is a B, or zero values if
// there is none.
func agreed[B any](ctx context.Context, u *attempt) (mapping.Link, B, error) {
	return writerOf[B](ctx, u, func(l mapping.Link) bool { return l.LocalCheckpoint == u.thread.Head })
}

// writerOf returns an agent that has a suitable copy of the thread and whose backend is a B.
func writerOf[B any](ctx context.Context, u *attempt, will func(mapping.Link) bool) (none mapping.Link, _ B, err error) {
	var zero B
	links, err := u.Store.Links.List(ctx, u.thread.ID)
	if err != nil {
		return none, zero, err
	}
	for _, l := range links {
		if l.TaskID != "" || l.Remote == "" || !will(l) {
			continue
		}
		agent, ok := u.Engine.Agent(l.Agent)
		if !ok {
			continue
		}
		b, _, err := agent.Backend(ctx)
		if err != nil {
			continue // it is unavailable
		}
		if found, ok := b.(B); ok {
			return l, found, nil
		}
	}
	return none, zero, nil
}

// throughAgent sends the update to the agent, which reduces it. The thread is held during that time, so that nothing
// can prevent the update from being logged after the agent has accepted it. The agent receives the update once, under
// the lease with which the thread is held. A client that disconnects does not interrupt it.
func (u *attempt) throughAgent(ctx context.Context) (made mapping.Checkpoint, err error) {
	under, end := u.Engine.UnderLease(context.WithoutCancel(ctx)) // begins before the thread is held
	defer end()
	if u.held, err = u.Store.States.Hold(ctx, u.thread.ID, u.thread.Head, u.note.Key); err != nil {
		return made, err
	}
	ctx = context.WithoutCancel(ctx)
	defer func() { u.free(ctx, made.ID != "") }()
	link, w, err := u.writer(ctx) // a run may have started and ended before the thread was held
	if err != nil {
		return made, err
	}
	if w == nil {
		return u.reduce(ctx)
	}
	read, taken, refused := u.updateAgent(under, w, link)
	switch {
	case refused != nil && under.Err() != nil:
		return made, errUpdateLost(u.thread.ID)
	case cannotUpdate(refused):
		return u.reduce(ctx)
	case refused != nil && taken == 0:
		return made, refused
	}
	from, opt := u.thread.Head, store.StateOptions{}
	if u.forks() {
		from, opt.ForkFrom = u.asked.CheckpointID, u.asked.CheckpointID
	}
	made, err = u.logAgentState(ctx, link, read, from, opt)
	for try := 0; err != nil && mapping.Classify(err).Code == store.CodeHeadMoved && try < headRetries; try++ {
		// A run was rolled back in the meantime. The agent does not receive the update again; its next run starts from
		// the thread's state.
		if err = u.readThread(ctx, u.thread.ID); err == nil {
			made, err = u.reduce(ctx)
		}
	}
	if err == nil {
		err = refused // the values that the agent accepted before are already in the state
	}
	return made, err
}

// updateAgent sends the values to the agent one by one, and returns the state after those it accepted.
func (u *attempt) updateAgent(ctx context.Context, w adapter.StateWriter, link mapping.Link) (read adapter.State, taken int, err error) {
	c, at := copyAt(link, u.thread.ID), u.at
	for _, values := range u.asked.All() {
		next, err := w.UpdateState(ctx, c, at, values, u.asked.AsNode)
		if err != nil {
			return read, taken, partly(err, taken)
		}
		read, taken, at = next, taken+1, nil
	}
	return read, taken, nil
}

// partly adds to a refusal the number of values that the agent had accepted before.
func partly(err error, taken int) error {
	e := mapping.Classify(err)
	if taken == 0 || cannotUpdate(err) {
		return err
	}
	return &mapping.Error{Class: e.Class, Code: e.Code, Err: err, Detail: e.Detail,
		Message: fmt.Sprintf("The first %d of the values are in the state, but the next one was refused: %s", taken, e.Message)}
}

// free releases the thread for others. A logged update has already released it and notified its waiters.
func (u *attempt) free(ctx context.Context, logged bool) {
	if !logged {
		if err := u.Store.States.Free(ctx, u.thread.ID, u.held); err != nil {
			u.Zap.Warn("could not release a thread held for a state update; retrying", zap.Error(err), zap.String("thread", u.thread.ID))
		}
		u.Log.WakeThread(u.thread.ID)
	}
	u.Engine.NotifyFreed()
}

// logAgentState logs the state that an agent created by the update, on top of the checkpoint from.
func (u *attempt) logAgentState(ctx context.Context, link mapping.Link, read adapter.State, from string, opt store.StateOptions) (mapping.Checkpoint, error) {
	fold, at, far, err := u.Log.Distance(ctx, u.thread.ID, from)
	if err != nil {
		return mapping.Checkpoint{}, movedIfGone(err)
	}
	step := at.Step + 1
	if from == "" {
		step = read.Step
	}
	ev, after, err := agentEvent(fold, read, link.Remote, step, u.Store.Now())
	if err != nil {
		return mapping.Checkpoint{}, err
	}
	made := ev.Head.Checkpoint
	made.AsNode = u.asked.AsNode
	link.RemoteCheckpoint, link.RemoteMark, link.LocalCheckpoint, link.Undone = read.Checkpoint, "", made.ID, false
	files := statedFiles(u.thread.ID, fold, after)
	opt.Links, opt.Files, opt.DropFiles = []mapping.Link{link}, files.writes, files.drop
	opt.ClearInterrupts = from == u.thread.Head && u.asked.AsNode != "" && answered(u.thread.Interrupts, at, read.Next)
	return u.logUpdate(ctx, ev, after, far, opt)
}

// answered reports whether an update as a node answers for the nodes that asked. That is the case if none of them is
// next any more.
func answered(open []mapping.Interrupt, asked mapping.Checkpoint, next []string) bool {
	return len(open) > 0 && len(asked.Next) > 0 &&
		!slices.ContainsFunc(open, func(q mapping.Interrupt) bool { return q.Run != asked.RunID }) &&
		!slices.ContainsFunc(asked.Next, func(node string) bool { return slices.Contains(next, node) })
}

// reduce computes the new state in the bridge.
func (u *attempt) reduce(ctx context.Context) (mapping.Checkpoint, error) {
	from, opt := u.thread.Head, store.StateOptions{}
	if u.forks() {
		from = u.asked.CheckpointID
	}
	fold, at, far, err := u.Log.Distance(ctx, u.thread.ID, from)
	if err != nil {
		if !u.forks() {
			err = movedIfGone(err)
		}
		return mapping.Checkpoint{}, err
	}
	ev, after, said, err := updateEvent(fold, u.asked, at.Step+1, u.Store.Now())
	if err != nil {
		return mapping.Checkpoint{}, err
	}
	files, err := u.files(ctx, said, fold, after)
	if err != nil {
		return mapping.Checkpoint{}, err
	}
	opt.Files, opt.DropFiles = files.writes, files.drop
	if u.forks() {
		opt.ForkFrom = from
	}
	if len(at.Next) > 0 {
		ev.Head.Checkpoint.Next = at.Next
	}
	return u.logUpdate(ctx, ev, after, far, opt)
}

// movedIfGone returns HeadMoved for a head that was rolled back after it was read.
func movedIfGone(err error) error {
	if mapping.Classify(err).Code == mapping.CodeCheckpointNotFound {
		return store.HeadMoved()
	}
	return err
}

// logUpdate logs the update. far is the distance of the previous state from a snapshot. A snapshot is stored for a
// fork, and for a state that is too far from the previous snapshot.
func (u *attempt) logUpdate(ctx context.Context, ev mapping.Event, after *state.Fold, far store.Distance, opt store.StateOptions) (mapping.Checkpoint, error) {
	if far = far.Plus(len(ev.Data)); opt.ForkFrom != "" || far.SnapshotDue(after.Size()) {
		opt.Snapshot, far = after.JSON(), store.Distance{}
	}
	ev.Head.Checkpoint.Facts = rule.UpdateFacts(u.thread.Metadata)
	opt.Key, opt.Makes, opt.Held = u.note.Key, cmp.Or(u.note.Makes, ev.Head.Checkpoint.ID), u.held
	logged, err := u.Store.States.Append(ctx, u.thread.ID, u.thread.Head, []mapping.Event{ev}, opt)
	if err != nil {
		return mapping.Checkpoint{}, err
	}
	u.Log.Keep(ev.Head.Checkpoint.ID, after, far)
	u.Log.WakeThread(u.thread.ID)
	made := *logged[0].Head.Checkpoint
	made.Seq = logged[0].Seq
	return made, nil
}

// cannotUpdate reports whether an agent cannot apply state updates at all or at the moment, as opposed to refusing this
// one. The bridge then applies the update, and the agent's next run starts from the result. It does not matter whether
// the agent applied the update after all, because that run gets a new thread there.
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

// agentEvent returns the event that sets the state to that of the agent.
func agentEvent(fold *state.Fold, read adapter.State, remote string, step int, now time.Time) (mapping.Event, *state.Fold, error) {
	diff, after, err := fold.DiffTo(read.Values)
	if err != nil {
		return mapping.Event{}, nil, mapping.Errorf(mapping.Upstream, mapping.CodeBadUpstream, "The agent responded to the state update with a state that is not an object.")
	}
	cp := &mapping.Checkpoint{
		ID: mapping.NewID(), Source: cmp.Or(read.Source, "update"), Step: step, CreatedAt: now,
		Next: read.Next, Tasks: read.Tasks, Remote: read.Checkpoint, RemoteThread: remote, Metadata: read.Metadata,
	}
	return mapping.Event{Kind: mapping.KindState, At: now, Data: diff, Head: mapping.Head{Checkpoint: cp}}, after, nil
}

// updateEvent reduces values onto a state and returns the event for the change, and the messages that are new or
// changed. The node named as their author is stored with the checkpoint.
func updateEvent(fold *state.Fold, u adapter.StateUpdate, step int, now time.Time) (ev mapping.Event, after *state.Fold, said []json.RawMessage, err error) {
	id, reduced := mapping.NewID(), fold
	for i, given := range u.All() {
		base := id // prefix for the ids of messages without one
		if i > 0 {
			base = mapping.NewID()
		}
		values, err := rule.NormalValues(rawjson.OrEmpty(given), base)
		if err != nil {
			return ev, nil, nil, err
		}
		said = append(said, engine.ChangedMessages(reduced, values)...)
		if reduced, err = reduced.Reduce(values); err != nil {
			return ev, nil, nil, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "values must be an object of state keys: %v.", err)
		}
	}
	diff, after := fold.DiffToReduced(reduced)
	cp := &mapping.Checkpoint{ID: id, Source: "update", Step: step, AsNode: u.AsNode, CreatedAt: now}
	return mapping.Event{Kind: mapping.KindState, At: now, Data: diff, Head: mapping.Head{Checkpoint: cp}}, after, said, nil
}

func errUpdateLost(threadID string) error {
	return mapping.Errorf(mapping.Unavailable, store.CodeUpdateLost,
		"This bridge was cut off from its database for too long to finish the update of thread %q. Check the thread's state before you send it again: if the agent has accepted the update, the thread's next run begins with it.", threadID)
}

func errBusy(threadID string) error {
	return mapping.Errorf(mapping.Conflict, mapping.CodeThreadBusy,
		"Thread %s has an active run, so its state cannot be changed now. Wait for the run or cancel it.", threadID)
}
