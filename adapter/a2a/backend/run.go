package backend

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/a2a/wire"
	"github.com/apbridge/apbridge/adapter/sse"
	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/apbridge/apbridge/mapping/rule"
)

// errUnwanted means that the consumer of the run's events stopped.
var errUnwanted = errors.New("yield returned false")

// Intervals between two requests for a task that is polled. They grow to the longest one.
const (
	firstPoll   = 500 * time.Millisecond
	longestPoll = 10 * time.Second
)

// longestHold is the maximum time that a complete step is held. Usually the next event shows whether it is the last one.
const longestHold = 500 * time.Millisecond

// namingGrace is how long a run that was stopped waits for the agent to name the task of the message that it sent.
// Without the name the task could not be cancelled.
const namingGrace = 3 * time.Second

// run is one call of Run. It is used by one goroutine.
type run struct {
	*backend
	ctx      context.Context
	assigned *adapter.Assignment
	yield    func(mapping.Event, error) bool

	task    string        // the agent's id of the task; "" if it has none, or none yet
	context string        // the agent's id of the context; "" if it has none yet
	linked  bool          // a link of this run is logged, so that its message was sent
	named   chan struct{} // closed when linked becomes true
	heard   time.Time     // when the agent last reported on the task
	// uploaded records which uploads the agent has received in its context, including this message.
	uploaded mapping.UploadCursor
	output   output
}

func newRun(ctx context.Context, b *backend, t *adapter.Assignment, yield func(mapping.Event, error) bool) *run {
	r := &run{backend: b, ctx: ctx, assigned: t, yield: yield, context: t.Link.Topic, uploaded: t.Link.Uploaded, named: make(chan struct{})}
	r.output = newOutput(r)
	if t.Resume {
		r.task = t.Link.Remote
		r.output.noteLogged(t.Link.Steps...)
	}
	for _, ev := range mapping.NewestAttempt(t.After) {
		switch head := ev.Head; {
		case ev.Kind == mapping.KindLinked && head.Link != nil:
			r.linked, r.task, r.context = true, head.Link.Remote, head.Link.Topic
			r.output.noteLogged(head.Link.Steps...)
		case ev.Kind == mapping.KindUpdate && head.Step != nil:
			r.output.noteLogged(head.Step.ID)
		}
		r.output.replay(ev)
	}
	if r.linked {
		close(r.named)
	}
	return r
}

// run sends the message unless an earlier process has, and follows the task to its end.
func (r *run) run() error {
	switch {
	case r.ctx.Err() != nil:
		return r.stopped()
	case r.output.over != nil: // the last step is logged, but not the end
		return r.end(*r.output.over)
	case r.assigned.Resume && r.task == "":
		return r.fail(mapping.CodeUpstreamLost, "has no task to which this answer could go. Start a new run.")
	case r.linked:
		return r.follow()
	case r.assigned.InDoubt:
		return r.findSent(nil)
	}
	return r.send()
}

// messageID is the id of the message that the run sends. A further attempt sends another message.
func (r *run) messageID() string {
	return mapping.MessageID(r.assigned.Run.ID, fmt.Sprintf("a2a/%d", max(r.assigned.Run.Attempt, 1)))
}

// send sends the message and reads the events of its stream, if there is one (S 3.1.1, 3.1.2).
func (r *run) send() error {
	m, err := r.message()
	if err != nil {
		return err
	}
	e, err := r.endpoint(r.ctx)
	if err != nil {
		return err
	}
	request := &wire.SendMessageRequest{Message: m, Metadata: wire.Object(r.assigned.Task.Additional)}
	if e.streams {
		err := r.stream(wire.MethodSendStreamingMessage, request)
		e := protocolError(err)
		if errors.As(err, new(*streamError)) || e == nil || e.Code != wire.CodeUnsupportedOperation && e.Code != wire.CodeMethodNotFound {
			return r.after(err)
		}
		// The card announces streams, but the agent refused the call because it has none.
	}
	request.Configuration = &wire.SendMessageConfiguration{ReturnImmediately: true}
	ctx, stop := r.untilNamed()
	defer stop()
	result, err := r.call(ctx, wire.MethodSendMessage, request)
	if err == nil {
		err = r.answer(r.version(), result)
	}
	return r.after(err)
}

// untilNamed returns the context for a call that may send the message. It ends with the context of the run, or up to
// namingGrace later if the agent has not named the task yet.
func (r *run) untilNamed() (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(context.WithoutCancel(r.ctx))
	forget := context.AfterFunc(r.ctx, func() {
		defer stop()
		select {
		case <-r.named:
		case <-ctx.Done():
		case <-time.After(namingGrace):
		}
	})
	return ctx, func() { forget(); stop() }
}

// after continues after the message was sent, whether its response came or not.
func (r *run) after(err error) error {
	switch {
	case errors.Is(err, errUnwanted):
		return err
	case err != nil && r.ctx.Err() != nil:
		return r.stopped()
	case err == nil:
		return r.follow()
	case errors.Is(err, errCut) || upstream.MayHaveActed(err) || isUnreadable(err):
		if r.linked {
			return r.follow()
		}
		return r.findSent(err)
	}
	return err
}

// isUnreadable reports whether a response to a call was received but could not be read. The agent may have acted.
func isUnreadable(err error) bool {
	e := protocolError(err)
	return e != nil && e.Code == wire.CodeInvalidAgentResponse || upstream.Is(err, upstream.BadAnswer)
}

// version returns the version that the agent was found to speak.
func (r *run) version() wire.Version {
	e, err := r.endpoint(r.ctx)
	if err != nil {
		return wire.V1
	}
	return e.version
}

// message returns the message of the run: the prompt of a new task or the answer to a question, and the files that the
// agent does not know. The links and data of a client's message are parts of their own.
func (r *run) message() (*wire.Message, error) {
	m := &wire.Message{MessageID: r.messageID(), Role: wire.RoleUser, ContextID: r.context}
	first := wire.TextPart(r.assigned.Task.Prompt)
	if r.assigned.Resume {
		m.TaskID, first = r.task, answerPart(r.assigned.Task.Answer)
	}
	files, err := r.newFiles()
	if err != nil {
		return nil, err
	}
	m.Parts = r.withExtras(first)
	for _, f := range files {
		part, err := r.filePart(f)
		if err != nil {
			return nil, err
		}
		m.Parts = append(m.Parts, part)
	}
	return m, nil
}

// newFiles returns the files of the thread for the message. An agent that knows the context has received the earlier
// uploads, and made the other files itself.
func (r *run) newFiles() ([]mapping.Artifact, error) {
	list, err := r.assigned.Files.List(r.ctx)
	if err != nil {
		return nil, err
	}
	if before := r.uploaded; r.assigned.Resume || r.context != "" {
		list = slices.DeleteFunc(list, func(f mapping.Artifact) bool { return f.AgentCreated || before.Has(f) })
	}
	r.uploaded = r.uploaded.With(list...)
	size := int64(0)
	for _, f := range list {
		size += f.Size
	}
	if limit := int64(r.up.Limits.Event) / 2; limit > 0 && size > limit {
		return nil, mapping.Errorf(mapping.TooLarge, mapping.CodeInvalid,
			"The files for agent %q have %d bytes together, and a message may hold %d (half of limits.event): %s. Send fewer at once, or links. If they belong to an earlier conversation, start a new thread.",
			r.up.Name, size, limit, named(list))
	}
	return list, nil
}

// named returns the paths of the first few files, separated by commas.
func named(list []mapping.Artifact) string {
	const most = 5
	var paths []string
	for _, f := range list[:min(len(list), most)] {
		paths = append(paths, strconv.Quote(f.Path))
	}
	if len(list) > most {
		paths = append(paths, "…")
	}
	return strings.Join(paths, ", ")
}

// withExtras returns the first part of a message, unless it is an empty text, and the extras.
func (r *run) withExtras(first wire.Part) (parts wire.Parts) {
	extras := r.assigned.Task.Extras
	if first.Kind != wire.PartText || first.Text != "" || len(extras) == 0 {
		parts = append(parts, first)
	}
	for _, e := range extras {
		if e.Data != nil {
			parts = append(parts, wire.DataPart(e.Data))
			continue
		}
		parts = append(parts, wire.Part{Kind: wire.PartURL, URL: e.Link.Link, Filename: e.Link.Name, MediaType: e.Link.MIMEType})
	}
	return parts
}

// answerPart returns the part for an answer: a data part for a JSON value, otherwise a text part.
func answerPart(a rule.Answer) wire.Part {
	if a.Data {
		return wire.DataPart(json.RawMessage(a.Text))
	}
	return wire.TextPart(a.Text)
}

// filePart returns a file of the thread as bytes.
func (r *run) filePart(f mapping.Artifact) (wire.Part, error) {
	body, err := r.assigned.Files.Open(r.ctx, f.ID)
	if err != nil {
		return wire.Part{}, err
	}
	defer body.Close()
	raw, err := io.ReadAll(body)
	return wire.Part{Kind: wire.PartRaw, Raw: raw, Filename: f.Path, MediaType: cmp.Or(f.MIMEType, "application/octet-stream")}, err
}

// errCut means that a stream ended before its task had.
var errCut = errors.New("the stream ended before its task")

// streamError is an error that the agent sent within a stream. The agent may already have started to work.
type streamError struct{ error }

func (e *streamError) Unwrap() error { return e.error }

// stream calls a streaming method and handles its events. It returns nil if the task has settled, and errCut if the
// stream ended before.
func (r *run) stream(m wire.Method, params any) error {
	named, forget := r.untilNamed()
	defer forget()
	ctx, stop := context.WithCancelCause(named)
	defer stop(nil)
	// A connection that has silently broken would otherwise be read until the run times out.
	idle := time.AfterFunc(r.stepTimeout(), func() { stop(context.DeadlineExceeded) })
	defer idle.Stop()
	o, err := r.open(ctx, m, params)
	if err != nil {
		return err
	}
	if o.stream == nil {
		return r.answer(o.endpoint.version, o.result)
	}
	defer o.stream.Close()
	idle.Reset(r.stepTimeout())
	frames := readFrames(sse.NewReader(o.stream, int(r.up.Limits.Event)))
	defer func() {
		stop(nil)
		frames.end()
	}()
	for {
		frame, err, failed := r.next(frames)
		switch {
		case failed != nil:
			return failed
		case r.ctx.Err() != nil && (err != nil || r.linked):
			return r.stopped()
		case errors.Is(err, sse.ErrTooLong):
			return &upstream.Failure{Kind: upstream.BadAnswer, Err: upstream.ErrTooLong}
		case err != nil:
			return errCut
		}
		idle.Reset(r.stepTimeout())
		ev, err := r.reader.Event(o.endpoint.version, frame.Data)
		if e := protocolError(err); e != nil && e.Code == wire.CodeInvalidAgentResponse {
			continue // not an event of the protocol
		} else if err != nil {
			if r.linked {
				return errCut // the task shows what became of it
			}
			return &streamError{err}
		}
		r.heard = time.Now()
		if err := r.handle(ev); err != nil || r.output.settled() {
			return err
		}
	}
}

// next returns the next frame of a stream. If no frame arrives in time, it yields the held step first. failed is the error
// of yielding, and err is the error of reading.
func (r *run) next(f *frameReader) (frame sse.Event, err, failed error) {
	f.more <- struct{}{}
	var late <-chan time.Time
	if s := r.output.held; s != nil {
		wait := time.Until(s.since.Add(longestHold))
		late = time.After(max(wait, longestHold/5)) // if yielding took long, the frame may have arrived
	}
	select {
	case got := <-f.read:
		return got.frame, got.err, nil
	case <-late:
	}
	if err := r.output.flush(false); err != nil {
		return sse.Event{}, nil, err
	}
	got := <-f.read
	return got.frame, got.err, nil
}

// frameReader reads frames of a stream on a separate goroutine. It reads one frame for each value sent to more.
type frameReader struct {
	more chan struct{}
	read chan frameRead
}

type frameRead struct {
	frame sse.Event
	err   error
}

func readFrames(from *sse.Reader) *frameReader {
	f := &frameReader{more: make(chan struct{}), read: make(chan frameRead, 1)}
	go func() {
		defer close(f.read)
		for range f.more {
			frame, err := from.Next()
			f.read <- frameRead{frame, err}
		}
	}()
	return f
}

// end waits for the goroutine. The context of the stream must have ended.
func (f *frameReader) end() {
	close(f.more)
	for range f.read {
	}
}

// answer handles a document that is the whole response to a message.
func (r *run) answer(v wire.Version, result json.RawMessage) error {
	var response wire.SendMessageResponse
	if err := r.reader.Read(v, result, &response); err != nil {
		return err
	}
	if response.Task == nil && response.Message == nil {
		return &wire.Error{Code: wire.CodeInvalidAgentResponse, Message: "It is neither a task nor a message."}
	}
	return r.handle(wire.StreamResponse{Task: response.Task, Message: response.Message})
}

// handle notes an event and yields the steps that it completes.
func (r *run) handle(ev wire.StreamResponse) error {
	switch {
	case r.isForeign(&ev):
		return nil
	case ev.Task != nil:
		if err := r.link(ev.Task.ID, ev.Task.ContextID); err != nil {
			return err
		}
		r.output.snapshot(ev.Task)
		if err := r.output.report(&ev.Task.Status); err != nil {
			return err
		}
	case ev.Message != nil:
		if ev.Message.Role == wire.RoleUser { // an echo
			return nil
		}
		if err := r.link(ev.Message.TaskID, ev.Message.ContextID); err != nil {
			return err
		}
		if err := r.output.message(ev.Message); err != nil {
			return err
		}
	case ev.StatusUpdate != nil:
		if err := r.link(ev.StatusUpdate.TaskID, ev.StatusUpdate.ContextID); err != nil {
			return err
		}
		if err := r.output.status(&ev.StatusUpdate.Status); err != nil {
			return err
		}
	case ev.ArtifactUpdate != nil:
		if err := r.link(ev.ArtifactUpdate.TaskID, ev.ArtifactUpdate.ContextID); err != nil {
			return err
		}
		r.output.artifact(ev.ArtifactUpdate)
	}
	return r.output.deliver()
}

// isForeign reports whether an event belongs to another task. Ids are required, but some agents omit them.
func (r *run) isForeign(ev *wire.StreamResponse) bool {
	id := ""
	switch {
	case ev.Task != nil:
		id = ev.Task.ID
	case ev.Message != nil:
		id = ev.Message.TaskID
	case ev.StatusUpdate != nil:
		id = ev.StatusUpdate.TaskID
	case ev.ArtifactUpdate != nil:
		id = ev.ArtifactUpdate.TaskID
	}
	return r.linked && r.task != "" && id != "" && id != r.task
}

// link yields the agent's ids once they are known. An event without the id of its task only shows that the message
// arrived.
func (r *run) link(task, context string) error {
	if r.linked && (r.task != "" || task == "") {
		return nil
	}
	r.task, r.context = cmp.Or(task, r.task), cmp.Or(context, r.context)
	if !r.linked {
		r.linked = true
		close(r.named)
	}
	if err := r.emitLink(); err != nil {
		return err
	}
	if r.ctx.Err() != nil {
		return r.stopped()
	}
	return nil
}

func (r *run) emitLink() error {
	link := &mapping.Link{Agent: r.up.Name, TaskID: r.assigned.TaskID, Remote: r.task, Topic: r.context, Steps: r.output.ids(), Uploaded: r.uploaded}
	return r.emit(mapping.Event{Kind: mapping.KindLinked, Head: mapping.Head{Link: link}})
}

// follow reads the events of a task whose message was sent, until it has settled (S 3.1.6). Each stream begins with the
// whole task, so nothing is missed. An agent without subscriptions is polled.
func (r *run) follow() error {
	if done, err := r.finish(); done || err != nil {
		return err
	}
	if r.task == "" {
		return r.fail(mapping.CodeOutcomeUnknown, "broke off its response and named no task by which the rest could be found. "+
			"Check what it has done, then start a new run.")
	}
	e, err := r.endpoint(r.ctx)
	if err != nil {
		return err
	}
	r.output.streamBroke()
	r.heard = time.Now()
	for wait, subscribes := firstPoll, e.streams; ; wait = min(2*wait, longestPoll) {
		if subscribes {
			began := time.Now()
			err := r.stream(wire.MethodSubscribeToTask, &wire.SubscribeToTaskRequest{ID: r.task})
			if time.Since(began) > longestPoll {
				wait = firstPoll
			}
			switch {
			case err == nil || errors.Is(err, errUnwanted):
			case errors.Is(err, errCut) || upstream.MayHaveActed(err) || upstream.Untouched(err) || upstream.Is(err, upstream.BadAnswer):
				if r.ctx.Err() != nil {
					return r.stopped()
				}
			case protocolError(err) != nil || upstream.Status(err) != 0:
				subscribes = false // it cannot, or the task has ended (UnsupportedOperation)
			default:
				return err
			}
		}
		switch err := r.poll(); {
		case err == nil:
			r.heard = time.Now()
		case r.ctx.Err() != nil:
			return r.stopped()
		case !away(err):
			return r.unclear(err)
		case time.Since(r.heard) > r.stepTimeout():
			return r.unreadable(err)
		}
		if done, err := r.finish(); done || err != nil {
			return err
		}
		if err := r.output.flush(false); err != nil {
			return err
		}
		if err := pause.For(r.ctx, wait); err != nil {
			return r.stopped()
		}
	}
}

// away reports whether a failed read may succeed later: the agent was not reached, or a gateway answered in its place.
func away(err error) bool {
	f := upstream.Of(err)
	return f != nil && (upstream.MayHaveActed(err) || upstream.Untouched(err) || f.Status == http.StatusServiceUnavailable)
}

// poll reads the task (S 3.1.3).
func (r *run) poll() error {
	if r.output.settled() {
		return nil
	}
	result, err := r.call(r.ctx, wire.MethodGetTask, &wire.GetTaskRequest{ID: r.task})
	if e := protocolError(err); e != nil && e.Code == wire.CodeTaskNotFound {
		return r.fail(mapping.CodeUpstreamLost, "no longer knows task %q; it was probably restarted. Start a new run: the thread is kept.", r.to.Excerpt(r.task, 80))
	}
	if err != nil {
		return err
	}
	var task wire.Task
	if err := r.reader.Read(r.version(), result, &task); err != nil {
		return err
	}
	ev := wire.StreamResponse{Task: &task}
	if r.isForeign(&ev) {
		return r.fail(mapping.CodeOutcomeUnknown, "was asked about task %q and answered with task %q. Check what it has done, then start a new run.",
			r.to.Excerpt(r.task, 80), r.to.Excerpt(task.ID, 80))
	}
	return r.handle(ev)
}

// hasMessage reports whether a task has the message of this run. If its history does not show that, the question
// decides: the answered one is logged.
func (r *run) hasMessage(task wire.Task) bool {
	return r.isSent(&task) || !r.output.isLogged(questionID(&task.Status))
}

// mostSearched is how many of the agent's newest tasks are searched for a message, and mostHistory how many of the newest
// messages of each. Agents may return none unless the request says how many, and LangGraph Server refuses more than 10.
const (
	mostSearched = 100
	mostHistory  = 10
)

// findSent searches the task of a message whose response was lost, or that an earlier process may have sent. The
// message is not sent again. broke is the error of the call, or nil.
func (r *run) findSent(broke error) error {
	if r.assigned.Resume {
		return r.findAnswered(broke)
	}
	size, history := mostSearched, mostHistory
	result, err := r.call(r.ctx, wire.MethodListTasks, &wire.ListTasksRequest{ContextID: r.context, PageSize: &size, HistoryLength: &history})
	if err != nil {
		return r.unknown(broke, err)
	}
	var list wire.ListTasksResponse
	if err := r.reader.Read(r.version(), result, &list); err != nil {
		return r.unknown(broke, err)
	}
	var found *wire.Task
	for i := range list.Tasks {
		if task := &list.Tasks[i]; r.isSent(task) && (found == nil || task.Status.Timestamp.After(found.Status.Timestamp)) {
			found = task
		}
	}
	if found == nil {
		return r.unknown(broke, nil)
	}
	if err := r.link(found.ID, found.ContextID); err != nil {
		return err
	}
	return r.follow()
}

// isSent reports whether a task may have received the message. Tasks of LangGraph Server contain the history of their
// whole context, so other tasks may also contain the message. The newest is the right one, because the bridge sends no
// later message.
func (r *run) isSent(task *wire.Task) bool {
	return slices.ContainsFunc(task.History, func(m wire.Message) bool {
		return m.MessageID == r.messageID() && (m.TaskID == "" || m.TaskID == task.ID)
	})
}

// findAnswered reads the task whose answer may have been lost. If it still asks, nobody knows whether the answer is on
// its way.
func (r *run) findAnswered(broke error) error {
	result, err := r.call(r.ctx, wire.MethodGetTask, &wire.GetTaskRequest{ID: r.task})
	if err != nil {
		return r.unknown(broke, err)
	}
	var task wire.Task
	if err := r.reader.Read(r.version(), result, &task); err != nil {
		return r.unknown(broke, err)
	}
	if task.Status.State == wire.StateInputRequired && !r.hasMessage(task) {
		return r.unknown(broke, nil)
	}
	if err := r.link(task.ID, task.ContextID); err != nil {
		return err
	}
	return r.follow()
}

// complete reads a settled task again if its artifacts are unverified.
func (r *run) complete() error {
	if !r.output.isUnverified() {
		return nil
	}
	result, err := r.call(r.ctx, wire.MethodGetTask, &wire.GetTaskRequest{ID: r.task})
	var task wire.Task
	if err == nil && r.reader.Read(r.version(), result, &task) == nil {
		r.output.snapshot(&task)
	}
	r.output.markVerified()
	return r.output.deliver()
}

// finish yields the end if the task has settled.
func (r *run) finish() (done bool, err error) {
	if !r.output.settled() {
		return false, nil
	}
	if err := r.complete(); err != nil {
		return true, err
	}
	out, err := r.output.finish()
	if err != nil {
		return true, err
	}
	if out.Status == mapping.RunInterrupted && !out.Cancelled {
		if err := r.emitLink(); err != nil { // the run with the answer must know which steps are logged
			return true, err
		}
	}
	return true, r.end(out)
}

func (r *run) end(out mapping.Outcome) error {
	return r.emit(mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &out}})
}

func (r *run) emit(ev mapping.Event) error {
	ev.RunID = r.assigned.Run.ID
	if !r.yield(ev, nil) {
		return errUnwanted
	}
	return nil
}
