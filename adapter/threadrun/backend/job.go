package backend

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
)

// job is shared by all parts of a driver: the assignment, the agent's ids of thread and run, the consumer of the events,
// and the timer of step_timeout. It is used by one goroutine.
type job struct {
	b       *backend
	t       *adapter.Assignment // a copy, which changes during the run
	yield   func(mapping.Event, error) bool
	stopped bool            // yield returned false
	outer   context.Context // the caller's
	ctx     context.Context // ends with outer, or when the agent is silent for too long
	stop    context.CancelCauseFunc
	alarm   *time.Timer

	target target
	link   mapping.Link
	origin origin
}

// origin describes how the upstream thread of a run is created.
type origin int

const (
	threadStands       origin = iota // it exists, or a separate request creates it
	threadComesWithRun               // the run's own request creates it
	threadCameFirst                  // it had to be created first, because the run's request did not create it
)

func newJob(ctx context.Context, b *backend, t *adapter.Assignment, yield func(mapping.Event, error) bool) *job {
	t.After = mapping.NewestAttempt(t.After) // upstream leftovers of a failed attempt are not used
	j := &job{b: b, t: t, yield: yield, outer: ctx, link: t.Link}
	j.ctx, j.stop = context.WithCancelCause(ctx)
	if d := b.up.Config.StepTimeout; d > 0 {
		j.alarm = time.AfterFunc(d, func() { j.stop(errIdle) })
	}
	return j
}

func (j *job) close() {
	if j.alarm != nil {
		j.alarm.Stop()
	}
	j.stop(nil)
}

// alive records activity of the agent and restarts step_timeout.
func (j *job) alive() {
	if j.alarm != nil {
		j.alarm.Reset(j.b.up.Config.StepTimeout)
	}
}

// emit yields one event of the run.
func (j *job) emit(ev mapping.Event) error {
	ev.RunID = j.t.Run.ID
	if j.yield(ev, nil) {
		return nil
	}
	j.stopped = true
	return errStopped
}

// breakOff yields the error that ends the run.
func (j *job) breakOff(err error) { j.yield(mapping.Event{}, j.fault(err)) }

// emitLink yields the agent's current ids of the thread and run.
func (j *job) emitLink() error {
	link := j.link
	return j.emit(mapping.Event{Kind: mapping.KindLinked, Head: mapping.Head{Link: &link}})
}

// began records the id of the upstream run, from the header, the metadata frame or a list. Until the run has ended,
// there is no agreed state.
func (j *job) began(run string) error {
	if run == "" || run == j.link.RemoteRun {
		return nil
	}
	j.link.RemoteRun, j.link.RemoteCheckpoint, j.link.RemoteMark = run, "", ""
	switch j.origin {
	case threadComesWithRun:
		j.origin = threadStands
	case threadCameFirst:
		j.b.separate.Store(true)
	}
	return j.emitLink()
}

// state reads the newest state of the run's upstream thread.
func (j *job) state() (stateWire, error) {
	st, err := j.b.head(j.ctx, j.link.Remote)
	if upstream.Status(err) == http.StatusNotFound {
		return st, j.lost("thread")
	}
	return st, err
}

// gone returns the error for a run whose context has ended.
func (j *job) gone() error {
	return &mapping.Error{Class: mapping.Upstream, Code: mapping.CodeUpstreamError,
		Message: fmt.Sprintf("The call to agent %q was stopped.", j.b.up.Name), Err: context.Cause(j.outer)}
}

// fault returns the error for the caller. If a context has ended, that takes precedence over the transport's error.
func (j *job) fault(err error) error {
	if j.outer.Err() != nil {
		return j.gone()
	}
	if errors.Is(context.Cause(j.ctx), errIdle) {
		j.cancelThere()
		return &mapping.Error{Class: mapping.Timeout, Code: mapping.CodeStepTimeout, Err: errIdle,
			Message: fmt.Sprintf("Agent %q sent nothing for %s (step_timeout). The bridge cancelled the run.", j.b.up.Name, j.b.up.Config.StepTimeout)}
	}
	return mapping.Classify(err)
}

// cancelThere asks an agent that took too long, or too many steps, to stop.
func (j *job) cancelThere() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(j.outer), cancelTimeout)
	defer cancel()
	_ = j.b.Cancel(ctx, j.link, j.t.Run.ID)
}

// lost returns the error for a thread or run that the server no longer knows.
func (j *job) lost(what string) error {
	return mapping.Errorf(mapping.Upstream, mapping.CodeUpstreamLost,
		"Agent %q no longer knows the %s; it may have been restarted. A new run starts from the state that the bridge has stored.", j.b.up.Name, what)
}

// unknown returns the error for a run that was started but whose end cannot be determined.
func (j *job) unknown(cause error) error {
	return &mapping.Error{Class: mapping.Upstream, Code: mapping.CodeOutcomeUnknown, Err: cause,
		Message: fmt.Sprintf("The connection to agent %q at %s was lost during the run, and the bridge could not find out how the run ended (%s).",
			j.b.up.Name, j.b.http.host, mapping.Classify(cause).Message)}
}
