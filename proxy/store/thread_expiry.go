package store

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/clock"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// Retention removes old data: threads, histories and tokens.
type Retention struct{ base *base }

// Overdue is a thread that may be deleted: it has expired, and it had no active run when it was listed.
type Overdue struct {
	Tenant, ThreadID string
	Due              time.Time // when it expired
	KeepLatest       bool      // drop its older states instead of deleting it: see KeepLatest
	key              int64
	updated, expires int64
	idle             bool // listed because it is unused
}

// Clock returns the time used for expiry.
func (s *Retention) Clock() clock.Reading { return s.base.DB.Clock() }

// OverdueThreads lists expired threads without an active run, the longest expired first, and returns when the next one
// expires (zero if none will). A thread with KeepLatest also waits while a question is open, since continuing may need
// the state that its run began with. It covers all tenants.
func (s *Retention) OverdueThreads(ctx context.Context, now clock.Reading, limit int) (list []Overdue, next time.Time, err error) {
	err = s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		return t.Until(`SELECT h.id, h.tenant, h.thread_id, h.updated_us, h.expires_us, h.created_us, h.keep_latest,
 h.keep_latest = 1 AND h.status = 'interrupted' OR EXISTS (SELECT 1 FROM runs r WHERE r.thread = h.id AND r.ended_us = 0) FROM threads h WHERE h.expires_us > 0 ORDER BY h.expires_us`, nil,
			func(scan func(...any) error) (bool, error) {
				var o Overdue
				var created int64
				var busy bool
				if err := scan(&o.key, &o.Tenant, &o.ThreadID, &o.updated, &o.expires, &created, &o.KeepLatest, &busy); err != nil {
					return false, err
				}
				o.Due = sqldb.TimeOf(o.expires)
				if o.expires > now.Now {
					next = o.Due
					return false, nil
				}
				if !busy && o.expires <= now.Expiry(created) {
					list = append(list, o)
				}
				return len(list) < limit, nil
			})
	})
	return list, next, err
}

// unused is the condition that thread h is not in use: it has no active run and no running state update, none of its
// crons ticks or may be enabled again, and no question is open.
const unused = ` NOT EXISTS (SELECT 1 FROM runs r WHERE r.thread = h.id AND r.ended_us = 0)
 AND NOT EXISTS (SELECT 1 FROM updates u WHERE u.thread = h.id)
 AND NOT EXISTS (SELECT 1 FROM crons c WHERE c.thread = h.id AND c.thread > 0 AND (c.next_us > 0 OR c.enabled = 0))
 AND h.status <> 'interrupted'`

// IdleThreads lists unused threads that have not changed since before: without an active run, cron or open question.
// They are ordered by creation and start after from (zero means at the first). It covers all tenants.
func (s *Retention) IdleThreads(ctx context.Context, before time.Time, from Overdue, limit int) (list []Overdue, err error) {
	err = s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		return t.Each(`SELECT h.id, h.tenant, h.thread_id, h.updated_us, h.expires_us FROM threads h WHERE h.id > $1 AND h.updated_us <= $2
 AND`+unused+` ORDER BY h.id LIMIT $3`,
			sqldb.In{from.key, before.UnixMicro(), limit}, func(scan func(...any) error) error {
				o := Overdue{idle: true}
				err := scan(&o.key, &o.Tenant, &o.ThreadID, &o.updated, &o.expires)
				o.Due = sqldb.TimeOf(o.updated)
				list = append(list, o)
				return err
			})
	})
	return list, err
}

// Gone is a deleted thread with everything that others may still have of it.
type Gone struct {
	Tenant, ThreadID string
	Runs             []mapping.Run // only their ids
	Tasks            []string      // ids, including tasks without runs
	Links            []mapping.Link
}

// deletedAtOnce limits the threads of one transaction and one statement.
const deletedAtOnce = 64

// DeleteThreads removes threads and everything that belongs to them, many in one transaction. A thread remains if it
// has changed since it was listed or has an active run. An idle thread also remains if it is in use again. It covers
// all tenants.
func (s *Retention) DeleteThreads(ctx context.Context, list []Overdue) (gone []Gone, err error) {
	for len(list) > 0 && err == nil {
		part := list[:min(len(list), deletedAtOnce)]
		list = list[len(part):]
		var removed []Gone
		err = s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
			removed, err = s.deleteThreads(t, part)
			return err
		})
		if err == nil {
			gone = append(gone, removed...)
		}
	}
	return gone, err
}

func (s *Retention) deleteThreads(t *sqldb.Tx, list []Overdue) (gone []Gone, err error) {
	at := map[int64]int{}
	var keys sqldb.In
	// Lock in a fixed order, to avoid deadlocks.
	list = slices.SortedFunc(slices.Values(list), func(a, b Overdue) int { return cmp.Compare(a.key, b.key) })
	for _, o := range list {
		var same bool
		if err := tables.LockThread(t, o.key); err != nil {
			return nil, err
		}
		over := ` NOT EXISTS (SELECT 1 FROM runs r WHERE r.thread = h.id AND r.ended_us = 0)`
		if o.idle {
			over = unused
		}
		if err := t.Get(`SELECT EXISTS (SELECT 1 FROM threads h WHERE h.id = $1 AND h.thread_id = $2 AND h.updated_us = $3 AND h.expires_us = $4 AND`+over+`)`,
			sqldb.In{o.key, o.ThreadID, o.updated, o.expires}, sqldb.Out{&same}); err != nil {
			return nil, err
		}
		if same {
			at[o.key] = len(gone)
			keys, gone = append(keys, o.key), append(gone, Gone{Tenant: o.Tenant, ThreadID: o.ThreadID})
		}
	}
	if len(gone) == 0 {
		return nil, nil
	}
	for len(keys) < deletedAtOnce { // one statement for any number
		keys = append(keys, keys[0])
	}
	if err := s.holdings(t, keys, gone, at); err != nil {
		return nil, err
	}
	return gone, tables.PutAll(t, manyParts, keys...)
}

// manyParts is like threadParts, for deletedAtOnce threads.
var manyParts = func() (texts []string) {
	for _, text := range threadParts {
		many := sqldb.Params(1, deletedAtOnce)
		texts = append(texts, strings.NewReplacer("= $1", "IN ("+many+")", "<> $1", "NOT IN ("+many+")").Replace(text))
	}
	return texts
}()

var (
	runsOfMany  = `SELECT r.thread, r.run_id, k.task_id FROM runs r JOIN tasks k ON k.id = r.task WHERE r.thread IN (` + sqldb.Params(1, deletedAtOnce) + `)`
	tasksOfMany = `SELECT thread, task_id FROM tasks WHERE thread IN (` + sqldb.Params(1, deletedAtOnce) + `)`
	linksOfMany = `SELECT thread, body FROM links WHERE thread IN (` + sqldb.Params(1, deletedAtOnce) + `)`
)

// holdings collects the runs, tasks and links of threads that are about to be deleted.
func (s *Retention) holdings(t *sqldb.Tx, keys sqldb.In, gone []Gone, at map[int64]int) error {
	var thread int64
	err := t.Each(runsOfMany, keys, func(scan func(...any) error) error {
		var r mapping.Run
		err := scan(&thread, &r.ID, &r.TaskID)
		g := &gone[at[thread]]
		r.Tenant, r.ThreadID = g.Tenant, g.ThreadID
		g.Runs = append(g.Runs, r)
		s.base.forgetRun(t, r.ID)
		return err
	})
	if err != nil {
		return err
	}
	err = t.Each(tasksOfMany, keys, func(scan func(...any) error) error {
		var task string
		err := scan(&thread, &task)
		gone[at[thread]].Tasks = append(gone[at[thread]].Tasks, task)
		return err
	})
	if err != nil {
		return err
	}
	return t.Each(linksOfMany, keys, func(scan func(...any) error) error {
		var body []byte
		var l mapping.Link
		if err := scan(&thread, &body); err != nil {
			return err
		}
		if err := decode(body, &l); err != nil {
			return err
		}
		gone[at[thread]].Links = append(gone[at[thread]].Links, l)
		return nil
	})
}

// Expiries returns a channel that receives after a thread was given an expiry. It has one listener.
func (s *Retention) Expiries() <-chan struct{} { return s.base.expiryWakeup }
