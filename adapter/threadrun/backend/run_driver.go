package backend

import (
	"context"
	"errors"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/pause"
	"go.uber.org/zap"
)

// runDriver is one call of Backend.Run: a state machine whose phases are in graphPhases and plainPhases. Each phase does
// its part of the work and returns the next one. The parts of the work are types that share the job. It is used by one
// goroutine.
type runDriver struct {
	*job
	phase    phase
	names    names
	requests requests
	thread   thread
	lookup   runLookup
	creation creation
	frames   translator
	stream   stream
	outcome  outcome
	plain    agentProtocolClient
	backoff  backoff
	failure  errorWire // the agent's error of a failed run
}

func newRunDriver(ctx context.Context, b *backend, t *adapter.Assignment, yield func(mapping.Event, error) bool) *runDriver {
	j := newJob(ctx, b, t, yield)
	s := &runDriver{job: j, requests: requests{j}, names: newNames(j)}
	s.thread = thread{job: j, names: &s.names}
	s.lookup = runLookup{job: j, thread: &s.thread}
	s.frames = translator{job: j, names: &s.names, askers: map[string]string{}, within: map[string]string{}}
	s.stream = stream{job: j, frames: &s.frames}
	s.creation = creation{job: j, lookup: &s.lookup, stream: &s.stream}
	s.outcome = outcome{job: j, names: &s.names, frames: &s.frames, stream: &s.stream}
	s.plain = agentProtocolClient{job: j, requests: s.requests, thread: &s.thread, lookup: &s.lookup, frames: &s.frames, stream: &s.stream}
	return s
}

// run executes phases until the end has been yielded or an error ends the run.
func (s *runDriver) run() error {
	if s.outer.Err() != nil {
		return s.gone()
	}
	defer s.stream.close()
	for s.phase != ended {
		next, err := s.step()
		if err == nil {
			err = s.move(next)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// move changes the phase. It returns an internal error if the transition is not allowed.
func (s *runDriver) move(next phase) error {
	table := graphPhases
	if s.target.plain {
		table = plainPhases
	}
	if err := table.mayFollow(s.phase, next); err != nil {
		return err
	}
	if log := s.b.log.Check(zap.DebugLevel, "run phase changed"); log != nil {
		log.Write(zap.String("run", s.t.Run.ID), zap.Stringer("from", s.phase), zap.Stringer("to", next))
	}
	s.phase = next
	return nil
}

// step executes the current phase and returns the next one.
func (s *runDriver) step() (phase, error) {
	switch {
	case s.phase == locating:
		return s.locate()
	case s.target.plain:
		return s.plain.step(s.phase)
	}
	switch s.phase {
	case pickingUp:
		return s.pickUp()
	case preparing:
		return s.openThread()
	case making:
		return starting, s.thread.makeFirst()
	case replacing:
		return starting, s.thread.fresh()
	case starting:
		return s.startRun()
	case continuing:
		return s.goOn()
	case reading:
		return s.read()
	case rejoining:
		return s.rejoin()
	case asking:
		return s.askOutcome()
	}
	return ended, s.outcome.fail(s.failure)
}

func (s *runDriver) locate() (next phase, err error) {
	s.target, err = s.b.graphs.target(s.ctx)
	return pickingUp, err
}

// pickUp continues a run that an earlier call of Run did not finish, or starts the run if there is none. Logged frames
// are not requested again: the stream continues after the last logged frame. If the request for the run may have been
// sent, pickUp searches for the run and never repeats the request.
func (s *runDriver) pickUp() (phase, error) {
	s.frames.replay()
	switch {
	case s.t.OneStep && !s.t.InDoubt && s.parked():
		s.frames.told.forget()
		return continuing, nil
	case !s.t.InDoubt && !s.linked():
		return preparing, nil // nothing was sent
	case !s.t.OneStep && s.logged(s.link.RemoteRun):
		s.lookup.took = s.link.RemoteRun
		return rejoining, nil
	}
	run, err := s.lookup.pickUp()
	if err != nil || run == nil {
		return preparing, err
	}
	if run.ID != s.link.RemoteRun { // the log may lack its id
		s.frames.told.forget()
	}
	return rejoining, s.began(run.ID)
}

func (s *runDriver) openThread() (phase, error) {
	err := s.thread.open()
	if lostUpstream(err) && s.thread.replace() {
		return replacing, nil
	}
	return starting, err
}

// startRun starts an upstream run that has no events in the log.
func (s *runDriver) startRun() (phase, error) { return s.send(s.requests.first()) }

// goOn requests the next step of the run, unless a process that died may have done so.
func (s *runDriver) goOn() (phase, error) {
	if s.lookup.inDoubt() {
		s.backoff = backoff{}
		return rejoining, s.lookup.resolve(nil)
	}
	return s.send(s.requests.nextStep())
}

// send sends the request that creates the upstream run.
func (s *runDriver) send(body runCreate) (phase, error) {
	s.backoff = backoff{}
	resp, err := s.creation.send(body)
	if lacksMode(body, err) {
		s.b.graphs.lacks(s.target, newestMode)
		body.StreamMode = modes(body.StreamMode, newestMode)
		resp, err = s.creation.send(body)
	}
	if wantsPoint(body, err) {
		resp, err = s.creation.sendAtHead(body, err)
	}
	switch {
	case errors.Is(err, errNotMade):
		return making, nil
	case lostUpstream(err) && s.phase == starting && s.thread.replace():
		return replacing, nil
	case err != nil || resp == nil: // the response was lost, and the run was found
		return rejoining, err
	}
	s.stream.hear(resp)
	return reading, s.began(runOf(resp.Header))
}

// read reads the open stream.
func (s *runDriver) read() (phase, error) {
	err := s.stream.read()
	switch {
	case err != nil:
		return s.afterError(err)
	case s.frames.told.cut():
		return s.retry(nil)
	case s.outcome.wasTold():
		return ended, s.outcome.tellAsTold()
	}
	return asking, nil
}

// rejoin reopens the run's stream. If that would repeat logged frames, only the status of the run is requested.
func (s *runDriver) rejoin() (phase, error) {
	if !s.frames.told.resumable() {
		s.stream.rejoined = true
		return asking, nil
	}
	if err := s.stream.rejoin(); err != nil {
		return s.afterError(err)
	}
	return reading, nil
}

// askOutcome determines the state of the run. A stream that closed properly proves nothing, because a proxy may close
// it in the same way and the server sends no end marker.
func (s *runDriver) askOutcome() (phase, error) {
	if goesOn, failed := s.askFailed(); failed {
		return failing, nil
	} else if goesOn {
		return s.retry(nil)
	}
	st, err := s.state()
	if err != nil {
		return s.afterError(err)
	}
	how, err := s.outcome.verdict(st)
	switch {
	case err != nil:
		return s.afterError(err)
	case how == goesOn:
		return s.retry(nil)
	case s.outcome.saidNothing(st, how):
		return continuing, s.outcome.skipStep()
	}
	return ended, s.outcome.emitEnd(st, how)
}

// askFailed determines whether an error frame concerns the run. If the server reports that the run continues or
// succeeded, the frame concerns only an attempt, and the rest of the stream is read. If the server does not report a
// status, the error frame counts.
func (s *runDriver) askFailed() (goesOn, failed bool) {
	said := s.frames.told.failed
	if said == nil {
		return false, false
	}
	run, err := s.outcome.fetchRun()
	switch {
	case err == nil && run.active():
		return true, false
	case err == nil && (run.Status == "success" || run.Status == "interrupted"):
		s.frames.told.wentOn()
		return true, false
	}
	s.failure = *said
	return false, true
}

// afterError continues after a possibly temporary error from reading the stream or asking for the run.
func (s *runDriver) afterError(err error) (phase, error) {
	if e := (*runError)(nil); errors.As(err, &e) {
		s.failure = e.said
		return failing, nil
	}
	if said := s.frames.told.failed; said != nil && s.phase == rejoining && !mayPass(err) && s.ctx.Err() == nil {
		s.failure = *said // the server no longer knows the run
		return failing, nil
	}
	if s.ctx.Err() != nil || !mayPass(err) {
		return ended, err
	}
	return s.retry(err)
}

// retry reopens the run's stream after a pause, from the last frame. It gives up after several failures in a row. It
// does not give up on a stream that keeps closing while the server reports an active run (err is nil); step_timeout
// bounds that case.
func (s *runDriver) retry(err error) (phase, error) {
	wait, ok := s.backoff.nextPause(s.b.pause.rejoin, s.frames.told.lastID, err != nil)
	switch {
	case !ok:
		return ended, s.unknown(err)
	case pause.For(s.ctx, wait) != nil:
		return ended, orSilent(err)
	}
	return rejoining, nil
}
