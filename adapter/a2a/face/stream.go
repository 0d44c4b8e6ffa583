package face

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/a2a/wire"
	"github.com/apbridge/apbridge/adapter/sse"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/apbridge/apbridge/mapping/state"
	"go.uber.org/zap"
)

// ResumeExtension is the extension of A2A by which a stream continues after its last frame. Each frame has an id. A
// client that sends the last one as Last-Event-ID, when it subscribes or repeats a message with the same messageId, gets
// the frames after it in place of the leading task, even if the task has ended by then.
const ResumeExtension = "https://github.com/apbridge/apbridge/extensions/resume/v1"

// streamMessage serves the operation SendStreamingMessage.
func (s *server) streamMessage(c *call) error {
	after, resumes, err := positionOf(c.r.Header)
	if err != nil {
		return err
	}
	done, err := adapter.OpenStream(c.r.Context())
	if err != nil {
		return err
	}
	defer done()
	m, err := s.send(c, streamModes, resumes && after.seq > 0)
	if err != nil {
		return err
	}
	if m.task.Agent == "" {
		m.task.Agent = c.agent.Graph
	}
	st := s.newStream(c, &m.task, after, resumes)
	defer st.close()
	st.modes = m.outputModes()
	if m.fresh {
		if !resumes {
			task := m.begun(st.view)
			st.write(&wire.StreamResponse{Task: &task}, "0")
		}
		return st.settle(st.follow(&m.run, !resumes))
	}
	runs, err := s.runsOf(c.r.Context(), &m.task)
	if err != nil {
		return err
	}
	return st.settle(st.followTask(runs, m.historyLength()))
}

// subscribe serves the operation SubscribeToTask.
func (s *server) subscribe(c *call) error {
	after, resumes, err := positionOf(c.r.Header)
	if err != nil {
		return err
	}
	var q wire.SubscribeToTaskRequest
	t, err := s.requestedTask(c, &q, &q.Tenant, &q.ID)
	if err != nil {
		return err
	}
	if t.Status.Ended() && !resumes {
		return unsupported(&t, "The task has ended, so nothing more will happen to it. Get it with GetTask.")
	}
	done, err := adapter.OpenStream(c.r.Context())
	if err != nil {
		return err
	}
	defer done()
	runs, err := s.runsOf(c.r.Context(), &t)
	if err != nil {
		return err
	}
	st := s.newStream(c, &t, after, resumes)
	defer st.close()
	if len(runs) == 0 {
		if runs, err = st.awaitRun(); err != nil {
			return st.settle(err)
		}
	}
	err = st.followTask(runs, nil)
	if err == nil && st.view.status.State == wire.StateInputRequired && (!resumes || !st.wrote) {
		err = st.awaitAnswer(runs[len(runs)-1].ID)
	}
	return st.settle(err)
}

// positionOf reads Last-Event-ID. "0" is the position before the first event, "<seq>" the one after a whole event, and
// "<seq>.<k>" the one after a frame of an event.
func positionOf(h http.Header) (at position, given bool, err error) {
	values := h.Values("Last-Event-Id")
	if len(values) == 0 || values[0] == "" {
		return position{}, false, nil
	}
	head, tail, dotted := strings.Cut(strings.TrimSpace(values[0]), ".")
	seq, err := strconv.ParseUint(head, 10, 63)
	at = position{int64(seq), -1}
	if err == nil && dotted {
		var k uint64
		k, err = strconv.ParseUint(tail, 10, 31)
		at.k = int(k)
	}
	if err != nil {
		return at, true, badPosition()
	}
	return at, true, nil
}

func badPosition() error {
	return invalidParams("Last-Event-ID", "must be the id of a frame of this task's stream")
}

// stream is a response in progress. Not safe for concurrent use.
type stream struct {
	s       *server
	c       *call
	task    *mapping.Task
	view    *view
	modes   *outputModes
	out     *sse.Stream
	ctx     context.Context
	stop    context.CancelFunc
	after   position
	resumes bool
	wrote   bool // a frame was written
	closed  bool // the last frame closes the stream
	err     error
}

// startGrace is how long a stream waits for its first frame before it sends the status. Until then it can be refused.
const startGrace = time.Second

func (s *server) newStream(c *call, t *mapping.Task, after position, resumes bool) *stream {
	st := &stream{s: s, c: c, task: t, after: after, resumes: resumes, modes: new(outputModes), view: s.newView(c, t)}
	st.view.file = s.fileOf(c, t)
	st.ctx, st.stop = context.WithCancel(c.r.Context())
	st.out = sse.NewStream(c.w, s.face.Heartbeat, st.stop)
	if resumes {
		st.out.DelayStart(startGrace)
	}
	return st
}

func (st *stream) close() {
	st.out.Close()
	st.stop()
}

// write writes a frame.
func (st *stream) write(r *wire.StreamResponse, id string) {
	raw, err := st.c.encode(r)
	if err == nil {
		err = st.out.Write(sse.AppendFrame(nil, "", raw, id))
	}
	if err != nil && st.err == nil {
		st.err = err
	}
	st.wrote = true
	if u := r.StatusUpdate; u != nil {
		st.closed = u.Status.State.ClosesStream()
	}
	if r.Task != nil {
		st.closed = r.Task.Status.State.ClosesStream()
	}
}

// awaitRun waits for the first run of a task that a v1 client has created.
func (st *stream) awaitRun() ([]mapping.Run, error) {
	task, err := st.s.fullTask(st.c, st.task, nil)
	if err != nil {
		return nil, err
	}
	if !st.resumes {
		st.write(&wire.StreamResponse{Task: &task}, "0")
		st.resumes = true // the frames of all events follow
	}
	for {
		runs, err := st.s.runsOf(st.ctx, st.task)
		if err != nil || len(runs) > 0 {
			return runs, err
		}
		st.out.Idle()
		if err := pause.For(st.ctx, time.Second); err != nil {
			return nil, err
		}
	}
}

// awaitAnswer continues a subscription to a task that already waited for an answer (S 3.1.6). It follows the runs after the
// run asked until a state closes the stream. If the task ends without another run, it sends the final status.
func (st *stream) awaitAnswer(asked string) error {
	for {
		st.out.Idle()
		if err := pause.For(st.ctx, time.Second); err != nil {
			return err
		}
		t, err := st.s.findTask(st.c, st.task.ID)
		if err != nil {
			return err
		}
		runs, err := st.s.runsOf(st.ctx, &t)
		if err != nil {
			return err
		}
		after := slices.IndexFunc(runs, func(r mapping.Run) bool { return r.ID == asked }) + 1
		for st.closed = false; after < len(runs) && !st.closed; after++ {
			if err := st.follow(&runs[after], true); err != nil {
				return err
			}
			asked = runs[after].ID
		}
		if st.closed {
			return nil
		}
		if t.Status.Ended() {
			status := wire.TaskStatus{State: states[t.Status], Timestamp: t.StatusAt}
			st.write(&wire.StreamResponse{StatusUpdate: &wire.TaskStatusUpdateEvent{TaskID: t.ID, ContextID: st.view.contextID, Status: status}}, "")
			return st.err
		}
	}
}

// followTask sends the task as it is, or the frames after the client's position, and then follows the newest run.
func (st *stream) followTask(runs []mapping.Run, history *int) error {
	older, newest := runs[:len(runs)-1], &runs[len(runs)-1]
	for i := range older {
		read := func() error { return st.follow(&older[i], false) }
		if !st.resumes && !older[i].Status.Active() {
			read = func() error { return st.s.readEnd(st.ctx, st.view, &older[i]) }
		}
		if err := read(); err != nil {
			return err
		}
	}
	st.closed = false
	if st.resumes {
		return st.follow(newest, false)
	}
	return st.snapshot(newest, history)
}

// follow sends the frames of a run after the client's position. With all, it sends every frame.
func (st *stream) follow(r *mapping.Run, all bool) error {
	st.view.begin(r)
	for e, err := range st.s.svc.RunEvents(st.ctx, runRef(r), adapter.Cursor{K: -1, Start: true}, st.idle) {
		if err == nil {
			st.send(r, e, all || st.resumes)
			err = st.err
		}
		if err != nil {
			return err
		}
	}
	return st.err
}

// send sends the frames of an event.
func (st *stream) send(r *mapping.Run, e *state.Entry, show bool) {
	for k, update := range st.view.add(r, e) {
		if update == nil {
			continue
		}
		frames, id := st.modes.update(update), ""
		for i, frame := range frames {
			if i == len(frames)-1 {
				id = strconv.FormatInt(e.Seq, 10) + "." + strconv.Itoa(k)
			}
			if show && !older(e.Seq, k, st.after) {
				st.write(frame, id)
			}
		}
	}
}

// idle is called before the stream waits for more events.
func (st *stream) idle() {
	if st.resumes && st.after.seq > st.view.seq && st.view.seq > 0 && !st.out.Begun() {
		st.err = badPosition()
		st.stop()
		return
	}
	st.out.Idle()
}

// snapshot sends the task as it is, followed by the frames of later events of its newest run.
func (st *stream) snapshot(r *mapping.Run, history *int) error {
	st.view.begin(r)
	shown := false
	show := func() {
		if shown {
			return
		}
		shown = true
		task := st.view.task()
		task.History = newestOf(task.History, history)
		task.Artifacts = append(task.Artifacts, st.s.files(st.c, st.task, st.view)...)
		trim(task)
		st.modes.task(task)
		frames := st.view.framesOf(task)
		for i, frame := range frames {
			id := "" // a client that is cut off earlier gets all of them again
			if i == len(frames)-1 {
				id = strconv.FormatInt(st.view.seq, 10)
			}
			st.write(frame, id)
		}
	}
	idle := func() {
		show()
		st.out.Idle()
	}
	for e, err := range st.s.svc.RunEvents(st.ctx, runRef(r), adapter.Cursor{K: -1, Start: true}, idle) {
		if err == nil {
			st.send(r, e, shown)
			err = st.err
		}
		if err != nil {
			return err
		}
	}
	show()
	return st.err
}

// maxSnapshot is the number of bytes of text of a history in a stream. Clients refuse frames of more than 4 MiB.
const maxSnapshot = 512 << 10

// trim leaves out the oldest messages of a long history.
func trim(t *wire.Task) {
	size := 0
	for i := len(t.History) - 1; i >= 0; i-- {
		for _, p := range t.History[i].Parts {
			size += len(p.Text) + len(p.Raw) + len(p.Data)
		}
		if size > maxSnapshot {
			t.History = t.History[i+1:]
			return
		}
	}
}

// framesOf returns the frames for a task. If the text of its artifacts is too long for one frame, the artifacts that do not
// fit follow in separate frames, and the state that closes the stream comes last.
func (v *view) framesOf(t *wire.Task) []*wire.StreamResponse {
	size := 0
	n := slices.IndexFunc(t.Artifacts, func(a wire.Artifact) bool {
		for _, p := range a.Parts {
			size += len(p.Text) + len(p.Data)
		}
		return size > maxText
	})
	list := []*wire.StreamResponse{{Task: t}}
	if n < 0 {
		return list
	}
	later, status := t.Artifacts[n:], t.Status
	t.Artifacts = t.Artifacts[:n]
	for _, a := range later {
		list = v.wholeUpdates(list, a, a.Parts)
	}
	if status.State.ClosesStream() {
		t.Status = wire.TaskStatus{State: wire.StateWorking, Timestamp: status.Timestamp}
		list = append(list, &wire.StreamResponse{StatusUpdate: &wire.TaskStatusUpdateEvent{TaskID: t.ID, ContextID: t.ContextID, Status: status}})
	}
	return list
}

// settle ends the stream, or returns err if the response has not begun.
func (st *stream) settle(err error) error {
	if st.err != nil && err == nil {
		err = st.err
	}
	if err == nil && !st.out.Begun() && st.resumes && st.after.seq > st.view.seq {
		err = badPosition()
	}
	if err == nil {
		err = st.out.Flush()
	}
	if own := (*wire.Error)(nil); errors.As(st.err, &own) {
		err = st.err // rather than the end of the context, which it has caused
	}
	ctx := st.c.r.Context()
	switch begun := !st.out.Withdraw(); {
	case err == nil && st.closed:
		return nil
	case !begun:
		return err
	case ctx.Err() != nil && adapter.Stopping(ctx) == nil, st.out.Failed():
		return nil
	case err != nil && toWire(err).Code == wire.CodeTaskNotFound: // deleted; reconnecting would not help
		st.fail(err)
		return nil
	case err == nil && st.resumes:
		return nil
	}
	// A clean end would be taken for the end of the task. After an abrupt one clients reconnect.
	st.s.log.Warn("stream was cut off", zap.String("task", st.task.ID), zap.Error(err))
	panic(http.ErrAbortHandler)
}

// fail sends an error as the last frame. @a2a-js/sdk 1.3.0 finds it by the name of the event.
func (st *stream) fail(err error) {
	e := toWire(err)
	raw := wire.AppendHTTPError(nil, st.c.version, e)
	if st.c.rpc {
		raw = wire.AppendError(nil, st.c.id, e)
	}
	_ = st.out.Write(sse.AppendFrame(nil, "error", raw, ""))
	_ = st.out.Flush()
}
