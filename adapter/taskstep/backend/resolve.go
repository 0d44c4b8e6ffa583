package backend

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
)

// Asking what became of a POST whose answer never came. A POST is never sent a second
// time, whatever the agent looks like: a server may list nothing of a step, or a task,
// before it is done with it. The rules:
//   - steps the agent lists beyond the logged ones were done and are taken;
//   - a listed step that has no output yet is waited for;
//   - a step that is not listed is looked for as long as one was seen to take;
//   - then nobody knows, and the run says so.

const (
	settle  = 3 * time.Second // the shortest time for which is looked, whatever was seen
	pollMin = 100 * time.Millisecond
	pollMax = 2 * time.Second
)

// resolve returns the steps that were done and not logged, one at least. cause is what
// broke, nil at a pick-up.
func (d *drive) resolve(cause error) ([]remoteStep, error) {
	var steps []remoteStep
	found, err := d.lookFor(d.longest, func() (bool, error) {
		var err error
		steps, err = d.unlogged()
		return len(steps) > 0, err
	})
	switch {
	case err != nil:
		return nil, d.unresolved(err, cause)
	case !found:
		return nil, d.notListed(cause)
	}
	return steps, nil
}

// lookFor asks until something is found, or for as long as it was seen to take. What is
// seen over a restart of the bridge may be its time, and is bounded by step_timeout.
func (d *drive) lookFor(longest time.Duration, look func() (found bool, err error)) (found bool, err error) {
	over := time.Now().Add(min(max(longest, d.settle), d.stepTimeout()))
	for wait := pollMin; ; wait = min(wait*2, pollMax) {
		if found, err = look(); found || err != nil {
			return found, err
		}
		rest := time.Until(over)
		if rest <= 0 {
			return false, nil
		}
		if err := pause(d.ctx, min(wait, rest)); err != nil {
			return false, err
		}
	}
}

// notListed is what a run ends with whose step did not show up. Old servers answer for
// a task that they forgot with an empty list of steps.
func (d *drive) notListed(cause error) error {
	if known, err := d.known(); err == nil && !known {
		return d.lost(d.remote)
	} else if d.ctx.Err() != nil {
		return ended(d.ctx)
	}
	return d.unknown("do a step", "its list of steps does not show it", cause, nil)
}

// errNoList: the agent cannot list what it was asked for.
var errNoList = errors.New("the agent cannot list this")

// unresolved decides what a run ends with when asking failed.
func (d *drive) unresolved(err, cause error) error {
	if d.ctx.Err() != nil {
		return ended(d.ctx)
	}
	var e *mapping.Error
	if errors.As(err, &e) && (e.Code == mapping.CodeUpstreamLost || e.Code == mapping.CodeStepTimeout) {
		return e
	}
	if errors.Is(err, errNoList) {
		if known, err := d.known(); err == nil && !known {
			return d.lost(d.remote)
		}
	}
	return d.unknown("do a step", "it cannot be asked whether it did", cause, err)
}

// unlogged lists the steps that were done beyond the logged ones, waiting for
// one that is being done.
func (d *drive) unlogged() ([]remoteStep, error) {
	deadline, wait := time.Now().Add(d.stepTimeout()), pollMin
	for {
		steps, running, err := d.look()
		if err != nil || !running {
			return steps, err
		}
		if time.Now().After(deadline) {
			return nil, d.slow()
		}
		if err := pause(d.ctx, wait); err != nil {
			return nil, err
		}
		wait = min(wait*2, pollMax)
	}
}

// look lists the steps once. running tells that one of the unlogged ones has
// not come to an end.
func (d *drive) look() (steps []remoteStep, running bool, err error) {
	elems, whole, err := d.list(d.taskPath("/steps"), "steps")
	if err == nil && !whole {
		err = errNoList
	}
	if err != nil {
		return nil, false, err
	}
	for _, elem := range elems {
		s, err := d.listedStep(elem)
		if err != nil {
			return nil, false, err
		}
		if slices.Contains(d.seen, s.ID) {
			continue
		}
		switch d.stage(s) {
		case stageDone:
			steps = append(steps, s)
		case stageRunning:
			return steps, true, nil
		}
	}
	return steps, false, nil
}

// listedStep reads an entry of a list of steps; where it is only an id, the
// step is asked for.
func (d *drive) listedStep(elem json.RawMessage) (remoteStep, error) {
	if first(elem) == '{' {
		return parseStep(elem, "steps[].")
	}
	id, err := requiredText(elem, "steps[]")
	if err != nil {
		return remoteStep{}, err
	}
	if slices.Contains(d.seen, id) {
		return remoteStep{ID: id}, nil
	}
	ans, err := d.get(d.ctx, d.taskPath("/steps/"+pathEscape(id)), "")
	if err != nil {
		return remoteStep{}, err
	}
	if ans.Status/100 != 2 {
		return remoteStep{}, errNoList
	}
	s, err := parseStep(ans.Body, "")
	if err == nil && s.ID != id { // the Python SDK gives the task's first step whatever is asked for
		return remoteStep{}, errNoList
	}
	return s, err
}

type stage int

const (
	stagePlanned stage = iota
	stageRunning
	stageDone
)

// stage of a listed step. is_last proves nothing by itself: the Python SDK
// lists planned steps that already carry it. forge leaves the last step of a
// task at created.
func (d *drive) stage(s remoteStep) stage {
	switch {
	case d.site.kind.plansAhead() && s.Status == string(mapping.StepCreated):
		return stagePlanned
	case s.Status == string(mapping.StepCompleted) || s.hasOutput():
		return stageDone
	case s.IsLast && s.Status != string(mapping.StepRunning):
		return stageDone
	}
	return stageRunning
}

// findCreated looks for the task that carries this run's id, of a creation that was, or
// may have been, sent. cause is what broke, nil at a pick-up.
func (d *drive) findCreated(cause error) error {
	found, err := d.lookFor(d.backend.created.Longest(), d.lookCreated)
	switch {
	case d.ctx.Err() != nil:
		return ended(d.ctx)
	case err != nil:
		return d.unknown("create a task", "it cannot be asked whether it did", cause, err)
	case !found:
		return d.unknown("create a task", "its list of tasks does not show it", cause, nil)
	}
	return nil
}

// lookCreated looks once.
func (d *drive) lookCreated() (found bool, err error) {
	elems, _, err := d.list(d.root()+"/tasks", "tasks")
	for _, elem := range slices.Backward(elems) {
		if t, err := parseTask(elem, "tasks[]."); err == nil && d.made(t) {
			d.adopt(t)
			return true, nil
		}
	}
	return false, err
}

// made tells whether a listed task is this run's.
func (d *drive) made(t remoteTask) bool {
	if d.former[t.ID] || !bytes.Contains(t.Additional, []byte(d.task.Run.ID)) {
		return false
	}
	var a struct {
		Apbridge struct {
			RunID string `json:"run_id"`
		} `json:"apbridge"`
	}
	return json.Unmarshal(t.Additional, &a) == nil && a.Apbridge.RunID == d.task.Run.ID
}

// notThere tells whether a list's answer says that the task is unknown.
func (d *drive) notThere(ans *upstream.Answer) bool {
	return ans.Status == http.StatusNotFound || ans.Status >= 400 && notFound.Match(ans.Body)
}
