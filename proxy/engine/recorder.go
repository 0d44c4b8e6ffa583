package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/store"
)

// recorder converts the events of a backend into the events that are logged. It folds the state, makes checkpoints and
// diffs, writes files of the state as artifacts, and queues the result for the store. Only the execution's goroutine
// uses it.
type recorder struct {
	x       *execution
	writer  *eventWriter
	exposes mapping.Exposure // of the agent; set before its first event

	statePoint                   // after everything queued
	updates       int            // of this execution
	steps         int            // steps of an opaque agent logged by earlier executions
	asked         int            // steps and questions so far, for mapping.InterruptID
	distanceKnown bool           // distance is known
	distance      store.Distance // of the newest state from its snapshot
	link          mapping.Link   // newest link, merged
	linked        bool
	changedFiles
	uploaded   mapping.UploadCursor // the uploads that the agent received with the steps of this execution
	logged     usage
	fault      error // why the run must not continue
	agentState agentState
}

// statePoint is a run's state after an event.
type statePoint struct {
	fold  *state.Fold
	head  string   // newest checkpoint of this run, or its base
	step  int      // of the next loop checkpoint
	next  []string // of the newest checkpoint
	dirty bool     // the state has changed since the last checkpoint
}

func newRecorder(x *execution, fold *state.Fold, logged []mapping.Event) *recorder {
	r := &recorder{x: x, statePoint: statePoint{fold: fold, head: x.Run.Base}, distanceKnown: x.Run.Base == ""}
	r.files = map[string]string{}
	for i := range logged {
		r.replay(&logged[i])
	}
	last := int64(0)
	if n := len(logged); n > 0 {
		last = logged[n-1].Seq
	}
	r.writer = newEventWriter(x, r.statePoint, last)
	return r
}

// replay updates the recorder with an event that an earlier execution logged.
func (r *recorder) replay(ev *mapping.Event) {
	r.logged.add(ev)
	if c := ev.Head.Checkpoint; c != nil {
		r.head = c.ID
		r.step = c.Step + 1
		r.next, r.dirty = c.Next, false
	} else if changesState(ev) {
		r.dirty = true
	}
	if ev.Head.Step != nil {
		r.asked++
		r.steps++
	}
	if ev.Kind == mapping.KindInterrupt {
		r.asked += len(ev.Head.Interrupts)
	}
	if ev.Head.Link != nil {
		r.link, r.linked = *ev.Head.Link, true
	}
	if ev.Kind == mapping.KindStarted && ev.Head.Attempt > 1 && !r.x.Run.Options.Resuming {
		r.link, r.linked = mapping.Link{}, false // a new attempt begins with its own upstream thread or task
	}
}

// record completes an event and queues it. It returns the error of an earlier write, after which nothing more is
// written.
func (r *recorder) record(ev *mapping.Event) error {
	ev.RunID = r.x.Run.ID
	if ev.At.IsZero() {
		ev.At = r.x.store.Now()
	}
	switch ev.Kind {
	case mapping.KindLinked:
		r.addLink(ev)
	case mapping.KindUpdate:
		r.addUpdate(ev)
	case mapping.KindState:
		if skip, err := r.addState(ev); skip || err != nil {
			return err
		}
	case mapping.KindInterrupt:
		r.addInterrupt(ev)
	}
	p, err := r.makePiece(ev)
	if err != nil {
		return err
	}
	if r.isResult(ev) {
		return r.writer.pushNow(p)
	}
	return r.writer.push(p, r.maxDelay(ev))
}

// isResult reports whether the event is the result of a call to an opaque agent that is followed by another call. It is
// committed before the backend continues, so that at most one call is open. A step with a question is committed with
// the end, and a last step usually is.
func (r *recorder) isResult(ev *mapping.Event) bool {
	if s := ev.Head.Step; s != nil {
		return !s.SaysLast && !ev.Asks()
	}
	return !r.exposes.ReportsState() && ev.Kind == mapping.KindLinked
}

// maxDelay returns how long an event may wait to be written with others. A question always waits for the end of its run
// (eventWriter.ready).
func (r *recorder) maxDelay(ev *mapping.Event) time.Duration {
	switch {
	case ev.Kind == mapping.KindLinked && r.exposes.ReportsState():
		return linkDelay // the agent's run can be found by its mark, so the link can wait for the first output
	case ev.Kind == mapping.KindDelta:
		return 0
	}
	return stepDelay
}

// makePiece folds the event and returns it with everything to be written together with it.
func (r *recorder) makePiece(ev *mapping.Event) (piece, error) {
	r.logged.add(ev)
	if r.fault == nil {
		r.fault = r.logged.exceeds(r.x.e.Config().Limits, r.x.agent.Name)
	}
	late := ev.Asks() || ev.WithEnd
	ev.WithEnd = false
	before := r.fold
	after, err := before.Apply(ev)
	if err != nil {
		return piece{}, fmt.Errorf("folding a %s event: %w", ev.Kind, err)
	}
	r.fold = after
	p := piece{entry: &state.Entry{Event: *ev, Before: before, After: after}, late: late, replaces: ev.Kind == mapping.KindLinked && r.exposes.ReportsState()}
	if c := ev.Head.Checkpoint; c != nil {
		r.head, r.dirty = c.ID, false
		p.snapshot = r.snapshot(c.ID, len(ev.Data))
		r.cacheState(c.ID, after)
	} else if after != before && changesState(ev) {
		r.dirty = true
		r.addDistance(len(ev.Data))
	}
	p.files, p.drop, p.artifacts = r.filesOf(&p.entry.Event, before, after)
	p.point = r.statePoint
	return p, nil
}

func changesState(ev *mapping.Event) bool {
	return ev.Kind == mapping.KindInput || ev.Kind == mapping.KindState || ev.Kind == mapping.KindUpdate && ev.Head.Reduce
}

// snapshot returns the full state to store with a checkpoint, or nil if none is due.
func (r *recorder) snapshot(id string, diff int) []byte {
	r.addDistance(diff)
	if !r.distance.SnapshotDue(r.fold.Size()) {
		return nil
	}
	r.distance = store.Distance{}
	return r.fold.JSON()
}

// addDistance counts an event that changes the state. A run on a thread with a history starts from the stored distance.
func (r *recorder) addDistance(diff int) {
	if !r.distanceKnown {
		r.distance, r.distanceKnown = r.baseDistance(), true
	}
	r.distance = r.distance.Plus(diff)
}

func (r *recorder) addLink(ev *mapping.Event) {
	l := *ev.Head.Link
	l.Agent = r.x.Run.Agent
	if !r.exposes.ReportsState() {
		l.TaskID = r.x.Run.TaskID
	}
	if l.Remote == "" {
		l.Remote = r.link.Remote
	}
	if l.RemoteRun == "" {
		l.RemoteRun = r.link.RemoteRun
	}
	if l.Profile == "" {
		l.Profile = r.link.Profile
	}
	r.link, r.linked = l, true
	ev.Head.Link = &l
	if r.x.next != nil && r.exposes.ReportsState() {
		ev.Head.Uploaded = r.x.next.Uploaded // the agent has accepted the step and the update
	}
}

// addUpdate adds the checkpoint of a step of an opaque agent.
func (r *recorder) addUpdate(ev *mapping.Event) {
	for _, q := range ev.Head.Interrupts {
		r.refuseRepeated(q)
	}
	r.updates++
	r.uploaded = max(r.uploaded, ev.Head.Uploaded)
	if ev.Head.Step != nil {
		r.asked++
		ev.Head.Step = withoutWords(*ev.Head.Step)
	}
	if !ev.Head.Reduce {
		return
	}
	next := []string{rule.StepNode}
	if s := ev.Head.Step; s != nil && s.SaysLast && len(ev.Head.Interrupts) == 0 {
		next = nil
	}
	ev.Head.Checkpoint = newCheckpoint(&r.x.Run, "loop", r.step, next, ev.At)
	r.next = next
	r.step++
}

// withoutWords returns a step without its input, which may be long and is not read from the log. The hand-out contains
// it.
func withoutWords(s mapping.StepInfo) *mapping.StepInfo {
	s.Input = nil
	return &s
}

// addState replaces a full state with the difference to the previous one. It returns true if the event can be skipped,
// because there is no difference and no frame was requested.
func (r *recorder) addState(ev *mapping.Event) (skip bool, err error) {
	if ev.Head.Full {
		diff, err := r.difference(ev.Data)
		if err != nil {
			return false, mapping.Errorf(mapping.Upstream, mapping.CodeBadUpstream,
				"Agent %s sent a state that is not a JSON object.", r.x.agent.Name)
		}
		ev.Data, ev.Head.Full = diff, false
	}
	c := ev.Head.Checkpoint
	if again := ev.Head.Repeated; again != nil {
		r.step, r.next = again.Step+1, again.Next
	}
	if c == nil {
		return ev.Data == nil && ev.Head.Name == "", nil
	}
	made := newCheckpoint(&r.x.Run, c.Source, c.Step, c.Next, ev.At)
	if c.ID != "" {
		made.ID = c.ID
	}
	made.Tasks, made.Remote, made.RemoteThread, made.Metadata = c.Tasks, c.Remote, c.RemoteThread, c.Metadata
	ev.Head.Checkpoint = made
	r.step = c.Step + 1
	r.next = c.Next
	return false, nil
}

// addInterrupt sets the ids of questions that have none, and stops the run at a repeated question.
func (r *recorder) addInterrupt(ev *mapping.Event) {
	for i := range ev.Head.Interrupts {
		r.asked++
		if ev.Head.Interrupts[i].ID == "" {
			ev.Head.Interrupts[i].ID = mapping.InterruptID(r.x.Run.ID, r.asked)
		}
		r.refuseRepeated(ev.Head.Interrupts[i])
	}
}

// refuseRepeated fails the run if the agent repeats a question that has just received the default answer, or one that
// has received it too often. Otherwise this could go on forever.
func (r *recorder) refuseRepeated(q mapping.Interrupt) {
	o := &r.x.Run.Options
	if o.Guessed == "" {
		return
	}
	text := rule.QuestionText(q.Value)
	if text == o.Guessed && r.updates == 0 || slices.Contains(o.Exhausted, text) {
		r.fault = mapping.Errorf(mapping.Upstream, mapping.CodeRepeatedQuestion,
			"Agent %s asked the same question again after the default answer: %s", r.x.agent.Name, text)
	}
}

// writeEnd writes the end event with all queued events. It may be called again after a failure.
func (r *recorder) writeEnd(ctx context.Context, out mapping.Outcome) error {
	x := r.x
	now := x.store.Now()
	if out.Parked {
		return r.writer.close(ctx, nil, x.e.endOf(&x.Run, out, now, r.fold))
	}
	ev := mapping.Event{RunID: x.Run.ID, Kind: mapping.KindEnd, At: now, Head: mapping.Head{Outcome: &out, AgentTime: x.calls.agentTime()}}
	if n := x.Run.Attempt; n > 1 {
		ev.Head.Attempt = n
	}
	head := r.head
	if r.dirty {
		next := r.next
		if out.Status == mapping.RunSuccess {
			next = nil
		}
		ev.Head.Checkpoint = newCheckpoint(&x.Run, "loop", r.step, next, ev.At)
		head = ev.Head.Checkpoint.ID
	}
	after, err := r.fold.Apply(&ev)
	if err != nil {
		return err
	}
	p := piece{entry: &state.Entry{Event: ev, Before: r.fold, After: after}}
	if r.dirty {
		p.snapshot = r.snapshot(head, 0)
		r.cacheState(head, after)
	}
	if r.linked && r.agentRemembers() {
		link := r.link
		if r.agentState.start == nil { // otherwise the agent does not have the whole thread
			link.LocalCheckpoint = head
		}
		p.link = &link
	}
	return r.writer.close(ctx, &p, x.e.endOf(&x.Run, out, now, r.fold))
}

// agentRemembers reports whether the agent keeps the thread's messages itself, so that the link needs the checkpoint on
// which both sides agree.
func (r *recorder) agentRemembers() bool {
	if !r.exposes.ReportsState() {
		return r.link.Topic != ""
	}
	return r.link.Agreed()
}

// giveUp returns to the durable state, because the later events cannot be written. It returns the outcome of the run,
// which has then failed.
func (r *recorder) giveUp(out mapping.Outcome, err error) mapping.Outcome {
	r.statePoint = r.writer.giveUp()
	if out.Parked || out.Status == mapping.RunSuccess || out.Status == mapping.RunInterrupted && !out.Cancelled {
		return mapping.Outcome{Status: mapping.RunError, Fault: mapping.FaultOf(err)}
	}
	return out
}

// baseDistance returns the distance of the run's base from its snapshot.
func (r *recorder) baseDistance() store.Distance {
	x := r.x
	ctx, stop := context.WithTimeout(x.e.runContext(x.e.root, &x.Run), 5*time.Second)
	defer stop()
	_, _, d, err := x.e.log.Distance(ctx, x.Run.ThreadID, x.Run.Base)
	if err != nil {
		return store.Distance{}
	}
	return d
}
