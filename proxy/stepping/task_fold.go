package stepping

import (
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
)

// taskFold is the fold of the events of a task's runs. Not safe for concurrent use; session.mu guards it.
type taskFold struct {
	taskID   string
	mode     mapping.Stepping // of its runs, or of the first one to be created
	folder   *rule.StepFolder
	runs     []mapping.Run // oldest first
	feeding  int           // index of the run whose events are folded next
	last     int64         // Seq of the newest event folded
	steps    []mapping.Step
	state    taskState
	question []mapping.Interrupt  // open questions of the task
	uploaded mapping.UploadCursor // the uploads that a thread/run agent received with its steps
}

func newTaskFold(taskID string, mode mapping.Stepping) taskFold {
	f := taskFold{taskID: taskID}
	f.foldAs(mode)
	return f
}

// fold folds an entry of the run at index i. It ignores an entry that is already folded or belongs to another run. A
// reader may still have entries of a run that was removed.
func (f *taskFold) fold(i int, e *state.Entry) {
	if i != f.feeding || e.Seq <= f.last || i >= len(f.runs) || f.runs[i].ID != e.RunID {
		return
	}
	f.last = e.Seq
	released := f.folder.Add(e)
	if i+1 < len(f.runs) {
		takeBackLast(released, f.runs[i+1])
	}
	f.steps = append(f.steps, released...)
	f.note(i, e)
}

// takeBackLast clears is_last of steps before a follow-up run. The follow-up was requested before they were handed out,
// so no client has seen them as the last.
func takeBackLast(steps []mapping.Step, next mapping.Run) {
	if !next.Options.FollowUp {
		return
	}
	for k := range steps {
		if steps[k].N >= next.Options.Due {
			steps[k].IsLast = false
		}
	}
}

// note updates the task's state after an event of the run at index i.
func (f *taskFold) note(i int, e *state.Entry) {
	switch e.Kind {
	case mapping.KindLinked:
		f.uploaded = max(f.uploaded, e.Head.Uploaded)
	case mapping.KindStarted:
		f.state = f.state.after(attemptStarted)
	case mapping.KindInterrupt, mapping.KindUpdate:
		if len(e.Head.Interrupts) > 0 {
			f.state = f.state.after(questionLogged)
		}
	case mapping.KindEnd:
		how, question := endOf(e)
		f.state, f.question = f.state.after(how), question
		if i+1 < len(f.runs) {
			f.goOnWith(i + 1)
		}
	}
}

// goOnWith makes the run at index i the next one to fold.
func (f *taskFold) goOnWith(i int) {
	f.feeding, f.state, f.question = i, f.state.after(runFound), nil
}

// foldAs restarts the fold of the task's events in a mode.
func (f *taskFold) foldAs(mode mapping.Stepping) {
	f.mode, f.folder = mode, rule.NewStepFolder(f.taskID, mode)
}

// add adds a run to the task. The first run determines the mode. It may differ from the expected one if another process
// created the run and already knew the agent, or has another configuration during an update.
func (f *taskFold) add(r mapping.Run) {
	if mode := modeOfRun(r); len(f.runs) == 0 && mode != f.mode {
		f.foldAs(mode)
	}
	f.runs = append(f.runs, withoutInput(r))
	takeBackLast(f.steps, r)
	if !f.state.active() {
		f.goOnWith(len(f.runs) - 1)
	}
}

// withoutInput returns a run without its input, which may be long and which the engine reads from the store.
func withoutInput(r mapping.Run) mapping.Run {
	r.Options.Input = nil
	return r
}
