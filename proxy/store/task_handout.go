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

// HandOut counts n steps of a task as handed out where n-1 were, keeps what step n is fetched with and remembers its
// key: the step may leave for its client when that is done. false: it is another number, or another hand-out is not
// over.
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

// Reservation is what several processes that hand out the steps of a task agree on. The zero value is for a task that
// only one process hands out steps of.
type Reservation struct {
	// Until is when the next step may be handed out at the latest. Before, HandedOut and TakeBack allow it: other
	// processes cannot know what becomes of the answer.
	Until time.Time
	// Newest is the run that must still be the newest of the task: a step that is told to be the last is refused when
	// another run was made meanwhile. "": any.
	Newest string
}

// last reports whether no run was made after the newest one. None is before the operation is over: the thread is
// locked.
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

// countHandOut asks for the task's key only where something is kept beside it: a row that comes back costs more than
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

// HandedOut notes that step n was written to its client.
func (s *Tasks) HandedOut(ctx context.Context, taskID string, n int) error {
	return s.base.DB.WriteRelaxed(ctx, func(t *sqldb.Tx) error {
		return t.Put(`UPDATE tasks SET reserved_n = 0, reserved_until_us = 0 WHERE tenant = $1 AND task_id = $2 AND reserved_n = $3`, tables.TenantOf(ctx), taskID, n)
	})
}

// TakeBack undoes HandOut, where nothing was handed out since: the answer was not written. The key of the request still
// names the step.
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

// says reports whether there is anything of the request to be read back. Most POSTs for a step say nothing: no row says
// so too.
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
