package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// EraseThread is like Threads.Delete, but also removes webhooks and idempotency keys.
func (s *Owners) EraseThread(ctx context.Context, id string) error {
	return s.base.DB.Write(ctx, func(t *sqldb.Tx) error { return s.base.deleteThread(ctx, t, id, eraseThreadTraces) })
}

// eraseThreadTraces removes the rows of a thread in tables without a cascading reference to it: webhooks and
// idempotency keys.
func eraseThreadTraces(t *sqldb.Tx, thread int64) error {
	return tables.PutAll(t, []string{
		`DELETE FROM outbox WHERE tenant = (SELECT tenant FROM threads WHERE id = $1) AND run_id IN (SELECT run_id FROM runs WHERE thread = $1)`,
		`DELETE FROM idempotency WHERE tenant = (SELECT tenant FROM threads WHERE id = $1) AND (made_id IN (SELECT thread_id FROM threads WHERE id = $1
 UNION SELECT run_id FROM runs WHERE thread = $1 UNION SELECT task_id FROM tasks WHERE thread = $1 UNION SELECT cron_id FROM crons WHERE thread = $1)
 OR substr(route, length(route) - 35) IN (SELECT thread_id FROM threads WHERE id = $1 UNION SELECT task_id FROM tasks WHERE thread = $1))`,
	}, thread)
}

// EraseTraces removes the webhooks and idempotency keys of a run, a cron or an assistant.
func (s *Owners) EraseTraces(ctx context.Context, id string) error {
	return s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		return tables.PutAll(t, []string{
			`DELETE FROM outbox WHERE tenant = $1 AND run_id = $2`,
			`DELETE FROM idempotency WHERE tenant = $1 AND made_id = $2`,
		}, tables.TenantOf(ctx), id)
	})
}

// EraseTask removes a task without runs and its requests, even if the task is on another owner's thread. It returns
// false if the task has runs.
func (s *Owners) EraseTask(ctx context.Context, id string) (removed bool, err error) {
	err = s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		removed, err = eraseTask(t, tables.TenantOf(ctx), id)
		return err
	})
	return removed, err
}

func eraseTask(t *sqldb.Tx, tenant, id string) (removed bool, err error) {
	var key int64
	err = t.Get(`SELECT id FROM tasks WHERE tenant = $1 AND task_id = $2 AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.task = tasks.id)`, []any{tenant, id}, []any{&key})
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := tables.PutAll(t, []string{
		`DELETE FROM links WHERE task_id = $2 AND thread IN (SELECT thread FROM tasks WHERE tenant = $1 AND task_id = $2)`,
		`DELETE FROM idempotency WHERE tenant = $1 AND (made_id = $2 OR substr(route, length(route) - 35) = $2)`,
	}, tenant, id); err != nil {
		return false, err
	}
	return true, tables.PutAll(t, []string{`DELETE FROM requests WHERE task = $1`, `DELETE FROM hooks WHERE task = $1`, `DELETE FROM tasks WHERE id = $1`}, key)
}

// EraseRest removes those webhooks and idempotency keys of an owner that remain after everything to which they refer
// was removed.
func (s *Owners) EraseRest(ctx context.Context, owner string) (hooks, keys int64, err error) {
	o := ownerOf(ctx, owner)
	err = s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		if hooks, err = t.Exec(`DELETE FROM outbox AS r WHERE `+ownedWebhooks, o.args()...); err != nil {
			return err
		}
		keys, err = t.Exec(`DELETE FROM idempotency AS r WHERE r.tenant = $1 AND r.owner = $2`, o.args()...)
		return err
	})
	return hooks, keys, err
}

// counterLimits are the limits in counterTables, named as in package limit.
var counterLimits = []string{"requests", "runs", "streams", "upload", tables.QuotaThreads, tables.QuotaCrons, tables.QuotaItems, tables.QuotaFiles, tables.QuotaDisk}

// EraseCounts removes the usage counts of a key.
func (s *Owners) EraseCounts(ctx context.Context, key string) error {
	return s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		for _, table := range counterTables {
			for _, limit := range counterLimits {
				if err := t.Put(`DELETE FROM `+table+` WHERE name = $1`, tables.QuotaOfKey+"/"+limit+"/"+key); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
