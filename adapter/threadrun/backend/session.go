package backend

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// session is one call of Backend.Run. It is used by one goroutine.
type session struct {
	b     *backend
	t     *adapter.Task // its own: it is changed as the run goes on
	yield func(mapping.Event, error) bool
	outer context.Context // the caller's
	ctx   context.Context // ends with outer, or when the agent is silent too long
	stop  context.CancelCauseFunc
	alarm *time.Timer
	// streaming is the context of the stream that was opened last, leave ends it.
	streaming context.Context
	leave     context.CancelCauseFunc

	target   target
	link     mapping.Link
	stopped  bool   // yield said false
	further  bool   // the next request asks for one more step, not for a beginning
	took     string // the upstream run that was picked up; "" for none
	healed   bool   // a fresh thread stands in for one that was lost
	creates  bool   // the run's own request makes the thread
	unfused  bool   // the thread had to be made first, although the request should have made it
	rejoined bool   // frames may have been missed
	empty    int    // steps without output, one after the other
	made     supersteps

	// What the frames of the present upstream run told.
	lastID      string // newest SSE id
	checkpoints int    // state events of the root that made a checkpoint
	step        int    // of the newest of them
	frames      int    // read since the stream was opened
	told        bool   // the newest frames are those of an end: nothing comes next, or a question
	over        bool   // the newest state of the root has nothing behind it, and nothing came after it
	outputs     int    // root updates that were not empty
	paused      bool   // the graph was stopped before or after a node, as asked
	cancelled   bool   // the upstream run says it was cancelled
	newest      string // what the bridge calls the newest of them, where it was given here
	points      points
	asked       []mapping.Interrupt
	held        []mapping.Event   // told with the end
	askers      map[string]string // interrupt id to state task id
}

func newSession(ctx context.Context, b *backend, t *adapter.Task, yield func(mapping.Event, error) bool) *session {
	t.After = mapping.NewestAttempt(t.After) // what a failed one left upstream is not gone back to
	s := &session{b: b, t: t, yield: yield, outer: ctx, link: t.Link, askers: map[string]string{}}
	s.ctx, s.stop = context.WithCancelCause(ctx)
	if d := b.up.Config.StepTimeout; d > 0 {
		s.alarm = time.AfterFunc(d, func() { s.stop(errIdle) })
	}
	return s
}

// openStream opens an event stream. It takes the place of the one before.
func (s *session) openStream(method, path string, body any, lastID string) (*http.Response, error) {
	s.streaming, s.leave = context.WithCancelCause(s.ctx)
	resp, err := s.b.http.stream(s.streaming, method, path, body, lastID)
	if err != nil {
		s.leave(nil)
	}
	return resp, err
}

// fail tells why there is no outcome.
func (s *session) fail(err error) { s.yield(mapping.Event{}, s.fault(err)) }

func (s *session) close() {
	if s.alarm != nil {
		s.alarm.Stop()
	}
	s.stop(nil)
}

// alive says that the agent did something: its step_timeout starts again.
func (s *session) alive() {
	if s.alarm != nil {
		s.alarm.Reset(s.b.up.Config.StepTimeout)
	}
}

// run is the life of a session: find the graph, get back to what was begun or
// begin, read to the end, say how it ended.
func (s *session) run() error {
	if s.outer.Err() != nil {
		return s.gone()
	}
	var err error
	if s.target, err = s.b.target(s.ctx); err != nil {
		return err
	}
	if s.target.plain {
		return s.runPlain()
	}
	found, err := s.pickUp()
	if err != nil {
		return err
	}
	if found {
		return s.follow(nil)
	}
	return s.begin()
}

// emit yields one event of the run.
func (s *session) emit(ev mapping.Event) error {
	ev.RunID, ev.At = s.t.Run.ID, time.Now()
	if s.yield(ev, nil) {
		return nil
	}
	s.stopped = true
	return errStopped
}

// emitLink tells what the agent calls the thread and run by now.
func (s *session) emitLink() error {
	link := s.link
	return s.emit(mapping.Event{Kind: mapping.KindLinked, Head: mapping.Head{Link: &link}})
}

// gone is the error of a session whose context ended.
func (s *session) gone() error {
	return &mapping.Error{Class: mapping.Upstream, Code: mapping.CodeUpstreamError,
		Message: fmt.Sprintf("The call to agent %q was stopped.", s.b.up.Name), Err: context.Cause(s.outer)}
}

// fault is err as the caller gets it. When a context ended, what the transport
// says about it does not matter.
func (s *session) fault(err error) error {
	if s.outer.Err() != nil {
		return s.gone()
	}
	if errors.Is(context.Cause(s.ctx), errIdle) {
		s.cancelThere()
		return &mapping.Error{Class: mapping.Timeout, Code: mapping.CodeStepTimeout, Err: errIdle,
			Message: fmt.Sprintf("Agent %q said nothing for %s (step_timeout). The run was cancelled there.", s.b.up.Name, s.b.up.Config.StepTimeout)}
	}
	return mapping.Classify(err)
}

// cancelThere tells an agent that took too long, or too many steps, to stop.
func (s *session) cancelThere() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.outer), cancelTimeout)
	defer cancel()
	_ = s.b.Cancel(ctx, s.link, s.t.Run.ID)
}

// lost is the error for a thread or run that the server no longer knows.
func (s *session) lost(what string) error {
	return mapping.Errorf(mapping.Upstream, mapping.CodeUpstreamLost,
		"Agent %q no longer knows the %s; it may have been restarted. A new run starts there from the state that is kept here.", s.b.up.Name, what)
}

// unknown is the error for a run that was begun and whose end cannot be found
// out.
func (s *session) unknown(cause error) error {
	return &mapping.Error{Class: mapping.Upstream, Code: mapping.CodeOutcomeUnknown, Err: cause,
		Message: fmt.Sprintf("The connection to agent %q at %s was lost during the run, and it could not be asked how the run ended (%s).",
			s.b.up.Name, s.b.http.host, mapping.Classify(cause).Message)}
}
