package backend

import (
	"cmp"
	"encoding/json"
	"net/http"

	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
)

// outcome determines how a run ended and yields its end. If the stream was complete, it requests nothing. Otherwise it
// reads the state and, in doubt, the run itself.
type outcome struct {
	*job
	names  *names
	frames *translator
	stream *stream
	empty  int // consecutive steps without output
}

// verdict is the state of a run whose stream has closed.
type verdict int

const (
	goesOn verdict = iota
	hasEnded
	wasCancelled
)

// wasTold reports whether the stream was read completely and showed the end of the run. It returns false if frames may
// have been missed.
func (o *outcome) wasTold() bool {
	return o.frames.told.complete() && !o.stream.rejoined && o.link.RemoteRun != ""
}

// tellAsTold ends a run whose stream was complete.
func (o *outcome) tellAsTold() error {
	o.link.RemoteCheckpoint, o.link.RemoteMark = "", mark(o.link.RemoteRun, o.frames.told.step)
	link := o.link
	head := mapping.Head{Link: &link, Outcome: &mapping.Outcome{Status: mapping.RunSuccess}}
	return o.emit(mapping.Event{Kind: mapping.KindEnd, Head: head})
}

// verdict returns the state of the run according to the thread's state or the status of the run. The error of a failed
// run is a runError.
func (o *outcome) verdict(st stateWire) (verdict, error) {
	open := asks(st)
	if o.ours(st) && (len(st.Next) == 0 || o.frames.told.paused || open || o.target.bare && o.stopsAtNodes()) {
		return hasEnded, nil
	}
	run, err := o.fetchRun()
	if err != nil {
		return goesOn, err
	}
	switch run.Status {
	case "pending", "running":
		return goesOn, nil
	case "error":
		said := errorWire{Message: cmp.Or(run.Error, run.OldError)}
		if said.Message == "" {
			said = failedTask(st)
		}
		return goesOn, &runError{said: said}
	case "timeout":
		return goesOn, o.tookTooLong()
	case "interrupted", "cancelled":
		if !open && !o.frames.told.paused {
			return wasCancelled, nil
		}
	case "success":
	default:
		return goesOn, o.oddEnd(run.Status)
	}
	return hasEnded, nil
}

// stopsAtNodes reports whether the run was to stop before or after nodes.
func (o *outcome) stopsAtNodes() bool {
	return len(o.t.Run.Options.InterruptBefore)+len(o.t.Run.Options.InterruptAfter) > 0
}

// ours reports whether the upstream run created the state. A bare server does not name the runs of its states, but its
// threads belong to the bridge.
func (o *outcome) ours(st stateWire) bool {
	var meta checkpointMeta
	_ = json.Unmarshal(st.Metadata, &meta)
	if meta.RunID == "" {
		return o.target.bare
	}
	return meta.RunID == o.link.RemoteRun
}

// oddEnd returns the error for a run with an unknown status whose state shows no end.
func (o *outcome) oddEnd(status string) error {
	return mapping.Errorf(mapping.Upstream, mapping.CodeOutcomeUnknown, "Agent %q closed the stream of the run and reports the status %q, "+
		"which does not show how the run ended, and neither does its state. Check what the agent has done, then start a new run.",
		o.b.up.Name, o.b.http.to.Excerpt(status, 40))
}

// fetchRun requests the upstream run itself.
func (o *outcome) fetchRun() (runWire, error) {
	var run runWire
	if o.link.RemoteRun == "" {
		return run, o.unknown(orSilent(nil))
	}
	path := runPath(o.link.Remote, o.link.RemoteRun)
	err := o.b.http.getJSON(o.ctx, path, &run)
	switch {
	case upstream.Status(err) == http.StatusNotFound:
		return run, o.lost("run")
	case err == nil && run.Status == "":
		err = o.b.http.bad(http.MethodGet, path, "field status is missing")
	}
	return run, err
}

// saidNothing reports whether a lockstep run made a step without output. Such a step does not count, and the next one
// is requested at once.
func (o *outcome) saidNothing(st stateWire, how verdict) bool {
	return o.t.OneStep && how != wasCancelled && o.frames.told.outputs == 0 && len(st.Next) > 0 && !asks(st)
}

// skipStep skips a step without output.
func (o *outcome) skipStep() error {
	limit := o.t.Run.Options.MaxSteps
	if o.empty++; limit > 0 && o.empty > limit {
		return mapping.Errorf(mapping.Upstream, mapping.CodeStepLimit,
			"Agent %q was stopped after %d steps without any output, %s.", o.b.up.Name, limit, o.t.Run.Options.LimitedBy.Allows(o.b.up.Name))
	}
	o.frames.told.forget()
	o.t.StepText, o.t.Graph.Update = nil, nil
	return nil
}

// emitEnd yields the outcome of the run and the state on which both sides agree.
func (o *outcome) emitEnd(st stateWire, how verdict) error {
	open := o.open(st)
	if err := o.settleState(st); err != nil {
		return err
	}
	if err := o.frames.releaseHeld(open); err != nil {
		return err
	}
	o.link.RemoteCheckpoint, o.link.RemoteMark = st.head(), ""
	if err := o.emitLink(); err != nil {
		return err
	}
	out := o.decide(st, how, open)
	return o.emit(mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &out}})
}

// decide returns the outcome.
func (o *outcome) decide(st stateWire, how verdict, open []mapping.Interrupt) mapping.Outcome {
	switch {
	case how == wasCancelled:
		return mapping.Outcome{Status: mapping.RunInterrupted, Cancelled: true, Reason: mapping.CancelledUpstream}
	case len(open) > 0:
		return mapping.Outcome{Status: mapping.RunInterrupted, Interrupts: open}
	case len(st.Next) > 0 && o.t.OneStep:
		return mapping.Outcome{Parked: true}
	case len(st.Next) > 0:
		return mapping.Outcome{Status: mapping.RunInterrupted}
	}
	return mapping.Outcome{Status: mapping.RunSuccess}
}

// settleState yields the state that was read if the frames may be incomplete. They may be incomplete if the server
// sends no checkpoints frames, if the run stopped at a node (servers do not send that checkpoint), if some state tasks
// are done while others ask, or after a broken stream.
func (o *outcome) settleState(st stateWire) error {
	var meta checkpointMeta
	_ = json.Unmarshal(st.Metadata, &meta)
	switch {
	case o.frames.told.checkpoints == 0, meta.Step != o.frames.told.step, len(st.Next) > 0 && len(st.Next) < o.frames.told.next:
		return o.emit(o.names.stateEvent(st, ""))
	case o.stream.rejoined:
		return o.emit(mapping.Event{Kind: mapping.KindState, Head: mapping.Head{Full: true}, Data: st.Values})
	}
	return nil
}
