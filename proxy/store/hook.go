package store

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// WriteHook returns the notification for a hook about a status of its task, or nil if there is none. It is called in
// the transaction that changes the status, which may run twice. It must not use the store.
type WriteHook func(h mapping.Hook, status mapping.TaskStatus) *Webhook

// hookSecret is the content of a hook's column secret.
type hookSecret struct {
	Token       string `json:"token,omitempty"`
	Scheme      string `json:"scheme,omitempty"`
	Credentials string `json:"credentials,omitempty"`
}

// MaxHooks is the number of hooks that a task may have.
const MaxHooks = 20

// PutHook adds a hook to a task, or replaces the one with the same id. If the task has ended, the hook is notified of
// its status, with what write returns for its newest run. It returns Limited too_many_hooks if the task would have more
// than MaxHooks.
func (s *Tasks) PutHook(ctx context.Context, taskID string, h mapping.Hook, write func(*mapping.Run) WriteHook) (made mapping.Hook, err error) {
	err = s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		task, err := s.lockedTask(ctx, t, taskID)
		if err != nil {
			return err
		}
		if made, err = putHook(t, task.key, h); err != nil || !task.Status.Ended() {
			return err
		}
		r, err := readRun(t, `r.id = (SELECT max(id) FROM runs WHERE task = $1)`, task.key)
		if err != nil {
			return ifAny(err)
		}
		h := made
		h.ThreadName = task.ThreadName
		return s.base.fireHook(t, statusChange{runKey{Run: r.key, Thread: r.thread}, r.ID, task.Status, write(&r.Run)}, h, task.ID)
	})
	return withoutSecrets(made), err
}

// lockedTask returns a task and locks its thread, so that its status does not change until the commit.
func (s *Tasks) lockedTask(ctx context.Context, t *sqldb.Tx, id string) (taskRow, error) {
	row, err := findTask(t, tables.ScopeOf(ctx), id)
	if err != nil {
		return row, err
	}
	if err := tables.LockThread(t, row.thread); err != nil {
		return row, err
	}
	return findTask(t, tables.ScopeOf(ctx), id) // its status may have changed before the lock was held
}

func putHook(t *sqldb.Tx, task int64, h mapping.Hook) (mapping.Hook, error) {
	h.CreatedAt = sqldb.TimeOf(t.Now)
	secret, err := json.Marshal(hookSecret{h.Token, h.Scheme, h.Credentials})
	if err != nil {
		return h, err
	}
	var fires strings.Builder
	fires.WriteByte(' ')
	for _, status := range h.Fires {
		fires.WriteString(string(status) + " ")
	}
	if err := t.Put(`INSERT INTO hooks (task, hook_id, flavour, url, secret, fires, created_us) VALUES ($1, $2, $3, $4, $5, $6, $7)
 ON CONFLICT (task, hook_id) DO UPDATE SET flavour = excluded.flavour, url = excluded.url, secret = excluded.secret, fires = excluded.fires, created_us = excluded.created_us`,
		task, h.ID, string(h.Flavour), h.URL, t.Sealed(secret, colHookSecret, task, h.ID), fires.String(), t.Now); err != nil {
		return h, err
	}
	n, err := countTaskHooks(t, task)
	if err == nil && n > MaxHooks {
		err = mapping.Errorf(mapping.Limited, "too_many_hooks", "A task has at most %d hooks. Delete one first.", MaxHooks)
	}
	return h, err
}

// countTaskHooks updates the number of hooks in their task's row.
func countTaskHooks(t *sqldb.Tx, task int64) (n int, err error) {
	err = t.Get(`UPDATE tasks SET hooks = (SELECT count(*) FROM hooks WHERE task = $1) WHERE id = $1 RETURNING hooks`, sqldb.In{task}, sqldb.Out{&n})
	return n, err
}

// Hooks returns the hooks of a task sorted by id, without their secrets.
func (s *Tasks) Hooks(ctx context.Context, taskID string) (list []mapping.Hook, err error) {
	err = s.base.DB.Read(ctx, func(t *sqldb.Tx) error {
		task, err := taskKey(t, tables.ScopeOf(ctx), taskID)
		if err == nil {
			list, err = readHooks(t, task)
		}
		return err
	})
	for i := range list {
		list[i] = withoutSecrets(list[i])
	}
	return list, err
}

func withoutSecrets(h mapping.Hook) mapping.Hook {
	h.Token, h.Credentials = "", ""
	return h
}

func readHooks(t *sqldb.Tx, task int64) (list []mapping.Hook, err error) {
	err = t.Each(`SELECT hook_id, flavour, url, secret, fires, created_us FROM hooks WHERE task = $1 ORDER BY hook_id`, sqldb.In{task}, func(scan func(...any) error) error {
		var h mapping.Hook
		var raw []byte
		var fires string
		var created int64
		if err := scan(&h.ID, (*string)(&h.Flavour), &h.URL, sqldb.Unsealed(&raw, colHookSecret, task, &h.ID), &fires, &created); err != nil {
			return err
		}
		var secret hookSecret
		if err := decode(raw, &secret); err != nil {
			return err
		}
		h.Token, h.Scheme, h.Credentials = secret.Token, secret.Scheme, secret.Credentials
		for status := range strings.FieldsSeq(fires) {
			h.Fires = append(h.Fires, mapping.TaskStatus(status))
		}
		h.CreatedAt = sqldb.TimeOf(created)
		list = append(list, h)
		return nil
	})
	return list, err
}

// DeleteHook removes a hook, if it exists, and its pending deliveries.
func (s *Tasks) DeleteHook(ctx context.Context, taskID, id string) error {
	return s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		task, err := s.lockedTask(ctx, t, taskID)
		if err != nil {
			return err
		}
		if err := t.Put(`DELETE FROM hooks WHERE task = $1 AND hook_id = $2`, task.key, id); err != nil {
			return err
		}
		if err := t.Put(`DELETE FROM outbox WHERE task_id = $1 AND hook = $2 AND tenant = $3 AND done_us = 0 AND hook <> ''`, taskID, id, tables.TenantOf(ctx)); err != nil {
			return err
		}
		_, err = countTaskHooks(t, task.key)
		return err
	})
}

// statusChange is a change of a task's status by one of its runs, made in the transaction of the event that causes it.
type statusChange struct {
	at     runKey
	runID  string
	status mapping.TaskStatus
	write  WriteHook // nil means that no hook is notified
}

// changeTaskStatus sets a new status and writes the notifications of the task's hooks. Only the task's newest run
// changes its status. A run that waits for an earlier one does not change it to submitted.
func (b *base) changeTaskStatus(t *sqldb.Tx, c statusChange) error {
	var task int64
	var hooks int
	var id, thread string
	err := t.Get(`UPDATE tasks SET status = $2, status_us = $3 WHERE id = (SELECT task FROM runs WHERE id = $1) AND status <> $2
 AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.task = tasks.id AND (r.id > $1 OR $2 = 'submitted' AND r.id < $1 AND r.ended_us = 0))
 RETURNING id, task_id, hooks, (SELECT name FROM threads WHERE id = tasks.thread)`, sqldb.In{c.at.Run, string(c.status), t.Now}, sqldb.Out{&task, &id, &hooks, &thread})
	if err != nil || hooks == 0 {
		return ifAny(err)
	}
	return b.fireHooks(t, c, task, id, thread)
}

// fireHooks adds rows to the outbox for the hooks that fire at the new status.
func (b *base) fireHooks(t *sqldb.Tx, c statusChange, task int64, taskID, threadName string) error {
	list, err := readHooks(t, task)
	if err != nil || c.write == nil {
		return err
	}
	for _, h := range list {
		h.ThreadName = threadName
		if err := b.fireHook(t, c, h, taskID); err != nil {
			return err
		}
	}
	return nil
}

func (b *base) fireHook(t *sqldb.Tx, c statusChange, h mapping.Hook, taskID string) error {
	if !slices.Contains(h.Fires, c.status) {
		return nil
	}
	w := c.write(h, c.status)
	if w == nil {
		return nil
	}
	w.URL, w.hook, w.task, w.status = h.URL, h.ID, taskID, c.status
	return b.addWebhook(t, c.at, c.runID, w)
}

// restoreTaskStatus sets a task's status to that of its newest remaining run, after a newer one was deleted.
func restoreTaskStatus(t *sqldb.Tx, deleted *runRow) error {
	var newest int64
	if err := t.Get(`SELECT coalesce(max(id), 0) FROM runs WHERE task = $1`, sqldb.In{deleted.task}, sqldb.Out{&newest}); err != nil || newest > deleted.key {
		return err
	}
	status := mapping.TaskSubmitted
	if newest > 0 {
		row, err := readRun(t, `r.id = $1`, newest)
		if err != nil {
			return err
		}
		status = taskStatusAfter(&row.Run)
	}
	return t.Put(`UPDATE tasks SET status = $2, status_us = $3 WHERE id = $1`, deleted.task, string(status), t.Now)
}

// taskStatusAfter returns the status of a task with this newest run.
func taskStatusAfter(r *mapping.Run) mapping.TaskStatus {
	switch r.Status {
	case mapping.RunPending:
		return mapping.TaskSubmitted
	case mapping.RunRunning:
		return mapping.TaskWorking
	}
	return mapping.Outcome{Status: r.Status, Cancelled: r.Status == mapping.RunInterrupted && r.CancelReason != "", Fault: r.Fault}.Task()
}
