package store

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/artifact"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// Delete removes an ended run with its events and checkpoints. If the head was a checkpoint of the run, it moves back
// to the newest remaining checkpoint. The run's numbers are not reused. If later checkpoints or other runs depend on
// the run's checkpoints, these remain, with the events that their states are folded from, as history without a run. The
// same applies to a run that was concurrent with others; a new checkpoint removes its changes from the newest state. If
// the state loses the run's changes, files are restored to what they were before the run. A newer run that waited for
// this may start. It returns a Conflict while the run is active.
func (s *Runs) Delete(ctx context.Context, threadID, runID string) error {
	return s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		row, err := lockRun(t, tables.ScopeOf(ctx), threadID, runID)
		if err != nil {
			return err
		}
		if row.Status.Active() {
			return mapping.Errorf(mapping.Conflict, "run_active", "Run %q has not ended. Cancel it first.", runID)
		}
		if err := undo(t, row); err != nil {
			return err
		}
		if err := s.base.deleteHistory(t, row); err != nil {
			return err
		}
		if err := release(t, row.key); err != nil {
			return err
		}
		if err := tables.PutAll(t, []string{`DELETE FROM run_calls WHERE run = $1`, `DELETE FROM runs WHERE id = $1`}, row.key); err != nil {
			return err
		}
		if err := deleteEmptyTask(t, row.task, row.TaskID == row.ID); err != nil {
			return err
		}
		if err := restoreTaskStatus(t, row); err != nil {
			return err
		}
		s.base.forgetRun(t, runID)
		return nil
	})
}

// deleteHistory removes everything that a run logged and rewinds the thread's head.
func (s *base) deleteHistory(t *sqldb.Tx, row *runRow) error {
	span := sqldb.In{row.thread, row.key, row.from, row.to()}
	standing, err := stoodOn(t, span)
	if err != nil {
		return err
	}
	if standing, err = deleteFiles(t, row, standing); err != nil {
		return err
	}
	parts := []string{`DELETE FROM events WHERE thread = $1 AND run = $2 AND seq > $3 AND seq <= $4`}
	if standing {
		parts = []string{`DELETE FROM events WHERE thread = $1 AND run = $2 AND seq > $3 AND seq <= $4 AND line IS NULL`,
			`UPDATE events SET run = ` + ofDeleted + ` WHERE thread = $1 AND run = $2 AND seq > $3 AND seq <= $4`}
	}
	if err := tables.PutAll(t, parts, span...); err != nil {
		return err
	}
	if err := withdrawQuestions(t, row); err != nil {
		return err
	}
	if err := rewind(t, row.thread); err != nil {
		return err
	}
	return s.backToLine(t, row)
}

// ofDeleted is the run of events that remain after their run was deleted. No run has that key.
const ofDeleted = `0`

// backToLine restores the files of the thread's head if the deleted run began at an older checkpoint, because the head
// is then on the line from which the run forked.
func (s *base) backToLine(t *sqldb.Tx, row *runRow) error {
	var head string
	var left bool
	err := t.Get(`SELECT head, EXISTS (SELECT 1 FROM artifacts WHERE thread = $1 AND staged = -1 AND until_run = -2) FROM thread_seq WHERE thread = $1`,
		sqldb.In{row.thread}, sqldb.Out{&head, &left})
	if err != nil || !left || head == "" || row.Base == "" || head == row.Base {
		return err
	}
	from, err := findCheckpoint(t, row.thread, row.Base)
	if err != nil {
		return unlessMissing(err) // the checkpoint was dropped from a long history
	}
	to, err := findCheckpoint(t, row.thread, head)
	if err != nil {
		return err
	}
	return s.changeLine(t, row.thread, from, to)
}

func unlessMissing(err error) error {
	if mapping.Classify(err).Class == mapping.NotFound {
		return nil
	}
	return err
}

// deleteFiles makes the thread's files match its future state, which lacks the changes of the run unless these remain.
// For a concurrent run it also removes the changes from the state. The run's checkpoints then remain even if nothing
// depends on them. Without them the line would end, and none of the other runs could be removed from it later.
func deleteFiles(t *sqldb.Tx, row *runRow, standing bool) (stays bool, err error) {
	concurrent := standing
	if row.Options.MayOverlap && !standing {
		if concurrent, err = ranConcurrently(t, row); err != nil {
			return false, err
		}
	}
	taken := !standing
	if concurrent && row.Options.MayOverlap {
		out, err := withdraw(t, row)
		if err != nil {
			return false, err
		}
		taken, standing = taken || out, standing || out
	}
	if taken {
		return standing, artifact.UndoRun(t, row.thread, row.key)
	}
	return standing, artifact.KeepOfRun(t, row.thread, row.key)
}

// stoodOn reports whether later checkpoints were folded on those of a run, or another run began on one of them. That
// run counts even if it left no checkpoints, since it could not be replayed without its base. The span is the run's.
func stoodOn(t *sqldb.Tx, span sqldb.In) (yes bool, err error) {
	err = t.Get(`SELECT EXISTS (SELECT 1 FROM events WHERE thread = $1 AND line IS NOT NULL AND checkpoint IS NOT NULL AND (run IS NULL OR run <> $2)
 AND seq > (SELECT min(seq) FROM events WHERE thread = $1 AND run = $2 AND seq > $3 AND seq <= $4 AND line IS NOT NULL))
 OR EXISTS (SELECT 1 FROM runs o JOIN events e ON e.thread = o.thread AND e.checkpoint = o.base
 WHERE o.thread = $1 AND o.id <> $2 AND o.base <> '' AND e.run = $2 AND e.seq > $3 AND e.seq <= $4)`, span, sqldb.Out{&yes})
	return yes, err
}

// rewind makes the newest remaining checkpoint the head if the head was deleted. The events that follow begin a new
// line, because the old one has lost events.
func rewind(t *sqldb.Tx, thread int64) error {
	_, err := t.Exec(`UPDATE thread_seq SET line = seq + 1,
 head = coalesce((SELECT checkpoint FROM events WHERE thread = $1 AND line IS NOT NULL AND checkpoint IS NOT NULL ORDER BY seq DESC LIMIT 1), ''),
 base = -coalesce((SELECT seq FROM events WHERE thread = $1 AND line IS NOT NULL AND checkpoint IS NOT NULL ORDER BY seq DESC LIMIT 1), 0)
 WHERE thread = $1 AND head <> '' AND NOT EXISTS (SELECT 1 FROM events WHERE thread = $1 AND checkpoint = thread_seq.head)`, thread)
	return err
}

// deleteEmptyTask removes a task that was created only for one run.
func deleteEmptyTask(t *sqldb.Tx, task int64, own bool) error {
	if !own {
		return nil
	}
	return tables.PutAll(t, []string{
		`DELETE FROM requests WHERE task = $1 AND NOT EXISTS (SELECT 1 FROM runs WHERE task = $1)`,
		`DELETE FROM hooks WHERE task = $1 AND NOT EXISTS (SELECT 1 FROM runs WHERE task = $1)`,
		`DELETE FROM tasks WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM runs WHERE task = $1)`,
	}, task)
}
