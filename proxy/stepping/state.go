package stepping

import (
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
)

// taskState is how a task stands, as far as its session has folded it.
type taskState int

const (
	taskUnstarted taskState = iota // it has no run
	taskRunning                    // its run waits for its turn or goes on
	taskAsking                     // its run has asked a question and is being ended
	taskAsked                      // its newest run has ended with a question
	taskDone                       // its newest run has ended
	taskCancelled                  // its newest run was cancelled
)

// active reports whether there is a run whose events are to be folded.
func (s taskState) active() bool { return s == taskRunning || s == taskAsking }

// change is what becomes known of a task.
type change int

const (
	runFound       change = iota // a run after the one that was folded last
	attemptStarted               // of the run
	questionLogged               // the run has asked
	endedAsking                  // the run has ended, and its question is open
	runEnded                     // the run has ended
	endedCancelled               // the run has ended as it was cancelled
)

// transitions is the table of what leaves each state. Any other change leaves a task as it stands.
var transitions = map[taskState]map[change]taskState{
	taskUnstarted: {runFound: taskRunning},
	taskRunning:   {questionLogged: taskAsking, endedAsking: taskAsked, runEnded: taskDone, endedCancelled: taskCancelled},
	taskAsking:    {attemptStarted: taskRunning, endedAsking: taskAsked, runEnded: taskDone, endedCancelled: taskCancelled},
	taskAsked:     {runFound: taskRunning},
	taskDone:      {runFound: taskRunning},
	taskCancelled: {runFound: taskRunning},
}

// after is the state that follows a change.
func (s taskState) after(c change) taskState {
	if next, ok := transitions[s][c]; ok {
		return next
	}
	return s
}

// endOf is the change that an end event is, and the questions it leaves open.
func endOf(e *state.Entry) (change, []mapping.Interrupt) {
	o := e.Head.Outcome
	open := o.Interrupts
	if len(open) == 0 && e.After != nil && o.Status == mapping.RunInterrupted && !o.Cancelled {
		open = e.After.Interrupts()
	}
	switch {
	case len(open) > 0:
		return endedAsking, open
	case o.Cancelled:
		return endedCancelled, nil
	}
	return runEnded, nil
}
