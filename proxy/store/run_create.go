package store

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// NewRun is a run to be made, with what it needs made beside it.
type NewRun struct {
	Run                              mapping.Run
	Thread                           *mapping.Thread // made if it is not there; nil: must exist (NotFound)
	MustNotExist                     bool            // Thread must be new (stateless runs)
	ThreadMeta                       json.RawMessage // merged into the thread's metadata (graph_id, assistant_id) where those keys are missing
	Task                             *mapping.Task   // a new lineage; nil: Run.TaskID exists
	Events                           []mapping.Event // started (+ input): appended at once if the run is claimed
	Answers                          Answers         // what the run answers, if it does
	Newest                           *string         // the run that must still be the newest of its task, "" for none; else Conflict CodeTaskMoved. nil: any
	Claim                            bool            // run it here if its thread is free now
	Room                             Room            // for it to wait in; Limited queue_full where there is none
	IdempotencyKey, IdempotencyRoute string
	IdempotencySum                   []byte // of the request body; another sum under the same key is Invalid
}

// Room is how many runs may wait in this database before another one is refused, by
// whose they are; 0 is any number. How many a principal may have waiting, it says
// itself (mapping.Principal).
type Room struct{ Agent, Thread, All int }

// Answers is what an answer was given to: the run that asked, which must still be the
// newest of its task, and those of its questions that must still be open on the thread.
// Else it is a Conflict nothing_to_resume: a question is answered once. The zero
// value asks for nothing.
type Answers struct {
	Run  string
	Open []mapping.Interrupt
}

// Created is what became of a NewRun. Replayed: an idempotency key named an
// earlier run, which is returned instead.
type Created struct {
	Run      mapping.Run
	Thread   mapping.Thread
	Claimed  bool
	Replayed bool
	Fence    int64
	Events   []mapping.Event // as logged: with Seq, At, checkpoint parents
	// Active are the runs that held the thread when the strategy was interrupt
	// or rollback and that their owners must now stop; the new run is pending.
	Active []mapping.Run
}

// CreateRun is one transaction: thread, task, run, first events, claim. A busy
// thread (any run of it pending or running, parked and delayed ones included):
// reject → Conflict thread_busy naming the run; enqueue → pending; interrupt, rollback →
// pending, Created.Active set and stop requests noted on the active runs. While the
// thread is held for an update of its state (HoldUpdate), a run is pending.
// concurrent: beside those that let others run beside them (Options.Shared, which
// a concurrent run must have itself), pending while there is another.
//
// Run.Base is where the run starts: what is given there or in
// Options.Checkpoint (unknown: NotFound), else the head at its first claim. A run
// that starts elsewhere than at the head moves the head there.
func (s *runs) CreateRun(ctx context.Context, n NewRun) (c Created, err error) {
	p := mapping.PrincipalOf(ctx)
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		m := maker{s: s, Tx: t, principal: p, n: n}
		if err := m.make(); err != nil {
			return err
		}
		c = m.made
		return nil
	})
	return c, err
}

// CreateRuns is CreateRun for several runs in one transaction: what is refused of one
// refuses all, and none of them begins before all are there.
func (s *runs) CreateRuns(ctx context.Context, list []NewRun) (made []Created, err error) {
	p := mapping.PrincipalOf(ctx)
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		made = make([]Created, len(list))
		for i, n := range list {
			m := maker{s: s, Tx: t, principal: p, n: n}
			if err := m.make(); err != nil {
				return err
			}
			made[i] = m.made
		}
		return nil
	})
	return made, err
}

// maker carries one CreateRun through its operation.
type maker struct {
	s *runs
	*sqldb.Tx
	principal mapping.Principal
	n         NewRun
	thread    threadRow
	fresh     bool // the thread was made by this operation
	updating  bool // it is held for an update of its state: see HoldUpdate
	task, run int64
	made      Created
}

func (m *maker) make() error {
	if done, err := m.replay(); done || err != nil {
		return err
	}
	for _, step := range []func() error{m.place, m.admit, m.lineage, m.answers, m.follows, m.base, m.insert, m.begin} {
		if err := step(); err != nil {
			return err
		}
	}
	m.made.Thread = m.thread.Thread
	if !m.made.Claimed {
		m.s.tell(m.Tx, NoticePending, "")
	}
	name, key := m.made.Run.ID, runKey{run: m.run, thread: m.thread.key, shared: m.made.Run.Options.Shared}
	m.After(func() { m.s.keys.Add(name, key) })
	return nil
}

// replay notes the key, or finds the run that an earlier request with the same
// key made. The note comes first, so that of two requests at once one waits for
// the other.
func (m *maker) replay() (bool, error) {
	earlier, err := claimKey(m.Tx, m.principal.Tenant, m.key(), m.n.Run.ID)
	if err != nil || earlier == "" {
		return false, err
	}
	return true, m.found(earlier)
}

func (m *maker) key() Key {
	return Key{m.n.IdempotencyKey, m.n.IdempotencyRoute, m.n.IdempotencySum}
}

func (m *maker) found(id string) error {
	row, err := findRun(m.Tx, scopeFor(m.principal), "", id)
	if err != nil {
		return err
	}
	th, err := readThreadByKey(m.Tx, row.thread)
	m.made = Created{Run: row.Run, Thread: th.Thread, Replayed: true, Fence: row.fence}
	return err
}

// place finds or makes the thread.
func (m *maker) place() (err error) {
	if m.n.Thread == nil {
		m.thread, err = holdThread(m.Tx, scopeFor(m.principal), m.n.Run.ThreadID)
		return noThread(err, m.n.Run.ThreadID)
	}
	th := *m.n.Thread
	if th.Metadata, err = fillKeys(th.Metadata, m.n.ThreadMeta); err != nil {
		return err
	}
	th.Status, th.Interrupts = mapping.ThreadBusy, nil
	m.thread, m.fresh, err = m.s.insertThread(m.Tx, m.principal, th, withAgent("", m.n.Run.Agent))
	if err == nil && !m.fresh && m.n.MustNotExist {
		err = mapping.Errorf(mapping.Conflict, codeThreadThere, "There is a thread %q already.", th.ID)
	}
	return noThread(err, th.ID)
}

// admit decides between now, later and not at all.
func (m *maker) admit() error {
	active, err := m.active()
	if err != nil {
		return err
	}
	strategy := m.n.Run.Multitask
	free := len(active) == 0 && !m.updating
	if len(active) > 0 && strategy == mapping.StrategyConcurrent {
		if free, err = m.amongShared(); err != nil {
			return err
		}
		free = free && !m.updating
	} else if len(active) > 0 {
		if err := m.yield(active, strategy); err != nil {
			return err
		}
	}
	m.made.Claimed = m.n.Claim && m.n.Run.RunAfter.IsZero() && free
	if m.made.Claimed {
		return nil
	}
	return m.queue()
}

// active are the runs that hold the thread: the running ones, else the oldest
// pending one. It notes by the way whether the thread is held for an update.
func (m *maker) active() (list []runRow, err error) {
	if m.fresh {
		return nil, nil
	}
	var keys []int64
	err = m.Until(`SELECT 0 AS id, '~' AS status FROM updates WHERE thread = $1
 UNION ALL SELECT id, status FROM runs WHERE thread = $1 AND ended_us = 0 ORDER BY status DESC, id`, in{m.thread.key},
		func(scan func(...any) error) (bool, error) {
			var key int64
			var status string
			err := scan(&key, &status)
			if key == 0 {
				m.updating = true
				return err == nil, err
			}
			running := status == string(mapping.RunRunning)
			if len(keys) == 0 || running {
				keys = append(keys, key)
			}
			return err == nil && running, err
		})
	for _, key := range keys {
		row, err := readRun(m.Tx, `r.id = $1`, key)
		if err != nil {
			return nil, err
		}
		list = append(list, row)
	}
	return list, err
}

// amongShared tells whether every run of the thread lets others run beside it.
func (m *maker) amongShared() (ok bool, err error) {
	err = m.Get(`SELECT NOT EXISTS (SELECT 1 FROM runs WHERE thread = $1 AND ended_us = 0 AND concurrent = 0)`, in{m.thread.key}, out{&ok})
	return ok, err
}

// yield is what a strategy does about active runs.
func (m *maker) yield(active []runRow, strategy mapping.Strategy) error {
	switch strategy {
	case mapping.StrategyEnqueue:
		return nil
	case mapping.StrategyInterrupt, mapping.StrategyRollback:
		note := displacing(m.n.Run, m.n.Run.RunAfter.IsZero())
		if strategy == mapping.StrategyRollback && m.n.Run.RunAfter.IsZero() {
			m.n.Run.RunAfter = timeOf(m.Now + rollbackTime.Microseconds())
		}
		return m.displace(active, note)
	default:
		return busy(m.thread.ID, active[0].ID, m.waitsFor(active[0].Run))
	}
}

// displace has the active runs stopped, by who executes them or by whoever reads
// the note.
func (m *maker) displace(active []runRow, note string) error {
	for _, r := range active {
		m.made.Active = append(m.made.Active, r.Run)
		if err := m.s.noteStop(m.Tx, r, note); err != nil {
			return err
		}
	}
	return nil
}

// rollbackTime is when a run starts at the latest that has another one rolled
// back. Its turn comes when what the other did is gone (DeleteRun): between
// the end of that run and its removal it would start from the wrong state.
const rollbackTime = 30 * time.Second

// MakeDue lets a pending run start as soon as its thread is free.
func (s *runs) MakeDue(ctx context.Context, runID string) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		_, err := t.Exec(`UPDATE runs SET run_after_us = 0 WHERE tenant = $1 AND run_id = $2 AND status = 'pending'`, tenantOf(ctx), runID)
		return err
	})
}

// waitsFor says of a run that holds the thread when it is to start, if it only waits
// for that.
func (m *maker) waitsFor(r mapping.Run) string {
	if r.Status != mapping.RunPending || r.Multitask == mapping.StrategyRollback || micros(r.RunAfter) <= m.Now {
		return ""
	}
	return ", which is to start at " + r.RunAfter.UTC().Format(time.RFC3339)
}

func busy(threadID, runID, when string) error {
	e := mapping.Errorf(mapping.Conflict, mapping.CodeThreadBusy, "Thread %q is busy with run %q%s. Wait for it, cancel it, or send multitask_strategy enqueue, interrupt or rollback.", threadID, runID, when)
	e.Detail = map[string]string{"thread_id": threadID, "run_id": runID}
	return e
}

// lineage finds or makes the task.
func (m *maker) lineage() (err error) {
	if m.n.Task != nil {
		m.task, _, err = insertTask(m.Tx, m.principal, m.thread.key, m.thread.ID, *m.n.Task)
		m.n.Run.TaskID = m.n.Task.ID
		return err
	}
	m.task, err = taskKey(m.Tx, scopeFor(m.principal), m.n.Run.TaskID)
	return err
}

// answers refuses an answer to what was answered, or dropped, since it was looked
// at. A run that is stopped for this one has answered nothing.
func (m *maker) answers() error {
	a := m.n.Answers
	if a.Run == "" {
		return nil
	}
	late := slices.ContainsFunc(a.Open, func(q mapping.Interrupt) bool { return !asks(m.thread.Interrupts, q) })
	newest, err := newestOf(m.Tx, m.task)
	if err != nil {
		return err
	}
	displaced := slices.ContainsFunc(m.made.Active, func(r mapping.Run) bool { return r.ID == newest })
	if !late && (newest == a.Run || displaced) {
		return nil
	}
	left := slices.DeleteFunc(slices.Clone(m.thread.Interrupts), func(q mapping.Interrupt) bool { return asks(a.Open, q) })
	return mapping.NothingToResume(m.thread.ID, left)
}

// follows refuses a run of a task that has moved on since its maker looked: two
// processes that each see a task without a run make one run, not two. A follow-up
// run begins to count with the first step that nobody was given; while another
// process writes a step, which it may have to take back, that is not known.
func (m *maker) follows() error {
	if m.n.Newest == nil {
		return nil
	}
	newest, err := newestOf(m.Tx, m.task)
	if err == nil && newest != *m.n.Newest {
		err = taskMoved(m.n.Run.TaskID)
	}
	if err != nil || !m.n.Run.Options.FollowUp {
		return err
	}
	var given int
	var reserved bool
	if err := m.Get(`SELECT cursor_n, reserved_n <> 0 AND reserved_until_us > $2 FROM tasks WHERE id = $1`, in{m.task, m.Now}, out{&given, &reserved}); err != nil {
		return err
	}
	if reserved {
		return taskMoved(m.n.Run.TaskID)
	}
	m.n.Run.Options.Due = given + 1
	return nil
}

func taskMoved(taskID string) error {
	return mapping.Errorf(mapping.Conflict, CodeTaskMoved, "Task %q changed meanwhile. Try again.", taskID)
}

func asks(open []mapping.Interrupt, q mapping.Interrupt) bool {
	return slices.ContainsFunc(open, func(o mapping.Interrupt) bool { return o.ID == q.ID })
}

// base settles where the run starts.
func (m *maker) base() error {
	r := &m.n.Run
	if r.Base == "" {
		r.Base = r.Options.Checkpoint
	}
	switch {
	case r.Base == "" && m.made.Claimed:
		r.Base = m.thread.Head
	case r.Base == "" || r.Base == m.thread.Head:
	case m.made.Claimed:
		_, err := fork(m.Tx, m.thread.key, r.Base, m.thread.Head)
		m.thread.Head = r.Base
		return err
	default:
		_, err := findSpot(m.Tx, m.thread.key, r.Base)
		return err
	}
	return nil
}

// insert writes the run's row.
func (m *maker) insert() error {
	r := m.newRun()
	options, err := r.Options.JSON()
	if err != nil {
		return err
	}
	holder := ""
	if m.made.Claimed {
		holder, m.made.Fence = m.s.owner, 1
	}
	from := int64(0)
	if m.made.Claimed && !m.fresh {
		if err := m.Get(`SELECT seq FROM thread_seq WHERE thread = $1`, in{m.thread.key}, out{&from}); err != nil {
			return err
		}
	}
	m.run, err = m.Tx.Insert(`INSERT INTO runs (tenant, run_id, owner, thread, task, agent, assistant_id, status, parked, holder, fence, attempt, strategy, concurrent,
 flavour, metadata, kwargs, options, base, fault, stop, from_seq, last_seq, created_us, updated_us, started_us, ended_us, run_after_us, trimmed)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, NULL, '', $19, 0, $20, $21, $22, 0, $23, 1)`,
		r.Tenant, r.ID, r.Owner, m.thread.key, m.task, r.Agent, r.AssistantID, string(r.Status), holder, m.made.Fence, r.Attempt,
		string(r.Multitask), company(r), string(r.Flavour), []byte(r.Metadata), []byte(r.Kwargs),
		[]byte(options), r.Base, from, micros(r.CreatedAt), micros(r.UpdatedAt), micros(r.StartedAt), micros(r.RunAfter))
	if sqldb.Duplicate(err) {
		err = mapping.Errorf(mapping.Conflict, "run_exists", "There is a run %q already.", r.ID)
	}
	m.made.Run = r
	return err
}

// company is the column concurrent: see the table.
func company(r mapping.Run) int {
	switch {
	case !r.Options.Shared:
		return 0
	case r.Multitask == mapping.StrategyConcurrent:
		return 1
	default:
		return 2
	}
}

func (m *maker) newRun() mapping.Run {
	r := m.n.Run
	r.Tenant, r.ThreadID = m.principal.Tenant, m.thread.ID
	if r.Owner == "" {
		r.Owner = m.principal.ID
	}
	if r.Multitask == "" {
		r.Multitask = mapping.StrategyReject
	}
	r.Options.Shared = r.Options.Shared || r.Multitask == mapping.StrategyConcurrent
	r.Attempt = max(r.Attempt, 1)
	r.Metadata, r.Kwargs = object(r.Metadata), object(r.Kwargs)
	r.RunAfter = timeOf(micros(r.RunAfter))
	r.CreatedAt = timeOf(m.Now)
	r.UpdatedAt, r.Status, r.Parked = r.CreatedAt, mapping.RunPending, false
	if m.made.Claimed {
		r.Status, r.StartedAt = mapping.RunRunning, r.CreatedAt
	}
	return r
}

// begin logs the first events of a claimed run and marks its thread.
func (m *maker) begin() (err error) {
	part := stretch{thread: m.thread.key, run: m.run, runID: m.made.Run.ID}
	if m.made.Claimed {
		part.events = m.n.Events
	}
	var from tip
	if m.fresh {
		from, err = part.begin(m.Tx)
	} else if len(part.events) > 0 {
		from, _, err = part.take(m.Tx, advanceFree)
	}
	if err != nil {
		return err
	}
	if m.made.Events, err = part.write(m.Tx, from); err != nil {
		return err
	}
	if head, _ := part.newest(); head != "" {
		m.thread.Head = head
	}
	return m.occupy()
}

// occupy marks the thread busy; a thread made here is already.
func (m *maker) occupy() error {
	if m.fresh {
		return nil
	}
	metadata, err := fillKeys(m.thread.Metadata, m.n.ThreadMeta)
	if err != nil {
		return err
	}
	if err := noteAgent(m.Tx, &m.thread, m.n.Run.Agent); err != nil {
		return err
	}
	m.thread.Metadata, m.thread.Status, m.thread.UpdatedAt = metadata, mapping.ThreadBusy, timeOf(m.Now)
	if started(m.made.Events) && m.thread.Interrupts != nil {
		m.thread.Interrupts = nil
		if err := closeQuestion(m.Tx, m.thread.key); err != nil {
			return err
		}
	}
	return setThread(m.Tx, m.thread.key, mapping.ThreadBusy, metadata)
}

func started(events []mapping.Event) bool {
	for i := range events {
		if events[i].Kind == mapping.KindStarted {
			return true
		}
	}
	return false
}

// closeQuestion: a run has started, so what was asked is answered or moot.
func closeQuestion(t *sqldb.Tx, thread int64) error {
	return t.Put(`UPDATE threads SET interrupts = NULL WHERE id = $1`, thread)
}
