package backend

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// errUnwanted: whoever ranged over the run does not want more of it.
var errUnwanted = errors.New("yield said false")

// rereads bounds how often an upload is begun anew whose file was replaced while it was
// read: the agent was sent none of it, or not to its end.
const rereads = 2

// drive is one call of Run.
type drive struct {
	*backend
	ctx   context.Context
	task  adapter.Task
	yield func(mapping.Event, error) bool

	site    site
	topic   string        // the agent's topic that the task is in; "" for none
	remote  string        // the agent's task id
	linked  bool          // a link event of this run is in the log
	found   bool          // the task was made by an earlier call whose link is not in the log; a step may have been sent too
	longest time.Duration // that a step of this run took
	seen    []string      // the agent's ids of the logged steps of this task
	inRun   int           // steps logged in this run
	here    int           // of them, in this call
	queue   []remoteStep
	ahead   bool // an older version made the run, which could ask for a step before it had logged the one before
	behind  bool // the log lacks more than the call that was open: a step after the queued ones may have been sent
	said    bool // the words of this run have reached the agent
	lastLog *mapping.Event
	former  map[string]bool // upstream tasks of failed attempts of this run
	echo    echo
	files   tracker
	given   mapping.Uploaded           // which uploads the task has; not logged yet
	late    map[string]json.RawMessage // of them, those that came after its beginning: by path in the state
}

func (d *drive) run() error {
	if d.ctx.Err() != nil {
		return ended(d.ctx)
	}
	d.replay()
	if done, err := d.finished(); done || err != nil {
		return err
	}
	if err := d.find(); err != nil {
		return err
	}
	d.task.Input, d.task.Prompt = mapping.Input{}, "" // the agent has them
	if err := d.prepare(); err != nil {
		return err
	}
	for {
		if err := d.mayGoOn(); err != nil {
			return err
		}
		step, err := d.next()
		if err != nil {
			return err
		}
		if done, err := d.deliver(step); done || err != nil {
			return err
		}
		if d.task.OneStep && len(d.queue) == 0 {
			return d.end(mapping.Outcome{Parked: true})
		}
	}
}

// find gets the agent's task: the linked one, one that was created without
// our learning its id, or a new one.
func (d *drive) find() error {
	if d.task.Resume && d.remote == "" {
		return d.fail(mapping.CodeUpstreamLost, "has no task that this answer could go to. Start a new run.")
	}
	if d.remote == "" || d.site.prefix == "" {
		var err error
		if d.site, err = d.locate(d.ctx, d.task.Link.Profile); err != nil {
			return err
		}
	}
	if d.remote == "" {
		if err := d.create(); err != nil {
			return err
		}
	}
	if d.linked {
		return nil
	}
	return d.link()
}

// prepare settles what an earlier call left open, and hands over the files: all
// of them to a task that has not begun, else those that came since.
func (d *drive) prepare() error {
	if d.task.Open && (d.linkedBefore() || d.found) {
		steps, err := d.resolve(nil)
		if err != nil {
			return err
		}
		// More than one where one call is open at the most: the machine failed and took commits with it.
		d.queue, d.behind = steps, d.ahead || len(steps) > 1
	}
	hand := d.uploadLate
	if len(d.seen) == 0 && len(d.queue) == 0 {
		hand = d.uploadAll
	}
	err := hand()
	for try := 0; try < rereads && replaced(err); try++ {
		err = hand()
	}
	return err
}

// mayGoOn is the guard against agents that never end.
func (d *drive) mayGoOn() error {
	if d.ctx.Err() != nil {
		return ended(d.ctx)
	}
	limit := d.stepLimit()
	if limit > 0 && d.inRun >= limit && len(d.queue) == 0 {
		return d.fail(mapping.CodeStepLimit, "was stopped after %d steps (max_steps, or the request's recursion_limit); it never said that it was done.", limit)
	}
	if text := d.echo.stuck(); text != "" && !d.task.OneStep {
		return d.fail(mapping.CodeUpstreamError, "reported the same error %d times in a row and would go on for ever: %s",
			echoLimit, clip(d.redact(text), errorText))
	}
	return nil
}

// stepLimit is how many steps the run may have, 0 for any number.
func (d *drive) stepLimit() int {
	if limit := d.task.Run.Options.MaxSteps; limit > 0 {
		return limit
	}
	return max(0, d.up.Config.MaxSteps)
}

// deliver yields a step, and the end of the run when it is the last or asks.
func (d *drive) deliver(step remoteStep) (done bool, err error) {
	info := mapping.StepInfo{
		ID: step.ID, Name: step.Name, Status: step.Status, Output: step.Output,
		Additional: step.Additional, IsLast: step.IsLast, Input: step.input,
	}
	n := d.task.Done + d.here + 1
	ev := d.update(n, info, nil)
	asks := !info.IsLast && len(ev.Head.Interrupts) > 0
	final := info.IsLast || asks || d.inRun+1 == d.stepLimit()
	files, ids, err := d.collect(step, final)
	if err != nil {
		return false, err
	}
	info.Skipped = d.files.skipped(final)
	if files = d.withLate(files); files != nil || info.Skipped != nil {
		ev = d.update(n, info, files)
	}
	ev.Head.Artifacts, ev.Head.Uploaded = ids, d.given
	if err := d.emit(ev); err != nil {
		return false, err
	}
	d.here, d.given, d.late = d.here+1, 0, nil
	d.note(step.ID)
	d.echo.add(info.Output, info.IsLast)
	switch {
	case info.IsLast:
		return true, d.end(mapping.Outcome{Status: mapping.RunSuccess})
	case asks:
		return true, d.ask(ev.Head.Interrupts)
	}
	return false, nil
}

func (d *drive) update(n int, info mapping.StepInfo, files []byte) mapping.Event {
	return mapping.StepUpdate(d.task.Run.ID, d.task.TaskID, n, info, files, d.task.Run.Options.Approval)
}

// ask ends the run with a question. The link is told once more, since the run
// that brings the answer needs to know which steps are logged.
func (d *drive) ask(questions []mapping.Interrupt) error {
	if err := d.link(); err != nil {
		return err
	}
	return d.end(mapping.Outcome{Status: mapping.RunInterrupted, Interrupts: questions})
}

func (d *drive) link() error {
	d.linked = true
	link := &mapping.Link{
		Agent: d.up.Name, TaskID: d.task.TaskID, Remote: d.remote, Topic: d.topic, Profile: d.site.profile(),
		Steps: append([]string(nil), d.seen...),
	}
	return d.emit(mapping.Event{Kind: mapping.KindLinked, Head: mapping.Head{Link: link}})
}

func (d *drive) end(out mapping.Outcome) error {
	return d.emit(mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &out}})
}

func (d *drive) emit(ev mapping.Event) error {
	ev.RunID = d.task.Run.ID
	if !d.yield(ev, nil) {
		return errUnwanted
	}
	return nil
}
