package backend

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// reconcile queries the agent about a POST that was not answered. A POST is never repeated, because a server may list a
// step or task only when it is complete. The rules:
//
//   - Listed steps that are not logged were done, and are used.
//   - A listed step without output is waited for.
//   - A step that is not listed is searched for as long as steps have taken so far.
//   - After that, the outcome is unknown and the run ends with that error.
type reconcile struct {
	*runState
	past *history
}

const (
	shortestSearch = 3 * time.Second // minimum time for a search
	pollMin        = 100 * time.Millisecond
	pollMax        = 2 * time.Second
)

// steps returns the steps that were done but not logged, at least one. cause is the error of the call, or nil after a
// restart.
func (r *reconcile) steps(cause error) ([]*remoteStep, error) {
	var steps []*remoteStep
	found, err := r.lookFor(r.past.longest, func() (bool, error) {
		var err error
		steps, err = r.unlogged()
		return len(steps) > 0, err
	})
	switch {
	case err != nil:
		return nil, r.unresolved(err, cause)
	case !found:
		return nil, r.notListed(cause)
	}
	return steps, nil
}

// notListed returns the error of a run whose step was not found. Old servers return an empty list of steps for a task
// that they no longer know.
func (r *reconcile) notListed(cause error) error {
	if known, err := r.known(); err == nil && !known {
		return r.lost(r.remote)
	} else if r.ctx.Err() != nil {
		return stopReason(r.ctx)
	}
	return r.unknown("do a step", "its list of steps does not show it", cause, nil)
}

// errNoList means that the agent has no such list.
var errNoList = errors.New("the agent cannot list this")

// unresolved returns the error that ends a run if the agent could not be queried.
func (r *reconcile) unresolved(err, cause error) error {
	if r.ctx.Err() != nil {
		return stopReason(r.ctx)
	}
	var e *mapping.Error
	if errors.As(err, &e) && (e.Code == mapping.CodeUpstreamLost || e.Code == mapping.CodeStepTimeout) {
		return e
	}
	if errors.Is(err, errNoList) {
		if known, err := r.known(); err == nil && !known {
			return r.lost(r.remote)
		}
	}
	return r.unknown("do a step", "it cannot be asked whether it did", cause, err)
}

// unlogged returns the steps that were done but not logged. It waits for a step in progress.
func (r *reconcile) unlogged() ([]*remoteStep, error) {
	deadline, wait := time.Now().Add(r.stepTimeout()), pollMin
	for {
		steps, running, err := r.listSteps()
		if err != nil || !running {
			return steps, err
		}
		if time.Now().After(deadline) {
			return nil, r.slow()
		}
		if err := await(r.ctx, wait); err != nil {
			return nil, err
		}
		wait = min(wait*2, pollMax)
	}
}

// listSteps lists the steps once. running reports whether one of the unlogged steps is in progress.
func (r *reconcile) listSteps() (steps []*remoteStep, running bool, err error) {
	elems, whole, err := r.list(r.taskPath("/steps"), "steps")
	if err == nil && !whole {
		err = errNoList
	}
	if err != nil {
		return nil, false, err
	}
	for _, elem := range elems {
		step, err := r.listedStep(elem)
		if err != nil {
			return nil, false, err
		}
		if slices.Contains(r.past.seen, step.ID) {
			continue
		}
		switch r.stage(step) {
		case stageDone:
			steps = append(steps, step)
		case stageRunning:
			return steps, true, nil
		}
	}
	return steps, false, nil
}

// listedStep reads an entry of a list of steps. If the entry is only an id, it requests the step.
func (r *reconcile) listedStep(elem json.RawMessage) (*remoteStep, error) {
	if rawjson.Kind(elem) == '{' {
		return parseStep(elem, "steps[].")
	}
	id, err := requiredText(elem, "steps[]")
	if err != nil {
		return nil, err
	}
	if slices.Contains(r.past.seen, id) {
		return &remoteStep{ID: id}, nil
	}
	ans, err := r.get(r.ctx, r.taskPath("/steps/"+pathEscape(id)), "")
	if err != nil {
		return nil, err
	}
	if ans.Status/100 != 2 {
		return nil, errNoList
	}
	step, err := parseStep(ans.Body, "")
	if err == nil && step.ID != id { // the Python SDK returns the task's first step for any id
		return nil, errNoList
	}
	return step, err
}

type stage int

const (
	stagePlanned stage = iota
	stageRunning
	stageDone
)

// stage returns the stage of a listed step. In a list, is_last proves nothing, because the Python SDK already sets it
// on planned steps. forge leaves the last step of a task in status created.
func (r *reconcile) stage(step *remoteStep) stage {
	switch {
	case r.site.kind.plansAhead() && step.Status == string(mapping.StepCreated):
		return stagePlanned
	case step.Status == string(mapping.StepCompleted) || step.hasOutput():
		return stageDone
	case step.IsLast && step.Status != string(mapping.StepRunning):
		return stageDone
	}
	return stageRunning
}
