package stepping

import (
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
)

// Changes that are not in the table leave the task's state unchanged.
func TestTransitionsOfTaskStates(t *testing.T) {
	t.Parallel()
	const changes = endedCancelled + 1
	for state, want := range map[taskState][changes]taskState{
		//             runFound     attemptStarted questionLogged endedAsking    runEnded       endedCancelled
		taskUnstarted: {taskRunning, taskUnstarted, taskUnstarted, taskUnstarted, taskUnstarted, taskUnstarted},
		taskRunning:   {taskRunning, taskRunning, taskAsking, taskAsked, taskDone, taskCancelled},
		taskAsking:    {taskAsking, taskRunning, taskAsking, taskAsked, taskDone, taskCancelled},
		taskAsked:     {taskRunning, taskAsked, taskAsked, taskAsked, taskAsked, taskAsked},
		taskDone:      {taskRunning, taskDone, taskDone, taskDone, taskDone, taskDone},
		taskCancelled: {taskRunning, taskCancelled, taskCancelled, taskCancelled, taskCancelled, taskCancelled},
	} {
		for c := range changes {
			if got := state.after(c); got != want[c] {
				t.Errorf("state %d after change %d: %d, want %d", state, c, got, want[c])
			}
		}
	}
}

func TestTaskStateAfterAnEnd(t *testing.T) {
	t.Parallel()
	question := []mapping.Interrupt{{ID: "q"}}
	for name, c := range map[string]struct {
		outcome mapping.Outcome
		want    change
		open    int
	}{
		"success":          {mapping.Outcome{Status: mapping.RunSuccess}, runEnded, 0},
		"error":            {mapping.Outcome{Status: mapping.RunError}, runEnded, 0},
		"cancelled":        {mapping.Outcome{Status: mapping.RunInterrupted, Cancelled: true}, endedCancelled, 0},
		"question":         {mapping.Outcome{Status: mapping.RunInterrupted, Interrupts: question}, endedAsking, 1},
		"stop without one": {mapping.Outcome{Status: mapping.RunInterrupted}, runEnded, 0},
	} {
		e := &state.Entry{}
		e.Kind, e.Head.Outcome = mapping.KindEnd, &c.outcome
		if got, open := endOf(e); got != c.want || len(open) != c.open {
			t.Errorf("%s: change %d with %d questions, want %d with %d", name, got, len(open), c.want, c.open)
		}
	}
}

// The uploads given with the steps of a removed run count as not given.
func TestRestartedFoldForgetsRemovedRuns(t *testing.T) {
	t.Parallel()
	task := mapping.Task{ID: "t", HandOuts: 1}
	ses := emptySession(task, nil, mapping.SteppingLockstep)
	ses.joined(mapping.Run{ID: "r", TaskID: "t", Options: mapping.RunOptions{Stepping: mapping.SteppingLockstep}})
	ses.feed(0, &state.Entry{Event: mapping.Event{Seq: 1, RunID: "r", Kind: mapping.KindLinked, Head: mapping.Head{Uploaded: 7}}})
	if got := ses.given(); got != 7 {
		t.Fatal(got)
	}
	ses.restart(emptySession(mapping.Task{ID: "t"}, nil, mapping.SteppingLockstep))
	ses.feed(0, &state.Entry{Event: mapping.Event{Seq: 2, RunID: "r", Kind: mapping.KindUpdate}}) // read before
	if got := ses.given(); got != 0 || ses.State() != taskUnstarted || ses.Task().HandOuts != 1 {
		t.Errorf("uploads up to %d, state %d, %d steps handed out", got, ses.State(), ses.Task().HandOuts)
	}
}
