package backend

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
)

// Asking what became of a request for a run whose answer never came. It is never sent
// a second time on a guess: multitask_strategy "reject" refuses the second one only
// while the first run lasts, and a first one that arrives late is carried out all the
// same. The rules:
//   - a run that the server lists is taken;
//   - one that it does not list is looked for as long as such requests were seen to take;
//   - then the outcome is unknown, and the run says so.

const (
	pollMin = 100 * time.Millisecond
	pollMax = 2 * time.Second
)

// lookFor looks until something is found or the time for it is over, also across looks
// that the server does not answer; err is that of the last one then. step_timeout bounds
// it, and begins anew behind it.
func (s *session) lookFor(look func(context.Context) (bool, error)) (found bool, err error) {
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
		if upstream.Sleep(s.ctx, min(wait, rest)) != nil {
			return false, err
		}
	}
}

// lookForRun looks for an upstream run of this run other than the one before; nil when
// there is none. mustBeThere: a thread that the server does not have is lost, not one that
// a request on its way may make.
func (s *session) lookForRun(before string, mustBeThere bool) (run *runWire, err error) {
	_, err = s.lookFor(func(ctx context.Context) (bool, error) {
		r, err := s.findRun(ctx)
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

// lookup finds the upstream run of a POST that broke, which is not the run before it. A
// run that is not found ends the session with an unknown outcome.
func (s *session) lookup(broke error) (found bool, err error) {
	run, err := s.lookForRun(s.link.RemoteRun, false)
	if err != nil || run == nil {
		return false, s.unresolved(broke, err)
	}
	return true, s.began(run.ID)
}

// inDoubt reports whether the request for the next step may have been sent by a process
// that died: it had come as far as this one, which has read the run that was picked up.
func (s *session) inDoubt() bool {
	return s.t.Open && s.took != "" && s.took == s.link.RemoteRun
}

// unresolved is why a run ends whose request was not found. broke is what became of the
// request, nil where a process may have sent it that died; asked why asking failed, nil
// where the server answered.
func (s *session) unresolved(broke, asked error) error {
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
