package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/apbridge/apbridge/mapping"
)

// insertTask makes a task's row. One that is there already is Conflict.
func insertTask(t *tx, p mapping.Principal, thread int64, threadID string, k mapping.Task) (key int64, _ mapping.Task, err error) {
	k.Tenant, k.ThreadID = p.Tenant, threadID
	if k.Owner == "" {
		k.Owner = p.ID
	}
	if k.CreatedAt.IsZero() {
		k.CreatedAt = timeOf(t.now)
	}
	k.CreatedAt = k.CreatedAt.UTC().Truncate(time.Microsecond)
	k.UpdatedAt, k.AdditionalInput = timeOf(t.now), object(k.AdditionalInput)
	key, err = t.insert(`INSERT INTO tasks (tenant, task_id, owner, thread, agent, has_input, input, additional, topic, cursor_n, reserved_n, reserved_until_us, created_us, updated_us)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, 0, $11, $12)`,
		k.Tenant, k.ID, k.Owner, thread, k.Agent, number(k.HasInput), words(k.Input), []byte(k.AdditionalInput), number(k.Topic), k.Cursor,
		micros(k.CreatedAt), micros(k.UpdatedAt))
	if duplicate(err) {
		err = mapping.Errorf(mapping.Conflict, "task_exists", "There is a task %q already.", k.ID)
	}
	return key, k, err
}

// Task reads a task, without Artifacts.
func (s *Store) Task(ctx context.Context, id string) (k mapping.Task, err error) {
	err = s.read1(ctx, func(t *tx) error {
		row, err := findTask(t, scopeOf(ctx), id)
		k = row.Task
		return err
	})
	return k, err
}

func findTask(t *tx, sc scope, id string) (taskRow, error) {
	where, args := sc.narrow(`k.tenant = $1 AND k.task_id = $2`, sc.tenant, id)
	row, err := readTask(t, where, args...)
	return row, noTask(err, id)
}

const taskColumns = `k.id, k.thread, k.tenant, k.task_id, k.owner, h.thread_id, k.agent, k.has_input, k.input, k.additional, k.topic, k.cursor_n, k.created_us, k.updated_us
 FROM tasks k JOIN threads h ON h.id = k.thread`

// taskRow is a task with its key and its thread's.
type taskRow struct {
	key, thread int64
	mapping.Task
}

func readTask(t *tx, where string, args ...any) (row taskRow, err error) {
	err = t.each(`SELECT `+taskColumns+` WHERE `+where, args, row.scan)
	if err == nil && row.key == 0 {
		err = sql.ErrNoRows
	}
	return row, err
}

func (r *taskRow) scan(scan func(...any) error) error {
	var input []byte
	var created, updated int64
	err := scan(&r.key, &r.thread, &r.Tenant, &r.ID, &r.Owner, &r.ThreadID, &r.Agent, &r.HasInput, &input, rawOf(&r.AdditionalInput),
		&r.Topic, &r.Cursor, &created, &updated)
	r.Input = string(input)
	r.CreatedAt, r.UpdatedAt = timeOf(created), timeOf(updated)
	return err
}

// TaskQuery selects tasks; empty fields select all.
type TaskQuery struct {
	Agent, ThreadID string
	Limit, Offset   int
}

// Tasks lists tasks, oldest first. Limit 0: all.
func (s *Store) Tasks(ctx context.Context, q TaskQuery) (list []mapping.Task, total int, err error) {
	where, args := taskFilter(scopeOf(ctx), q)
	err = s.read(ctx, func(t *tx) error {
		if err := t.get(`SELECT count(*) FROM tasks k JOIN threads h ON h.id = k.thread WHERE `+where, args, out{&total}); err != nil {
			return err
		}
		text := `SELECT ` + taskColumns + ` WHERE ` + where + ` ORDER BY k.id ` + page(len(args)+1)
		return t.each(text, append(args, limitOf(q.Limit), q.Offset), func(scan func(...any) error) error {
			var row taskRow
			err := row.scan(scan)
			list = append(list, row.Task)
			return err
		})
	})
	return list, total, err
}

func taskFilter(sc scope, q TaskQuery) (where string, args in) {
	where, args = sc.narrow(`k.tenant = $1`, sc.tenant)
	if q.Agent != "" {
		args = append(args, q.Agent)
		where += ` AND k.agent = ` + list(len(args), 1)
	}
	if q.ThreadID != "" {
		args = append(args, q.ThreadID)
		where += ` AND k.thread = (SELECT id FROM threads WHERE tenant = $1 AND thread_id = ` + list(len(args), 1) + `)`
	}
	return where, args
}

func taskKey(t *tx, sc scope, id string) (key int64, err error) {
	if sc.whole() {
		err = t.get(`SELECT id FROM tasks WHERE tenant = $1 AND task_id = $2`, in{sc.tenant, id}, out{&key})
		return key, noTask(err, id)
	}
	row, err := findTask(t, sc, id)
	return row.key, err
}

// TaskTip is how far a task has come: all that a process needs to know whether
// others did something with it.
type TaskTip struct {
	Cursor int    // steps handed out
	Runs   int    // how many there are
	Newest string // run, "" for none
}

// TaskTip reads how far a task has come.
func (s *Store) TaskTip(ctx context.Context, id string) (tip TaskTip, err error) {
	err = s.read1(ctx, func(t *tx) error {
		return noTask(t.get(`SELECT k.cursor_n, (SELECT count(*) FROM runs r WHERE r.task = k.id),
 coalesce((SELECT r.run_id FROM runs r WHERE r.task = k.id ORDER BY r.id DESC LIMIT 1), '')
 FROM tasks k WHERE k.tenant = $1 AND k.task_id = $2`, in{tenantOf(ctx), id}, out{&tip.Cursor, &tip.Runs, &tip.Newest}), id)
	})
	return tip, err
}

// newestOf is the id of a task's newest run, "" for none.
func newestOf(t *tx, task int64) (id string, err error) {
	err = t.get(`SELECT run_id FROM runs WHERE task = $1 ORDER BY id DESC LIMIT 1`, in{task}, out{&id})
	return id, ifAny(err)
}

// StepRequest is what a step was fetched with.
type StepRequest struct {
	Input           *string
	AdditionalInput json.RawMessage
	Key             Key // remembered with the step's number, not read back
}

// Requests reads back what the handed out steps of a task were fetched with, by n:
// those whose request said something.
func (s *Store) Requests(ctx context.Context, taskID string) (map[int]StepRequest, error) {
	found := make(map[int]StepRequest)
	err := s.read(ctx, func(t *tx) error {
		key, err := taskKey(t, scopeOf(ctx), taskID)
		if err != nil {
			return err
		}
		return t.each(`SELECT n, has_input, input, additional FROM requests WHERE task = $1`, in{key}, func(scan func(...any) error) error {
			var n int
			var input []byte
			var has bool
			var r StepRequest
			if err := scan(&n, &has, &input, rawOf(&r.AdditionalInput)); err != nil {
				return err
			}
			if has {
				text := string(input)
				r.Input = &text
			}
			found[n] = r
			return nil
		})
	})
	return found, err
}
