package store

import (
	"slices"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// A thread's open questions are stored in its row, each with the run that asked it. Several can be open if one run
// asked them, if runs are concurrent, or if several agents use the thread.
//
// A run that starts closes these questions:
//   - those of its own task: they are answered or asked again;
//   - those that its agent asked in other tasks, unless the run is an answer, or has the strategy concurrent and is
//     thus meant to run alongside the others: new input drops a question, as in LangGraph;
//   - all of them, if it starts at an older checkpoint: they belong to the line that it leaves;
//   - those of a run that was deleted or is unknown.
//
// Questions of others remain open.

// closeQuestions closes the open questions that a run closes when it starts, and returns the rest.
func closeQuestions(t *sqldb.Tx, at runKey, open []mapping.Interrupt, forks bool) ([]mapping.Interrupt, error) {
	if len(open) == 0 {
		return open, nil
	}
	left := open
	if forks {
		left = nil
	}
	left, err := keptBeside(t, at, left)
	if err != nil || len(left) == len(open) {
		return left, err
	}
	body, err := encodeInterrupts(left)
	if err != nil {
		return nil, err
	}
	return left, t.Put(`UPDATE threads SET interrupts = $2 WHERE id = $1`, at.Thread, t.Sealed(body, colThreadInterrupts, at.Thread))
}

// othersOpen returns the open questions of tasks other than the run's.
func othersOpen(t *sqldb.Tx, at runKey, open []mapping.Interrupt) (left []mapping.Interrupt, err error) {
	for _, q := range open {
		var others bool
		err := t.Get(`SELECT EXISTS (SELECT 1 FROM runs q, runs r WHERE q.thread = $1 AND q.run_id = $2 AND r.id = $3 AND q.task <> r.task)`,
			sqldb.In{at.Thread, q.Run, at.Run}, sqldb.Out{&others})
		if err != nil {
			return nil, err
		}
		if others {
			left = append(left, q)
		}
	}
	return left, nil
}

// keptBeside returns the open questions that a run does not close when it starts.
func keptBeside(t *sqldb.Tx, at runKey, open []mapping.Interrupt) (left []mapping.Interrupt, err error) {
	if len(open) == 0 {
		return nil, nil
	}
	r, err := readRun(t, `r.id = $1`, at.Run)
	if err != nil {
		return nil, err
	}
	beside := r.Options.Resuming || r.Multitask == mapping.StrategyConcurrent
	for _, q := range open {
		var others bool
		err := t.Get(`SELECT EXISTS (SELECT 1 FROM runs WHERE thread = $1 AND run_id = $2 AND task <> $3 AND (agent <> $4 OR $5))`,
			sqldb.In{at.Thread, q.Run, r.task, r.Agent, beside}, sqldb.Out{&others})
		if err != nil {
			return nil, err
		}
		if others {
			left = append(left, q)
		}
	}
	return left, nil
}

// closeThreadQuestions is like closeQuestions, for the questions in the thread's row.
func closeThreadQuestions(t *sqldb.Tx, at runKey) error {
	open, err := openQuestions(t, at.Thread)
	if err != nil {
		return err
	}
	_, err = closeQuestions(t, at, open, false)
	return err
}

func openQuestions(t *sqldb.Tx, thread int64) (open []mapping.Interrupt, err error) {
	var body []byte
	if err := t.Get(`SELECT interrupts FROM threads WHERE id = $1`, sqldb.In{thread}, sqldb.Out{sqldb.Unsealed(&body, colThreadInterrupts, thread)}); err != nil {
		return nil, err
	}
	return open, decode(body, &open)
}

// joinQuestions adds the run's id to the questions in an end, and adds the other open questions of the thread, which
// remain open when a run ends.
func joinQuestions(t *sqldb.Tx, at runKey, runID string, e *End) error {
	open, err := openQuestions(t, at.Thread)
	if err != nil {
		return err
	}
	if e.Outcome.Cancelled { // a cancellation ends the task, whether the run has started or not
		if open, err = othersOpen(t, at, open); err != nil {
			return err
		}
	}
	open = slices.DeleteFunc(open, func(q mapping.Interrupt) bool { return asks(e.Outcome.Interrupts, q) })
	for _, q := range e.Outcome.Interrupts {
		q.Run = runID
		open = append(open, q)
	}
	if e.Outcome.Interrupts = open; len(open) > 0 {
		e.Thread = mapping.ThreadInterrupted
	}
	return nil
}

// withdrawQuestions drops the questions of a run that is being deleted, since nobody could receive the answers.
func withdrawQuestions(t *sqldb.Tx, row *runRow) error {
	open, err := openQuestions(t, row.thread)
	left := slices.DeleteFunc(slices.Clone(open), func(q mapping.Interrupt) bool { return q.Run == row.ID })
	if err != nil || len(left) == len(open) {
		return err
	}
	body, err := encodeInterrupts(left)
	if err != nil {
		return err
	}
	return t.Put(`UPDATE threads SET interrupts = $2, status = CASE WHEN status = 'interrupted' AND $3 THEN 'idle' ELSE status END WHERE id = $1`,
		row.thread, t.Sealed(body, colThreadInterrupts, row.thread), len(left) == 0)
}
