package owned

import (
	"database/sql"
	"errors"

	"github.com/apbridge/apbridge/proxy/store/quota"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// OfThread removes what a thread has left in tables that it does not take along: webhooks and idempotency keys.
func OfThread(t *sqldb.Tx, thread int64) error {
	return put(t, []string{
		`DELETE FROM outbox WHERE tenant = (SELECT tenant FROM threads WHERE id = $1) AND run_id IN (SELECT run_id FROM runs WHERE thread = $1)`,
		`DELETE FROM idempotency WHERE tenant = (SELECT tenant FROM threads WHERE id = $1) AND (made_id IN (SELECT thread_id FROM threads WHERE id = $1
 UNION SELECT run_id FROM runs WHERE thread = $1 UNION SELECT task_id FROM tasks WHERE thread = $1 UNION SELECT cron_id FROM crons WHERE thread = $1)
 OR substr(route, length(route) - 35) IN (SELECT thread_id FROM threads WHERE id = $1 UNION SELECT task_id FROM tasks WHERE thread = $1))`,
	}, thread)
}

// Rest removes the owner's webhooks and idempotency keys that are left when all that they name is gone.
func Rest(t *sqldb.Tx, o Owner) (hooks, keys int64, err error) {
	if hooks, err = t.Exec(`DELETE FROM outbox AS r WHERE `+webhooks, o.args()...); err != nil {
		return 0, 0, err
	}
	keys, err = t.Exec(`DELETE FROM idempotency AS r WHERE r.tenant = $1 AND r.owner = $2`, o.args()...)
	return hooks, keys, err
}

// Of removes the same of what was made under an id: a run, a cron or an assistant.
func Of(t *sqldb.Tx, tenant, id string) error {
	return put(t, []string{
		`DELETE FROM outbox WHERE tenant = $1 AND run_id = $2`,
		`DELETE FROM idempotency WHERE tenant = $1 AND made_id = $2`,
	}, tenant, id)
}

// Task removes a task, with what was asked of it, unless it has runs.
func Task(t *sqldb.Tx, tenant, id string) (removed bool, err error) {
	var key int64
	err = t.Get(`SELECT id FROM tasks WHERE tenant = $1 AND task_id = $2 AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.task = tasks.id)`, []any{tenant, id}, []any{&key})
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := put(t, []string{
		`DELETE FROM links WHERE task_id = $2 AND thread IN (SELECT thread FROM tasks WHERE tenant = $1 AND task_id = $2)`,
		`DELETE FROM idempotency WHERE tenant = $1 AND (made_id = $2 OR substr(route, length(route) - 35) = $2)`,
	}, tenant, id); err != nil {
		return false, err
	}
	return true, put(t, []string{`DELETE FROM requests WHERE task = $1`, `DELETE FROM tasks WHERE id = $1`}, key)
}

// limits are what counters count, by the names that package limit gives them.
var limits = []string{"requests", "runs", "streams", "upload", quota.Threads, quota.Crons, quota.Items, quota.Files, quota.Disk}

// Counts removes how much a key has used of its limits.
func Counts(t *sqldb.Tx, key string) error {
	for _, table := range counters {
		for _, limit := range limits {
			if err := t.Put(`DELETE FROM `+table+` WHERE name = $1`, quota.OfKey+"/"+limit+"/"+key); err != nil {
				return err
			}
		}
	}
	return nil
}

func put(t *sqldb.Tx, texts []string, args ...any) error {
	for _, text := range texts {
		if err := t.Put(text, args...); err != nil {
			return err
		}
	}
	return nil
}
