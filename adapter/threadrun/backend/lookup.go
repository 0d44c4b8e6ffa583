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

// runLookup finds out the fate of a request for a run that got no response. The request is never repeated on a guess:
// multitask_strategy "reject" refuses a second request only while the first run is active, and a first request that
// arrives late is still executed. The rules:
//
//   - A run that the server lists is used.
//   - A run that is not listed is searched for, for as long as such requests have taken so far.
//   - After that, the outcome is unknown and the run ends with that error.
type runLookup struct {
	*job
	thread *thread
	took   string // the upstream run that was found; "" for none
}

const (
	pollMin = 100 * time.Millisecond
	pollMax = 2 * time.Second
)

// pickUp searches for the upstream run of a request that may have been sent. It returns nil if none was sent. If a
// process may have died after it sent that request, pickUp returns the run or an error for an unknown outcome.
func (q *runLookup) pickUp() (*runWire, error) {
	forks, err := q.thread.findFork()
	if err != nil {
		return nil, q.unresolved(nil, err)
	}
	linked := q.linked() || q.link.Remote != "" && (q.t.Graph.Values == nil || forks)
	if !linked {
		q.link = mapping.Link{Remote: q.thread.id()}
	}
	mustBeThere := linked && !(q.linked() && q.thread.mayComeWithRun())
	before := ""
	if q.t.OneStep && q.link.RemoteCheckpoint != "" {
		before = q.link.RemoteRun // that step was read completely
	}
	run, err := q.findRun(before, mustBeThere)
	switch {
	case err != nil:
		return nil, q.unresolved(nil, err)
	case run == nil && q.t.InDoubt:
		return nil, q.unresolved(nil, nil)
	case run == nil && !linked:
		q.link = q.t.Link
	case run != nil:
		q.took = run.ID
	}
	return run, nil
}

// resolve searches for the upstream run of a POST that failed, other than the previous run. If it is not found, the
// driver ends with an unknown outcome.
func (q *runLookup) resolve(broke error) error {
	run, err := q.findRun(q.link.RemoteRun, false)
	if err != nil || run == nil {
		return q.unresolved(broke, err)
	}
	return q.began(run.ID)
}

// inDoubt reports whether a process that died may have sent the request for the next step. That process had made as
// much progress as this one, which has read the run that was found.
func (q *runLookup) inDoubt() bool {
	return q.t.InDoubt && q.took != "" && q.took == q.link.RemoteRun
}

// findRun searches for an upstream run of this run other than the previous one. It returns nil if there is none. If
// mustBeThere is true, a thread that the server does not have is lost. Otherwise a request in transit may still create
// it.
func (q *runLookup) findRun(before string, mustBeThere bool) (run *runWire, err error) {
	_, err = q.until(func(ctx context.Context) (bool, error) {
		r, err := q.newest(ctx)
		switch {
		case upstream.Status(err) == http.StatusNotFound && mustBeThere:
			return false, q.lost("thread")
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

// until calls look until it finds something or the time is up, even if the server does not respond. In that case err is
// the last error. step_timeout bounds the search and restarts afterwards.
func (q *runLookup) until(look func(context.Context) (bool, error)) (found bool, err error) {
	ctx, d := q.ctx, max(q.b.created.Max(), q.b.pause.settle)
	if most := q.b.up.Config.StepTimeout; q.alarm != nil {
		q.alarm.Stop()
		defer q.alive()
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(q.ctx, most+pollMax) // for a call without a response
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
		if pause.For(q.ctx, min(wait, rest)) != nil {
			return false, err
		}
	}
}

// newest returns the newest upstream run of this run, or nil. In lockstep each step has one.
func (q *runLookup) newest(ctx context.Context) (*runWire, error) {
	list, err := q.b.runs.list(ctx, q.link.Remote)
	if err != nil {
		return nil, err
	}
	var ours, unmarked []runWire
	for _, r := range list {
		switch {
		case r.ID == "":
		case r.Metadata == nil:
			unmarked = append(unmarked, r)
		case r.ours() == q.t.Run.ID:
			ours = append(ours, r)
		}
	}
	if len(unmarked) > 0 {
		return q.judge(newest(unmarked))
	}
	return newest(ours), nil
}

// errUnmarked means that a run cannot be distinguished from those of other clients.
var errUnmarked = mapping.Errorf(mapping.Upstream, mapping.CodeBadUpstream, "its list of runs does not show which client started each run")

// judge is like newest for a server that does not return the metadata of its runs. The newest run belongs to this one
// if the log names it, or if no other client knows the thread.
func (q *runLookup) judge(r *runWire) (*runWire, error) {
	switch {
	case q.logged(r.ID), q.ownThread():
		return r, nil
	case markOf(q.t.Link.RemoteMark, r.ID):
		return nil, nil // the previous run's, and nothing followed it
	}
	return nil, q.unknown(errUnmarked)
}

// ownThread reports whether the upstream thread was created for this attempt of this run.
func (q *runLookup) ownThread() bool {
	return q.link.Remote == mapping.MessageID(q.t.Run.ID, "thread/"+strconv.Itoa(q.t.Run.Attempt))
}

// unresolved returns the error for a run that was not found. broke is the error of the request, or nil if a process
// that died may have sent it. asked is the error of the search, or nil if the server responded.
func (q *runLookup) unresolved(broke, asked error) error {
	var e *mapping.Error
	if q.ctx.Err() != nil {
		return q.gone()
	}
	if errors.As(asked, &e) && (e.Code == mapping.CodeUpstreamLost || e.Code == mapping.CodeOutcomeUnknown) {
		return e
	}
	what, looked := "start the run", "its list of runs does not show it"
	if q.t.OneStep && q.link.RemoteRun != "" {
		what = "continue the run"
	}
	told := "was told to " + what + ", but the connection broke before it answered"
	switch code := upstream.Status(broke); {
	case broke == nil:
		told = "may have been told to " + what + " by a bridge process that has since stopped"
	case code != 0:
		told = fmt.Sprintf("was told to %s, but a gateway answered %d in its place", what, code)
	}
	if asked != nil {
		looked = "it cannot be asked whether it did"
	}
	return &mapping.Error{Class: mapping.Upstream, Code: mapping.CodeOutcomeUnknown, Err: errors.Join(broke, asked),
		Message: fmt.Sprintf("Agent %q at %s %s, and %s. It was not told again, so that nothing happens twice. "+
			"Check what the agent has done, then start a new run.", q.b.up.Name, q.b.http.host, told, looked)}
}
