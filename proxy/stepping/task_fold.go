package stepping

import (
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
)

// taskFold is what the events of a task's runs make of it. Not for concurrent use: a session has it under its lock.
type taskFold struct {
	taskID   string
	mode     mapping.Stepping // of its runs, or of the first one to be made
	folder   *rule.StepFolder
	runs     []mapping.Run // oldest first
	feeding  int           // index of the run whose events are folded next
	last     int64         // Seq of the newest event folded
	steps    []mapping.Step
	state    taskState
	question []mapping.Interrupt // of a task that has asked
	uploaded mapping.Uploaded    // up to where uploads were given to a thread/run agent with its steps
}

func newTaskFold(taskID string, mode mapping.Stepping) taskFold {
	f := taskFold{taskID: taskID}
	f.foldAs(mode)
	return f
}

// fold folds an entry of the run at index i, unless it is folded already or of another run. A reader may have it of a
// run that was taken back meanwhile.
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

// takeBackLast takes is_last back from steps that a follow-up run comes after. The follow-up was asked for before they
// were handed out, so no client has seen them as the last.
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

// note keeps how the task stands after an event of the run at index i.
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

// goOnWith has the run at index i folded next.
func (f *taskFold) goOnWith(i int) {
	f.feeding, f.state, f.question = i, f.state.after(runFound), nil
}

// foldAs has the task's events folded in a mode, from the first on.
func (f *taskFold) foldAs(mode mapping.Stepping) {
	f.mode, f.folder = mode, rule.NewStepFolder(f.taskID, mode)
}

// add has the events of a further run folded. The first run decides on the mode: another process may have made it,
// which knew the agent when this one did not, or is configured otherwise for the time of an update.
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

// withoutInput is a run as a session keeps it. The input may be long, and is read from the store by whatever executes
// the run.
func withoutInput(r mapping.Run) mapping.Run {
	r.Options.Input = nil
	return r
}
