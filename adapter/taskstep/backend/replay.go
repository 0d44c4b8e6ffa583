package backend

import (
	"github.com/apbridge/apbridge/mapping"
)

// replay takes in what is logged already.
func (d *drive) replay() {
	d.former, d.topic = map[string]bool{}, d.task.Link.Topic
	if d.task.Resume {
		d.remote = d.task.Link.Remote
		d.seen = append(d.seen, d.task.Link.Steps...)
		d.site, _ = parseProfile(d.task.Link.Profile)
	}
	for i := range d.task.After {
		ev := &d.task.After[i]
		d.replayEvent(ev)
		if i > 0 && ev.Kind == mapping.KindUpdate && !d.task.OneStep { // else the client's pauses lie between
			d.longest = max(d.longest, ev.At.Sub(d.task.After[i-1].At))
		}
	}
}

func (d *drive) replayEvent(ev *mapping.Event) {
	head := ev.Head
	if ev.Kind == mapping.KindStarted {
		d.ahead = head.Ahead
	}
	switch {
	case ev.Kind == mapping.KindStarted && head.Attempt > 1:
		d.replayAttempt()
	case ev.Kind == mapping.KindLinked && head.Link != nil:
		d.topic = head.Link.Topic
		d.remote, d.linked, d.seen = head.Link.Remote, true, append([]string(nil), head.Link.Steps...)
		d.site, _ = parseProfile(head.Link.Profile)
	case ev.Kind == mapping.KindUpdate && head.Step != nil:
		d.note(head.Step.ID)
		output, _ := mapping.StepSaid(*ev)
		d.echo.add(output, head.Step.IsLast)
		d.lastLog = ev
		d.said = !d.task.OneStep
	}
}

// replayAttempt forgets a failed attempt: a retried run starts over with a
// task of its own, unless it carries an answer, which only the old one can use.
func (d *drive) replayAttempt() {
	d.inRun, d.lastLog, d.echo = 0, nil, echo{}
	if d.task.Resume {
		return
	}
	if d.remote != "" {
		d.former[d.remote] = true
	}
	d.remote, d.linked, d.seen, d.said = "", false, nil, false
}

func (d *drive) note(stepID string) {
	d.inRun++
	d.seen = append(d.seen, stepID)
}

// finished ends a run whose last step is logged, but not its end.
func (d *drive) finished() (bool, error) {
	if d.lastLog == nil {
		return false, nil
	}
	if d.lastLog.Head.Step.IsLast {
		return true, d.end(mapping.Outcome{Status: mapping.RunSuccess})
	}
	if asks := d.lastLog.Head.Interrupts; len(asks) > 0 {
		return true, d.ask(asks)
	}
	return false, nil
}

// linkedBefore tells whether the task was known before this call of Run.
func (d *drive) linkedBefore() bool {
	if d.task.Resume {
		return true
	}
	for _, ev := range d.task.After {
		if ev.Head.Link != nil && ev.Head.Link.Remote == d.remote {
			return true
		}
	}
	return false
}
