package backend

import (
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
)

// history is the logged part of a run.
type history struct {
	linked      bool            // a linked event of this run is logged
	remote      string          // the agent's task id, if it was known before this call
	former      map[string]bool // upstream tasks of failed attempts of this run
	seen        []string        // the agent's ids for the logged steps of this task
	inRun       int             // steps logged in this run
	here        int             // those of this call of Run
	said        bool            // the input of this run has reached the agent
	last        *mapping.Event  // the newest step that was logged before this call
	call        string          // id of the tool call that waits for its result
	longest     time.Duration   // the longest duration of a step of this run
	repeatGuard repeatGuard
}

// replay reads the events that are already logged.
func (h *history) replay(j *runState) {
	h.former, h.call, j.topic = map[string]bool{}, j.assigned.Task.PendingToolCall, j.assigned.Link.Topic
	if j.assigned.Resume {
		h.remote = j.assigned.Link.Remote
		h.seen = append(h.seen, j.assigned.Link.Steps...)
		j.site, _ = parseProfile(j.assigned.Link.Profile)
	}
	for i := range j.assigned.After {
		ev := &j.assigned.After[i]
		h.event(j, ev)
		if i > 0 && ev.Kind == mapping.KindUpdate && !j.assigned.OneStep { // otherwise the time includes the client's pauses
			h.longest = max(h.longest, ev.At.Sub(j.assigned.After[i-1].At))
		}
	}
	j.remote = h.remote
}

func (h *history) event(j *runState, ev *mapping.Event) {
	head := ev.Head
	switch {
	case ev.Kind == mapping.KindStarted && head.Attempt > 1:
		h.startOver(j.assigned.Resume)
	case ev.Kind == mapping.KindLinked && head.Link != nil:
		j.topic = head.Link.Topic
		h.remote, h.linked, h.seen = head.Link.Remote, true, append([]string(nil), head.Link.Steps...)
		j.site, _ = parseProfile(head.Link.Profile)
	case ev.Kind == mapping.KindUpdate && head.Step != nil:
		h.note(head.Step.ID)
		output, _ := rule.StepSaid(ev)
		h.repeatGuard.add(output, head.Step.SaysLast)
		h.last = ev
		h.said = !j.assigned.OneStep
	}
}

// startOver discards a failed attempt. A retried run starts over with a new task, unless it carries an answer, which
// only the old task can use.
func (h *history) startOver(resume bool) {
	h.inRun, h.last, h.repeatGuard = 0, nil, repeatGuard{}
	if resume {
		return
	}
	if h.remote != "" {
		h.former[h.remote] = true
	}
	h.remote, h.linked, h.seen, h.said = "", false, nil, false
}

func (h *history) note(stepID string) {
	h.inRun++
	h.seen = append(h.seen, stepID)
}

// addStep records a step of this call.
func (h *history) addStep(step *remoteStep) {
	h.here++
	h.note(step.ID)
	h.repeatGuard.add(step.Output, step.IsLast)
}
