package backend

import (
	"slices"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
)

// deliver yields the next step, and the end of the run if that step is the last or asks a question.
func (d *runDriver) deliver() (phase, error) {
	step := d.queue[0]
	d.queue = slices.Delete(d.queue, 0, 1)
	ev, err := d.event(step)
	if err != nil {
		return ended, err
	}
	if err := d.emit(*ev); err != nil {
		return ended, err
	}
	d.uploads.noteTold()
	d.past.addStep(step)
	d.past.call = rule.PendingToolCall(d.past.call, ev)
	switch {
	case step.IsLast:
		return ended, d.end(mapping.Outcome{Status: mapping.RunSuccess})
	case len(ev.Head.Interrupts) > 0:
		return ended, d.ask(ev.Head.Interrupts)
	case d.assigned.OneStep && len(d.queue) == 0:
		return ended, d.end(mapping.Outcome{Parked: true})
	}
	return d.onward()
}

// event returns the update for a step, with the files that it changed. At the end of a run all of the agent's files are
// compared.
func (d *runDriver) event(step *remoteStep) (*mapping.Event, error) {
	info := mapping.StepInfo{
		ID: step.ID, Name: step.Name, Status: step.Status, Output: step.Output,
		Additional: step.Additional, SaysLast: step.IsLast, Input: step.input, OpenCall: d.past.call,
	}
	ev := d.update(info, nil)
	final := info.SaysLast || len(ev.Head.Interrupts) > 0 || d.past.inRun+1 == d.stepLimit()
	files, ids, err := d.downloads.collect(step, final)
	if err != nil {
		return nil, err
	}
	info.Skipped = d.files.skipped(final)
	if files = d.uploads.with(files); files != nil || info.Skipped != nil {
		ev = d.update(info, files)
	}
	ev.Head.Artifacts, ev.Head.Uploaded = ids, d.files.given
	return &ev, nil
}

func (d *runDriver) update(info mapping.StepInfo, files []byte) mapping.Event {
	n := d.assigned.Done + d.past.here + 1
	return rule.StepUpdate(d.assigned.Run.ID, d.assigned.TaskID, n, info, files, d.assigned.Run.Options.Approval)
}

// ask ends the run with a question. It yields the link again, because the run with the answer needs the list of logged
// steps.
func (d *runDriver) ask(questions []mapping.Interrupt) error {
	if err := d.link(d.past.seen); err != nil {
		return err
	}
	return d.end(mapping.Outcome{Status: mapping.RunInterrupted, Interrupts: questions})
}
