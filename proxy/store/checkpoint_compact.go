package store

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"time"

	"github.com/apbridge/apbridge/proxy/store/artifact"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// OldHistories lists threads whose oldest checkpoint was created at before or earlier. It leaves out threads with an
// active run, and those whose newest run waits for an answer, because to continue they may need the state they began
// with. They are ordered by creation and start after from (zero means at the first). It covers all tenants.
func (s *Retention) OldHistories(ctx context.Context, before time.Time, from Overdue, limit int) (list []Overdue, err error) {
	err = s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		return t.Each(`SELECT h.id, h.tenant, h.thread_id FROM threads h WHERE h.id > $1 AND h.status <> 'interrupted'
 AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.thread = h.id AND r.ended_us = 0)
 AND (SELECT e.at_us FROM events e WHERE e.thread = h.id AND e.line IS NOT NULL AND e.checkpoint IS NOT NULL ORDER BY e.seq LIMIT 1) <= $2
 ORDER BY h.id LIMIT $3`, sqldb.In{from.key, before.UnixMicro(), limit}, func(scan func(...any) error) error {
			var o Overdue
			err := scan(&o.key, &o.Tenant, &o.ThreadID)
			list = append(list, o)
			return err
		})
	})
	return list, err
}

// ForgetHistory drops checkpoints created at before or earlier, except the head and later ones. Their states can no
// longer be read, forked or run from, and runs that began on one of them cannot be replayed. File versions that runs
// replaced until then are dropped, too. The events remain. It returns the number of dropped checkpoints, which is 0
// while a run is active.
func (s *Retention) ForgetHistory(ctx context.Context, o Overdue, before time.Time) (n int64, err error) {
	err = s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		if err := tables.LockThread(t, o.key); err != nil {
			return err
		}
		n, err = forgetHistory(t, o, before)
		return err
	})
	return n, err
}

// forgetHistory is like ForgetHistory, for a locked thread.
func forgetHistory(t *sqldb.Tx, o Overdue, before time.Time) (n int64, err error) {
	c := compaction{Tx: t, thread: o.key}
	ok, err := c.find(o, before)
	if err != nil || !ok {
		return 0, err
	}
	if err := c.materializeSnapshots(); err != nil {
		return 0, err
	}
	if n, err = c.drop(); err != nil {
		return 0, err
	}
	return n, artifact.ForgetVersions(t, o.key, before.UnixMicro())
}

// KeepLatest drops all states of an overdue thread except the newest and clears its expiry; the thread remains. It does
// nothing if the thread has changed since it was listed or has an active run.
func (s *Retention) KeepLatest(ctx context.Context, o Overdue) error {
	return s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		if err := tables.LockThread(t, o.key); err != nil {
			return err
		}
		n, err := t.Exec(`UPDATE threads SET expires_us = 0, keep_latest = 0 WHERE id = $1 AND thread_id = $2 AND updated_us = $3 AND expires_us = $4 AND keep_latest = 1
 AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.thread = threads.id AND r.ended_us = 0)`, o.key, o.ThreadID, o.updated, o.expires)
		if err != nil || n == 0 {
			return err
		}
		_, err = forgetHistory(t, o, time.UnixMicro(math.MaxInt64))
		return err
	})
}

// DeleteHistory is like ForgetHistory, for one thread up to its head, regardless of age.
func (s *Retention) DeleteHistory(ctx context.Context, threadID string) (n int64, err error) {
	o := Overdue{Tenant: tables.TenantOf(ctx), ThreadID: threadID}
	if err := s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		o.key, err = tables.ThreadKey(t, tables.ScopeOf(ctx), threadID)
		return err
	}); err != nil {
		return 0, err
	}
	return s.ForgetHistory(ctx, o, time.UnixMicro(math.MaxInt64))
}

// compaction is a running ForgetHistory.
type compaction struct {
	*sqldb.Tx
	thread int64
	floor  int64 // number of the oldest checkpoint to keep
}

// find determines the floor. ok is false if there is nothing to drop.
func (c *compaction) find(o Overdue, before time.Time) (ok bool, err error) {
	var head int64
	err = c.Get(`SELECT e.seq FROM threads h JOIN thread_seq q ON q.thread = h.id JOIN events e ON e.thread = h.id AND e.checkpoint = q.head
 WHERE h.id = $1 AND h.tenant = $2 AND h.thread_id = $3 AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.thread = h.id AND r.ended_us = 0)`,
		sqldb.In{o.key, o.Tenant, o.ThreadID}, sqldb.Out{&head})
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = c.Get(`SELECT coalesce(min(seq), $3) FROM events WHERE thread = $1 AND line IS NOT NULL AND checkpoint IS NOT NULL AND at_us > $2`,
		sqldb.In{c.thread, before.UnixMicro(), head}, sqldb.Out{&c.floor})
	c.floor = min(c.floor, head)
	return err == nil, err
}

// materializeSnapshots stores a snapshot for every remaining line that is folded on something to be dropped.
func (c *compaction) materializeSnapshots() error {
	type row struct {
		checkpointPos
		id string
	}
	var rows []row
	err := c.Each(`SELECT seq, line, base, checkpoint FROM events WHERE thread = $1 AND line IS NOT NULL AND checkpoint IS NOT NULL
 AND seq >= $2 AND base < $2 AND base > -$2 ORDER BY seq`, sqldb.In{c.thread, c.floor}, func(scan func(...any) error) error {
		var r row
		err := scan(&r.seq, &r.line, &r.base, &r.id)
		rows = append(rows, r)
		return err
	})
	if err != nil {
		return err
	}
	line := int64(-1)
	for _, r := range rows {
		if r.line == line {
			continue
		}
		line = r.line
		if err := c.snapshot(r.checkpointPos); err != nil {
			return err
		}
	}
	return nil
}

// snapshot stores the full state with a checkpoint, as the base of the later checkpoints of its line.
func (c *compaction) snapshot(at checkpointPos) error {
	fold, err := foldAt(c.Tx, c.thread, at)
	if err != nil {
		return err
	}
	if _, err := c.Exec(`UPDATE events SET snapshot = $3 WHERE thread = $1 AND seq = $2`, c.thread, at.seq, c.Sealed(fold.JSON(), colEventSnapshot, c.thread, at.seq)); err != nil {
		return err
	}
	if _, err := c.Exec(`UPDATE events SET base = $3 WHERE thread = $1 AND line = $2 AND checkpoint IS NOT NULL AND seq >= $3 AND base < $3`,
		c.thread, at.line, at.seq); err != nil {
		return err
	}
	_, err = c.Exec(`UPDATE thread_seq SET base = $3 WHERE thread = $1 AND line = $2 AND base < $3`, c.thread, at.line, at.seq)
	return err
}

// drop removes everything below the floor from the history.
func (c *compaction) drop() (int64, error) {
	n, err := c.Exec(`UPDATE events SET checkpoint = NULL, snapshot = NULL, base = NULL, line = NULL WHERE thread = $1 AND line IS NOT NULL
 AND checkpoint IS NOT NULL AND seq < $2`, c.thread, c.floor)
	if err != nil {
		return 0, err
	}
	_, err = c.Exec(`UPDATE events SET line = NULL WHERE thread = $1 AND line IS NOT NULL AND seq < $2`, c.thread, c.floor)
	return n, err
}
