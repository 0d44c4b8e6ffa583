package backend

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/pause"
)

// search asks what became of a request for a run whose answer never came. It is never sent
// a second time on a guess: multitask_strategy "reject" refuses the second one only
// while the first run lasts, and a first one that arrives late is carried out all the
// same. The rules:
//   - a run that the server lists is taken;
//   - one that it does not list is looked for as long as such requests were seen to take;
//   - then the outcome is unknown, and the run says so.
type search struct {
	*job
	thread *thread
	took   string // the upstream run that was picked up; "" for none
}

const (
	pollMin = 100 * time.Millisecond
	pollMax = 2 * time.Second
)

// pickUp looks for the upstream run of a request that may have been sent; nil where it was
// not. Where the process may have died behind that request, nil is no answer: the run is
// found, or its outcome is unknown.
func (s *search) pickUp() (*runWire, error) {
	linked := s.linked() || s.link.Remote != "" && s.t.Values == nil
	if !linked {
		s.link = mapping.Link{Remote: s.thread.id()}
	}
	mustBeThere := linked && !(s.linked() && s.thread.mayComeWithRun())
	before := ""
	if s.t.OneStep && s.link.RemoteCheckpoint != "" {
		before = s.link.RemoteRun // that step was read to its end
	}
	run, err := s.run(before, mustBeThere)
	switch {
	case err != nil:
		return nil, s.unresolved(nil, err)
	case run == nil && s.t.Open:
		return nil, s.unresolved(nil, nil)
	case run == nil && !linked:
		s.link = s.t.Link
	case run != nil:
		s.took = run.ID
	}
	return run, nil
}

// lookUp finds the upstream run of a POST that broke, which is not the run before it. A
// run that is not found ends the session with an unknown outcome.
func (s *search) lookUp(broke error) error {
	run, err := s.run(s.link.RemoteRun, false)
	if err != nil || run == nil {
		return s.unresolved(broke, err)
	}
	return s.began(run.ID)
}

// inDoubt reports whether the request for the next step may have been sent by a process
// that died: it had come as far as this one, which has read the run that was picked up.
func (s *search) inDoubt() bool {
	return s.t.Open && s.took != "" && s.took == s.link.RemoteRun
}

// run looks for an upstream run of this run other than the one before; nil when
// there is none. mustBeThere: a thread that the server does not have is lost, not one that
// a request on its way may make.
func (s *search) run(before string, mustBeThere bool) (run *runWire, err error) {
	_, err = s.until(func(ctx context.Context) (bool, error) {
		r, err := s.newest(ctx)
		switch {
		case upstream.Status(err) == http.StatusNotFound && mustBeThere:
			return false, s.lost("thread")
		case upstream.Status(err) == http.StatusNotFound:
			return false, nil
		case err != nil || r == nil || r.ID == before:
			return false, err
		}
		run = r
		return true, nil
	})
	return run, err
}

// until looks until something is found or the time for it is over, also across looks
// that the server does not answer; err is that of the last one then. step_timeout bounds
// it, and begins anew behind it.
func (s *search) until(look func(context.Context) (bool, error)) (found bool, err error) {
	ctx, d := s.ctx, max(s.b.created.Longest(), s.b.pause.settle)
	if most := s.b.up.Config.StepTimeout; s.alarm != nil {
		s.alarm.Stop()
		defer s.alive()
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(s.ctx, most+pollMax) // of a look that is not answered
		defer stop()
		d = min(d, most)
	}
	over := time.Now().Add(d)
	for wait := pollMin; ; wait = min(2*wait, pollMax) {
		found, err = look(ctx)
		rest := time.Until(over)
		if found || err != nil && !mayPass(err) || rest <= 0 {
			return found, err
		}
		if pause.For(s.ctx, min(wait, rest)) != nil {
			return false, err
		}
	}
}

// newest is the newest upstream run that was made for this run; nil when there is none. In
// lockstep there is one for every step.
func (s *search) newest(ctx context.Context) (*runWire, error) {
	list, err := s.b.runs(ctx, s.link.Remote)
	if err != nil {
		return nil, err
	}
	var ours, unmarked []runWire
	for _, r := range list {
		switch {
		case r.ID == "":
		case r.Metadata == nil:
			unmarked = append(unmarked, r)
		case r.ours() == s.t.Run.ID:
			ours = append(ours, r)
		}
	}
	if len(unmarked) > 0 {
		return s.judge(newest(unmarked))
	}
	return newest(ours), nil
}

// errUnmarked is why a run cannot be told from those of others.
var errUnmarked = mapping.Errorf(mapping.Upstream, mapping.CodeBadUpstream, "its list of runs does not say for whom each was made")

// judge is newest for a server that does not repeat the metadata of its runs. The newest
// run is this one's where the log names it, or where no other client knows the thread.
func (s *search) judge(r *runWire) (*runWire, error) {
	switch {
	case s.logged(r.ID), s.ownThread():
		return r, nil
	case markOf(s.t.Link.RemoteMark, r.ID):
		return nil, nil // of the run before, and nothing came after it
	}
	return nil, s.unknown(errUnmarked)
}

// ownThread reports whether the upstream thread was made for this attempt of this run.
func (s *search) ownThread() bool {
	return s.link.Remote == mapping.MessageID(s.t.Run.ID, "thread/"+strconv.Itoa(s.t.Run.Attempt))
}

// unresolved is why a run ends whose request was not found. broke is what became of the
// request, nil where a process may have sent it that died; asked why asking failed, nil
// where the server answered.
func (s *search) unresolved(broke, asked error) error {
	var e *mapping.Error
	if s.ctx.Err() != nil {
		return s.gone()
	}
	if errors.As(asked, &e) && (e.Code == mapping.CodeUpstreamLost || e.Code == mapping.CodeOutcomeUnknown) {
		return e
	}
	what, looked := "start the run", "its list of runs does not show it"
	if s.t.OneStep && s.link.RemoteRun != "" {
		what = "go on with the run"
	}
	told := "was told to " + what + ", but the connection broke before it answered"
	switch code := upstream.Status(broke); {
	case broke == nil:
		told = "may have been told to " + what + " by a process of the bridge that was stopped meanwhile"
	case code != 0:
		told = fmt.Sprintf("was told to %s, but a gateway answered %d in its place", what, code)
	}
	if asked != nil {
		looked = "it cannot be asked whether it did"
	}
	return &mapping.Error{Class: mapping.Upstream, Code: mapping.CodeOutcomeUnknown, Err: errors.Join(broke, asked),
		Message: fmt.Sprintf("Agent %q at %s %s, and %s. It was not told again, so that nothing happens twice. "+
			"Look what the agent has done, then start a new run.", s.b.up.Name, s.b.http.host, told, looked)}
}
