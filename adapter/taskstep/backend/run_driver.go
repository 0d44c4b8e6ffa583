package backend

import (
	"context"
	"fmt"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"go.uber.org/zap"
)

// rereads bounds how often an upload is restarted because its file was replaced during the upload. The agent has not
// received such a file completely.
const rereads = 2

// runDriver is one call of Run: a state machine whose phases are in phase.go. A phase does its part of the work and
// returns the next one. The parts of the work have their own types, which share runState. It must be used by a
// single goroutine.
type runDriver struct {
	*runState
	phase     phase
	past      history
	creation  creation
	call      stepCall
	reconcile reconcile
	files     tracker
	uploads   uploads
	downloads downloads

	queue    []*remoteStep // steps that were done but not yielded
	doubtful bool          // the log lacks more than the open call; a step after the queued ones may have been sent
	broke    error         // the error of the call whose effect is searched for
}

func newRunDriver(ctx context.Context, b *backend, t *adapter.Assignment) *runDriver {
	j := &runState{backend: b, ctx: ctx, assigned: t}
	d := &runDriver{runState: j}
	d.reconcile = reconcile{runState: j, past: &d.past}
	d.creation = creation{runState: j, past: &d.past}
	d.call = stepCall{runState: j, past: &d.past}
	d.uploads = uploads{runState: j, past: &d.past, files: &d.files}
	d.downloads = downloads{runState: j, files: &d.files}
	return d
}

// run executes phases until the end was yielded or an error ends the run.
func (d *runDriver) run() error {
	if d.ctx.Err() != nil {
		return stopReason(d.ctx)
	}
	for d.phase != ended {
		next, err := d.work()
		if err == nil {
			err = d.move(next)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// move changes the phase. It returns an internal error if the transition is not allowed.
func (d *runDriver) move(next phase) error {
	if err := mayFollow(d.phase, next); err != nil {
		return err
	}
	if log := d.log.Check(zap.DebugLevel, "run phase changed"); log != nil {
		log.Write(zap.String("run", d.assigned.Run.ID), zap.Stringer("from", d.phase), zap.Stringer("to", next))
	}
	d.phase = next
	return nil
}

// work executes the current phase and returns the next one.
func (d *runDriver) work() (phase, error) {
	switch d.phase {
	case recalling:
		return d.recall()
	case locating:
		return d.findRoutes()
	case creating:
		return d.create()
	case findingTask:
		return linking, d.creation.trace(d.broke)
	case linking:
		return d.ready(), d.link(d.past.seen)
	case reconciling:
		return uploading, d.resolve()
	case uploading:
		return d.hand()
	case stepping:
		return d.step()
	case searching:
		return delivering, d.findStep()
	case delivering:
		return d.deliver()
	case ambiguous:
		return ended, d.reconcile.notListed(nil)
	}
	return ended, fmt.Errorf("a run has nothing to do when it is %s", d.phase)
}

// recall replays the log. A run whose last step is logged without its end is ended.
func (d *runDriver) recall() (phase, error) {
	d.past.replay(d.runState)
	if last := d.past.last; last != nil && last.Head.Step.SaysLast {
		return ended, d.end(mapping.Outcome{Status: mapping.RunSuccess})
	} else if last != nil && len(last.Head.Interrupts) > 0 {
		return ended, d.ask(last.Head.Interrupts)
	}
	switch {
	case d.assigned.Resume && d.remote == "":
		return ended, d.fail(mapping.CodeUpstreamLost, "has no task that could receive this answer. Start a new run.")
	case d.remote == "" || d.site.prefix == "":
		return locating, nil
	}
	return d.found(), nil
}

// findRoutes locates the routes. The next phase depends on the task, which is linked, may have been created without a
// response, or is new.
func (d *runDriver) findRoutes() (next phase, err error) {
	d.site, err = d.locate(d.ctx, d.assigned.Link.Profile)
	switch {
	case d.remote != "":
		return d.found(), err
	case d.assigned.InDoubt:
		return findingTask, err
	}
	return creating, err
}

func (d *runDriver) create() (phase, error) {
	err := d.creation.create()
	if upstream.MayHaveActed(err) {
		d.broke = err
		return findingTask, nil
	}
	return linking, err
}

// found returns the phase after the task was found.
func (d *runDriver) found() phase {
	if !d.past.linked {
		return linking
	}
	return d.ready()
}

// ready returns the phase after the task was linked.
func (d *runDriver) ready() phase {
	d.assigned.Input, d.assigned.Task.Prompt = rule.Input{}, "" // the agent has them
	if d.assigned.InDoubt {
		return reconciling
	}
	return uploading
}

// resolve resolves the call that an earlier process left open. If it finds more than one step, the machine has crashed
// and lost commits.
func (d *runDriver) resolve() error {
	steps, err := d.reconcile.steps(nil)
	d.queueSteps(steps)
	d.doubtful = len(steps) > 1
	return err
}

// hand uploads files: all of them for a task that has not begun, otherwise those that are new.
func (d *runDriver) hand() (phase, error) {
	hand := d.uploads.late
	if len(d.past.seen) == 0 && len(d.queue) == 0 {
		hand = d.uploads.all
	}
	err := hand()
	for try := 0; try < rereads && replaced(err); try++ {
		err = hand()
	}
	if err != nil {
		return ended, err
	}
	return d.onward()
}

// onward returns the phase after the files were uploaded.
func (d *runDriver) onward() (phase, error) {
	if err := d.mayGoOn(); err != nil {
		return ended, err
	}
	switch {
	case len(d.queue) > 0:
		return delivering, nil
	case d.doubtful:
		return ambiguous, nil
	}
	return stepping, nil
}

// mayGoOn returns an error for an agent that never ends.
func (d *runDriver) mayGoOn() error {
	if d.ctx.Err() != nil {
		return stopReason(d.ctx)
	}
	limit := d.stepLimit()
	if d.past.inRun >= limit && len(d.queue) == 0 {
		return d.fail(mapping.CodeStepLimit, "was stopped after %d steps, %s. It never reported that it was done.",
			limit, d.assigned.Run.Options.LimitedBy.Allows(d.up.Name))
	}
	if text := d.past.repeatGuard.stuck(); text != "" && !d.assigned.OneStep {
		return d.fail(mapping.CodeUpstreamError, "reported the same error %d times in a row and would continue forever: %s",
			repeatLimit, d.excerpt(text, errorText))
	}
	return nil
}

// step requests one step.
func (d *runDriver) step() (phase, error) {
	step, err := d.call.send()
	if upstream.MayHaveActed(err) {
		d.broke = err
		return searching, nil
	}
	if err != nil {
		return delivering, err
	}
	d.queue = append(d.queue, step)
	return delivering, nil
}

func (d *runDriver) findStep() error {
	steps, err := d.reconcile.steps(d.broke)
	d.queueSteps(steps)
	return err
}

// queueSteps queues steps from the agent's list. The first one received the input of this run.
func (d *runDriver) queueSteps(steps []*remoteStep) {
	if len(steps) > 0 {
		steps[0].input = d.call.words()
		d.past.said = true
	}
	d.queue = steps
}
