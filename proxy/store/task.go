package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"iter"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// Tasks creates and finds tasks and hands out their steps.
type Tasks struct{ base *base }

// Create creates a task of a topic, without runs, on an existing thread (otherwise NotFound). If an earlier request
// with the same key created a task, it returns the id of that task as earlier and creates nothing.
func (s *Tasks) Create(ctx context.Context, k mapping.Task, key IdempotencyKey) (made mapping.Task, earlier string, err error) {
	p := mapping.PrincipalOf(ctx)
	err = s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		if earlier, err = claimKey(t, p, key, k.ID); err != nil || earlier != "" {
			return err
		}
		row, err := readLocked(t, tables.ScopeFor(p), k.ThreadID)
		if err != nil {
			return tables.NoThread(err, k.ThreadID)
		}
		if err := noteAgent(t, &row, k.Agent); err != nil {
			return err
		}
		_, made, err = insertTask(t, p, row.key, row.ID, k)
		return err
	})
	return made, earlier, err
}

// insertTask inserts a task's row. It returns a Conflict if the task exists.
func insertTask(t *sqldb.Tx, p mapping.Principal, thread int64, threadID string, k mapping.Task) (key int64, _ mapping.Task, err error) {
	k.Tenant, k.ThreadID = p.Tenant, threadID
	if k.Owner == "" {
		k.Owner = p.ID
	}
	if k.CreatedAt.IsZero() {
		k.CreatedAt = sqldb.TimeOf(t.Now)
	}
	k.CreatedAt = k.CreatedAt.UTC().Truncate(time.Microsecond)
	k.Status, k.StatusAt = cmp.Or(k.Status, mapping.TaskSubmitted), sqldb.TimeOf(t.Now)
	k.UpdatedAt, k.AdditionalInput = sqldb.TimeOf(t.Now), objectOrEmpty(k.AdditionalInput)
	key, err = t.Insert(`INSERT INTO tasks (tenant, task_id, owner, thread, agent, has_input, input, additional, topic, cursor_n, reserved_n, reserved_until_us, status, status_us, created_us, updated_us)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, 0, $11, $12, $13, $14)`,
		k.Tenant, k.ID, k.Owner, thread, k.Agent, sqldb.Number(k.HasInput), sealedText(t, k.Input, colTaskInput, k.Tenant, k.ID), t.Sealed(k.AdditionalInput, colTaskAdditional, k.Tenant, k.ID), sqldb.Number(k.Topic), k.HandOuts,
		string(k.Status), t.Now, sqldb.Micros(k.CreatedAt), sqldb.Micros(k.UpdatedAt))
	if sqldb.Duplicate(err) {
		err = mapping.Errorf(mapping.Conflict, "task_exists", "Task %q already exists.", k.ID)
	}
	return key, k, err
}

// Get returns a task without Artifacts.
func (s *Tasks) Get(ctx context.Context, id string) (k mapping.Task, err error) {
	err = s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		row, err := findTask(t, tables.ScopeOf(ctx), id)
		k = row.Task
		return err
	})
	return k, err
}

func findTask(t *sqldb.Tx, sc tables.Scope, id string) (taskRow, error) {
	where, args := sc.Narrow(`k.tenant = $1 AND k.task_id = $2`, sc.Tenant, id)
	row, err := readTask(t, where, args...)
	return row, noTask(err, id)
}

const taskColumns = `k.task_id, k.id, k.thread, k.tenant, k.owner, h.thread_id, h.name, k.agent, k.has_input, k.input, k.additional, k.topic, k.cursor_n, k.status, k.status_us, k.created_us, k.updated_us
 FROM tasks k JOIN threads h ON h.id = k.thread`

const taskWidth = 17

// taskRow is a task with its key and that of its thread.
type taskRow struct {
	key, thread int64
	size        int // bytes of the long columns
	mapping.Task
}

func readTask(t *sqldb.Tx, where string, args ...any) (row taskRow, err error) {
	err = t.Each(`SELECT `+taskColumns+` WHERE `+where, args, row.scan)
	if err == nil && row.key == 0 {
		err = sql.ErrNoRows
	}
	return row, err
}

func (r *taskRow) scan(scan func(...any) error) error {
	var input []byte
	var changed, created, updated int64
	err := scan(&r.ID, &r.key, &r.thread, &r.Tenant, &r.Owner, &r.ThreadID, &r.ThreadName, &r.Agent, &r.HasInput,
		sqldb.Unsealed(&input, colTaskInput, &r.Tenant, &r.ID), sqldb.Unsealed(rawOf(&r.AdditionalInput), colTaskAdditional, &r.Tenant, &r.ID),
		&r.Topic, &r.HandOuts, (*string)(&r.Status), &changed, &created, &updated)
	r.Input, r.size = string(input), len(input)+len(r.AdditionalInput)
	r.StatusAt = sqldb.TimeOf(changed)
	r.CreatedAt, r.UpdatedAt = sqldb.TimeOf(created), sqldb.TimeOf(updated)
	return err
}

// TaskQuery selects tasks. Empty fields match all.
type TaskQuery struct {
	Agent, ThreadID string
	Status          []mapping.TaskStatus // one of these
	Since           time.Time            // the status changed then or later
	ByStatus        bool                 // sorted by the time of the status, newest first
	After           mapping.TaskMark     // with ByStatus: tasks that come after this one
	Limit, Offset   int
}

// List returns tasks, oldest first, unless the query says otherwise. The total does not depend on After. A limit of 0
// means all.
func (s *Tasks) List(ctx context.Context, q TaskQuery) (list []mapping.Task, total int, err error) {
	found, total, err := s.find(ctx, q, wholeList)
	return found.Rows, total, err
}

// Search is like List, but holds only a few megabytes in memory at a time. Tasks have their values at the time they are
// yielded, and deleted ones are skipped. The result can be ranged over once.
func (s *Tasks) Search(ctx context.Context, q TaskQuery) (list iter.Seq2[mapping.Task, error], total int, err error) {
	found, total, err := s.find(ctx, q, listAtOnce)
	if err != nil {
		return nil, 0, err
	}
	sc := tables.ScopeOf(ctx)
	return found.Each(ctx, s.base.DB, func(t *sqldb.Tx, id string) (mapping.Task, int, error) {
		row, err := findTask(t, sc, id)
		return row.Task, row.size, err
	}), total, nil
}

// find lists tasks. The first ones are read completely, as many as fit in room.
func (s *Tasks) find(ctx context.Context, q TaskQuery, room int) (found longList[mapping.Task], total int, err error) {
	where, args := taskFilter(tables.ScopeOf(ctx), q)
	err = s.base.DB.Read(ctx, func(t *sqldb.Tx) error {
		found = longList[mapping.Task]{Room: room}
		if err := t.Get(`SELECT count(*) FROM tasks k JOIN threads h ON h.id = k.thread WHERE `+where, args, sqldb.Out{&total}); err != nil {
			return err
		}
		text, args := taskPage(where, args, q)
		return t.Each(text, args, func(scan func(...any) error) (err error) {
			var row taskRow
			if found.Full() {
				err = firstColumns(scan, taskWidth, &row.ID)
			} else {
				err = row.scan(scan)
			}
			found.Add(row.ID, row.Task, row.size)
			return err
		})
	})
	return found, total, err
}

// taskPage returns the query for a page of the tasks that a filter selects.
func taskPage(where string, args sqldb.In, q TaskQuery) (string, sqldb.In) {
	args = args[:len(args):len(args)]
	order := ` ORDER BY k.id `
	if q.ByStatus {
		order = ` ORDER BY k.status_us DESC, k.task_id DESC `
	}
	if at := q.After; at.ID != "" {
		args = append(args, sqldb.Micros(at.StatusAt), at.ID)
		changed, id := sqldb.Params(len(args)-1, 1), sqldb.Params(len(args), 1)
		where += ` AND k.status_us <= ` + changed + ` AND (k.status_us < ` + changed + ` OR k.task_id < ` + id + `)`
	}
	return `SELECT ` + taskColumns + ` WHERE ` + where + order + limitOffset(len(args)+1), append(args, sqldb.LimitOf(q.Limit), q.Offset)
}

func taskFilter(sc tables.Scope, q TaskQuery) (where string, args sqldb.In) {
	where, args = sc.Narrow(`k.tenant = $1`, sc.Tenant)
	if q.Agent != "" {
		args = append(args, q.Agent)
		where += ` AND k.agent = ` + sqldb.Params(len(args), 1)
	}
	if q.ThreadID != "" {
		args = append(args, q.ThreadID)
		where += ` AND k.thread = (SELECT id FROM threads WHERE tenant = $1 AND thread_id = ` + sqldb.Params(len(args), 1) + `)`
	}
	if !q.Since.IsZero() {
		args = append(args, sqldb.Micros(q.Since))
		where += ` AND k.status_us >= ` + sqldb.Params(len(args), 1)
	}
	if len(q.Status) > 0 {
		from := len(args) + 1
		for _, status := range q.Status {
			args = append(args, string(status))
		}
		where += ` AND k.status IN (` + sqldb.Params(from, len(q.Status)) + `)`
	}
	return where, args
}

func taskKey(t *sqldb.Tx, sc tables.Scope, id string) (key int64, err error) {
	if sc.Whole() {
		err = t.Get(`SELECT id FROM tasks WHERE tenant = $1 AND task_id = $2`, sqldb.In{sc.Tenant, id}, sqldb.Out{&key})
		return key, noTask(err, id)
	}
	row, err := findTask(t, sc, id)
	return row.key, err
}

// taskExtra is like taskKey, but also returns the task's additional_input.
func taskExtra(t *sqldb.Tx, sc tables.Scope, id string) (key int64, additional json.RawMessage, err error) {
	where, args := sc.Narrow(`k.tenant = $1 AND k.task_id = $2`, sc.Tenant, id)
	err = t.Each(`SELECT k.id, k.additional FROM tasks k JOIN threads h ON h.id = k.thread WHERE `+where, args, func(scan func(...any) error) error {
		return scan(&key, sqldb.Unsealed(rawOf(&additional), colTaskAdditional, &sc.Tenant, &id))
	})
	if err == nil && key == 0 {
		err = sql.ErrNoRows
	}
	return key, additional, noTask(err, id)
}

// TaskHead is the progress of a task: all that a process needs to detect changes by other processes.
type TaskHead struct {
	HandOuts int    // number of steps handed out
	Runs     int    // number of runs
	Newest   string // newest run; "" if there is none
}

// Head returns the progress of a task.
func (s *Tasks) Head(ctx context.Context, id string) (tip TaskHead, err error) {
	err = s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		return noTask(t.Get(`SELECT k.cursor_n, (SELECT count(*) FROM runs r WHERE r.task = k.id),
 coalesce((SELECT r.run_id FROM runs r WHERE r.task = k.id ORDER BY r.id DESC LIMIT 1), '')
 FROM tasks k WHERE k.tenant = $1 AND k.task_id = $2`, sqldb.In{tables.TenantOf(ctx), id}, sqldb.Out{&tip.HandOuts, &tip.Runs, &tip.Newest}), id)
	})
	return tip, err
}

// newestOf returns the id of a task's newest run, or "" if there is none.
func newestOf(t *sqldb.Tx, task int64) (id string, err error) {
	err = t.Get(`SELECT run_id FROM runs WHERE task = $1 ORDER BY id DESC LIMIT 1`, sqldb.In{task}, sqldb.Out{&id})
	return id, ifAny(err)
}

// StepRequest is the content of a request for a step.
type StepRequest struct {
	Input           *string
	AdditionalInput json.RawMessage
	Key             IdempotencyKey // stored with the step's number, not read back
}

// Requests returns the requests for the handed-out steps of a task, by n. Empty requests are left out.
func (s *Tasks) Requests(ctx context.Context, taskID string) (map[int]StepRequest, error) {
	found := make(map[int]StepRequest)
	err := s.base.DB.Read(ctx, func(t *sqldb.Tx) error {
		key, err := taskKey(t, tables.ScopeOf(ctx), taskID)
		if err != nil {
			return err
		}
		return t.Each(`SELECT n, has_input, input, additional FROM requests WHERE task = $1`, sqldb.In{key}, func(scan func(...any) error) error {
			var n int
			var input []byte
			var has bool
			var r StepRequest
			if err := scan(&n, &has, sqldb.Unsealed(&input, colRequestInput, key, &n), sqldb.Unsealed(rawOf(&r.AdditionalInput), colRequestAdditional, key, &n)); err != nil {
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
