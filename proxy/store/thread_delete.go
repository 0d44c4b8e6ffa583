package store

import (
	"context"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// Delete removes the thread and everything that belongs to it. It returns Conflict thread_busy while a run is active.
func (s *Threads) Delete(ctx context.Context, id string) error {
	return s.base.DB.Write(ctx, func(t *sqldb.Tx) error { return s.base.deleteThread(ctx, t, id, nil) })
}

// deleteThread removes a thread. Before that it calls first with the thread's key, unless first is nil.
func (s *base) deleteThread(ctx context.Context, t *sqldb.Tx, id string, first func(*sqldb.Tx, int64) error) error {
	row, err := readLocked(t, tables.ScopeOf(ctx), id)
	if err != nil {
		return tables.NoThread(err, id)
	}
	if err := mustBeFree(t, row.key, id); err != nil {
		return err
	}
	if first != nil {
		if err := first(t, row.key); err != nil {
			return err
		}
	}
	if err := s.forgetRuns(t, row.key); err != nil {
		return err
	}
	return tables.PutAll(t, threadParts, row.key)
}

// threadParts removes everything that belongs to a thread, children first. Rows of the outbox remain, since they
// contain their own body. Contents of files that another thread refers to remain; their rows are locked first, as in
// package artifact.
var threadParts = []string{
	`UPDATE blobs SET loose = loose WHERE id IN (SELECT blob FROM artifacts WHERE thread = $1)`,
	`DELETE FROM chunks WHERE blob IN (SELECT blob FROM artifacts a WHERE a.thread = $1` + ofNoOther + `)`,
	`DELETE FROM blobs WHERE id IN (SELECT blob FROM artifacts a WHERE a.thread = $1` + ofNoOther + `)`,
	`DELETE FROM artifacts WHERE thread = $1`,
	`DELETE FROM links WHERE thread = $1`,
	`DELETE FROM crons WHERE thread = $1`,
	`DELETE FROM requests WHERE task IN (SELECT id FROM tasks WHERE thread = $1)`,
	`DELETE FROM hooks WHERE task IN (SELECT id FROM tasks WHERE thread = $1)`,
	`DELETE FROM events WHERE thread = $1`,
	`DELETE FROM run_calls WHERE run IN (SELECT id FROM runs WHERE thread = $1)`,
	`DELETE FROM runs WHERE thread = $1`,
	`DELETE FROM tasks WHERE thread = $1`,
	`DELETE FROM updates WHERE thread = $1`,
	`DELETE FROM thread_seq WHERE thread = $1`,
	`DELETE FROM threads WHERE id = $1`,
}

const ofNoOther = ` AND NOT EXISTS (SELECT 1 FROM artifacts o WHERE o.blob = a.blob AND o.thread <> $1)`

// forgetRuns removes a thread's runs from the cache once they are deleted.
func (s *base) forgetRuns(t *sqldb.Tx, thread int64) error {
	return t.Each(`SELECT run_id FROM runs WHERE thread = $1`, sqldb.In{thread}, func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		s.forgetRun(t, id)
		return err
	})
}

func (s *base) forgetRun(t *sqldb.Tx, id string) {
	t.After(func() { s.Keys.Remove(id) })
	s.Notify(t, NoticeGone, id)
}
