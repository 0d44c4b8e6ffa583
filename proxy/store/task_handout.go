package store

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// HandOut raises the number of handed-out steps of a task from n-1 to n, and stores the request for step n and its key.
// The step may be sent to its client afterwards. It returns false if the number was not n-1 or another hand-out is in
// progress.
func (s *Tasks) HandOut(ctx context.Context, taskID string, n int, r StepRequest, by Reservation) (ok bool, err error) {
	tenant := tables.TenantOf(ctx)
	err = s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		if ok, err = by.last(t, tenant, taskID); !ok || err != nil {
			return err
		}
		var key int64
		if key, ok, err = countHandOut(t, r, tenant, taskID, n, sqldb.Number(!by.Until.IsZero())*int64(n), sqldb.Micros(by.Until), t.Now, n-1); err != nil {
			return err
		}
		if !ok {
			_, err = taskKey(t, tables.ScopeOf(ctx), taskID)
			return err
		}
		return saveRequest(t, key, mapping.PrincipalOf(ctx), n, r)
	})
	return ok, err
}

// Reservation coordinates several processes that hand out the steps of a task. The zero value is for a task whose steps
// are handed out by only one process.
type Reservation struct {
	// Until is the latest time at which the next step can be handed out. HandedOut and TakeBack allow it earlier. Other
	// processes cannot know whether the response was written.
	Until time.Time
	// Newest is the run that must still be the newest of the task: a step that is marked as the last is refused if
	// another run has been created. "" means any.
	Newest string
}

// last reports whether no run was created after the newest one. It locks the thread, so none is created before the
// operation ends.
func (r Reservation) last(t *sqldb.Tx, tenant, taskID string) (bool, error) {
	if r.Newest == "" {
		return true, nil
	}
	var key, thread int64
	if err := t.Get(`SELECT id, thread FROM tasks WHERE tenant = $1 AND task_id = $2`, sqldb.In{tenant, taskID}, sqldb.Out{&key, &thread}); err != nil {
		return false, noTask(err, taskID)
	}
	if err := tables.LockThread(t, thread); err != nil {
		return false, err
	}
	newest, err := newestOf(t, key)
	return newest == r.Newest, err
}

const countSteps = `UPDATE tasks SET cursor_n = $3, reserved_n = $4, reserved_until_us = $5, updated_us = $6
 WHERE tenant = $1 AND task_id = $2 AND cursor_n = $7 AND (reserved_n = 0 OR reserved_until_us <= $6)`

// countHandOut returns the task's key only if a request must be stored with it, since returning a row costs more than
// the statement.
func countHandOut(t *sqldb.Tx, r StepRequest, args ...any) (key int64, ok bool, err error) {
	if !r.says() {
		moved, err := t.Exec(countSteps, args...)
		return 0, moved == 1, err
	}
	err = t.Get(countSteps+` RETURNING id`, args, sqldb.Out{&key})
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return key, err == nil, err
}

// HandedOut records that step n was sent to its client.
func (s *Tasks) HandedOut(ctx context.Context, taskID string, n int) error {
	return s.base.DB.WriteRelaxed(ctx, func(t *sqldb.Tx) error {
		return t.Put(`UPDATE tasks SET reserved_n = 0, reserved_until_us = 0 WHERE tenant = $1 AND task_id = $2 AND reserved_n = $3`, tables.TenantOf(ctx), taskID, n)
	})
}

// TakeBack undoes HandOut if the response could not be written and no further step was handed out. The key of the
// request still refers to the step.
func (s *Tasks) TakeBack(ctx context.Context, taskID string, n int) error {
	return s.base.DB.WriteRelaxed(ctx, func(t *sqldb.Tx) error {
		var key int64
		err := t.Get(`UPDATE tasks SET cursor_n = $4, reserved_n = 0, reserved_until_us = 0 WHERE tenant = $1 AND task_id = $2 AND cursor_n = $3 RETURNING id`,
			sqldb.In{tables.TenantOf(ctx), taskID, n, n - 1}, sqldb.Out{&key})
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		return t.Put(`DELETE FROM requests WHERE task = $1 AND n = $2`, key, n)
	})
}

// says reports whether the request has content to store. Most requests for a step have none, and then no row is needed.
func (r *StepRequest) says() bool { return r.Input != nil || r.AdditionalInput != nil }

func saveRequest(t *sqldb.Tx, task int64, who mapping.Principal, n int, r StepRequest) error {
	if r.says() {
		var input any
		if r.Input != nil {
			input = sealedText(t, *r.Input, colRequestInput, task, n)
		}
		if err := t.Put(`INSERT INTO requests (task, n, has_input, input, additional) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (task, n) DO NOTHING`,
			task, n, sqldb.Number(r.Input != nil), input, t.Sealed(r.AdditionalInput, colRequestAdditional, task, n)); err != nil {
			return err
		}
	}
	return rememberKey(t, who, r.Key, strconv.Itoa(n))
}
