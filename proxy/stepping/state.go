package stepping

import (
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
)

// taskState is the state of a task, as folded by its session.
type taskState int

const (
	taskUnstarted taskState = iota // it has no run
	taskRunning                    // its run is queued or runs
	taskAsking                     // its run has asked a question and is being ended
	taskAsked                      // its newest run has ended with a question
	taskDone                       // its newest run has ended
	taskCancelled                  // its newest run was cancelled
)

// active reports whether the task has a run whose events must still be folded.
func (s taskState) active() bool { return s == taskRunning || s == taskAsking }

// change is a change to a task that its session has found.
type change int

const (
	runFound       change = iota // a run after the newest folded one
	attemptStarted               // of the run
	questionLogged               // the run has asked
	endedAsking                  // the run has ended, and its question is open
	runEnded                     // the run has ended
	endedCancelled               // the run has ended because it was cancelled
)

// transitions is the table of the changes that lead out of each state. Other changes have no effect.
var transitions = map[taskState]map[change]taskState{
	taskUnstarted: {runFound: taskRunning},
	taskRunning:   {questionLogged: taskAsking, endedAsking: taskAsked, runEnded: taskDone, endedCancelled: taskCancelled},
	taskAsking:    {attemptStarted: taskRunning, endedAsking: taskAsked, runEnded: taskDone, endedCancelled: taskCancelled},
	taskAsked:     {runFound: taskRunning},
	taskDone:      {runFound: taskRunning},
	taskCancelled: {runFound: taskRunning},
}

// after returns the state after a change.
func (s taskState) after(c change) taskState {
	if next, ok := transitions[s][c]; ok {
		return next
	}
	return s
}

// endOf returns the change caused by an end event, and the questions it leaves open.
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
