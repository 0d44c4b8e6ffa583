package taskstep

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/apbridge/apbridge/mapping"
)

// Asking what became of a POST whose answer never came. The rules:
//   - steps the agent lists beyond the logged ones were done and are taken;
//   - a listed step that has no output yet is waited for;
//   - a step that is not listed was never received, where the agent is known
//     to list a step on receipt: it may be sent again;
//   - elsewhere nobody knows, and the run says so.

const (
	settle  = 250 * time.Millisecond // between two looks at a list that lacks the step
	pollMin = 100 * time.Millisecond
	pollMax = 2 * time.Second
)

// resolve returns the steps that were done and not logged. None and no error
// means that the POST may be sent again. cause is what broke, nil at a pick-up.
func (d *drive) resolve(cause error) ([]remoteStep, error) {
	for look := 1; ; look++ {
		steps, err := d.unlogged()
		if err != nil {
			return nil, d.unresolved(err, cause)
		}
		if len(steps) > 0 {
			return steps, nil
		}
		if !d.site.kind.listsOnReceipt() {
			return nil, d.unknown("do a step", cause)
		}
		if look == 2 {
			return nil, d.mustKnow(cause)
		}
		if err := pause(d.ctx, settle); err != nil {
			return nil, err
		}
	}
}

// mustKnow guards the repetition: old servers answer for a task they forgot
// with an empty list of steps.
func (d *drive) mustKnow(cause error) error {
	known, err := d.known()
	if err != nil {
		return d.unresolved(err, cause)
	}
	if !known {
		return d.lost(d.remote)
	}
	return nil
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
	return d.unknown("do a step", errors.Join(cause, err))
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
	if ans.status/100 != 2 {
		return remoteStep{}, errNoList
	}
	s, err := parseStep(ans.body, "")
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

// findCreated looks for the task that carries this run's id. found is false
// where it was certainly never made.
func (d *drive) findCreated() (found bool, err error) {
	elems, certain, err := d.list(d.root()+"/tasks", "tasks")
	if d.ctx.Err() != nil {
		return false, ended(d.ctx)
	}
	if err != nil {
		return false, d.unknown("create a task", err)
	}
	for _, elem := range slices.Backward(elems) {
		t, err := parseTask(elem, "tasks[].")
		if err != nil || t.Additional == nil {
			certain = false
			continue
		}
		if d.made(t) {
			d.adopt(t)
			return true, nil
		}
	}
	if !certain {
		return false, d.unknown("create a task", errNoList)
	}
	return false, nil
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
func (d *drive) notThere(ans *response) bool {
	return ans.status == http.StatusNotFound || ans.status >= 400 && notFound.Match(ans.body)
}
