package store

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// CreateRun describes a run to create and the objects to create with it.
type CreateRun struct {
	Run                              mapping.Run
	Thread                           *mapping.Thread // created if missing; if nil, the thread must exist (NotFound)
	MustNotExist                     bool            // Thread must be new (stateless runs)
	ThreadMeta                       json.RawMessage // merged into the thread's metadata (graph_id, assistant_id) if the keys are missing
	ThreadDefaults, ThreadConfig     json.RawMessage // added to the thread's config by the assistant and the request if the thread is not busy: rule.ThreadConfig
	Task                             *mapping.Task   // a new task; if nil, Run.TaskID exists
	Events                           []mapping.Event // started (+ input): appended at once if the run is claimed
	Root                             *mapping.Event  // before the input of a run that starts from an empty state; nil means none
	Answers                          Answers         // what the run answers, if anything
	Newest                           *string         // the run that must still be the newest of its task ("" means none), or else Conflict CodeTaskMoved; nil means any
	NewestActive                     bool            // that run must also still be active
	Hooks                            []mapping.Hook  // added to the task
	WriteHook                        WriteHook       // returns notifications of the task's status; nil means none
	Claim                            bool            // execute it here if its thread is free
	Queue                            QueueLimits     // limits for a run that must wait; Limited queue_full if exceeded
	IdempotencyKey, IdempotencyRoute string
	IdempotencySum                   []byte // of the request body; a different sum with the same key is Invalid

	// CancelAsking makes the run cancel the agent's other tasks that wait for an answer on the thread. It returns the end
	// of the run that cancels one of them. It must not use the store. nil leaves these tasks as they are.
	CancelAsking func(r *mapping.Run) End
}

// QueueLimits are the numbers of runs that may wait in this database before another one is refused. 0 means no limit.
// AgentKey and AgentTenant limit the runs of one key and of one tenant for the agent. The limit of a principal is in
// mapping.Principal.
type QueueLimits struct{ Agent, AgentKey, AgentTenant, Thread, All int }

// Answers identifies what a run answers: the run that asked, which must still be the newest of its task, and those of
// its questions that must still be open on the thread. Otherwise the answer is refused with Conflict
// no_pending_interrupt, since a question can be answered only once. The zero value means that the run answers nothing.
type Answers struct {
	Run  string
	Open []mapping.Interrupt
}

// CreateRunResult is the result of a CreateRun.
type CreateRunResult struct {
	Run      mapping.Run
	Claimed  *Claimed // the claim to execute, separate from Run; nil if the run waits or is Replayed
	Replayed bool     // the idempotency key belongs to an earlier run, which is returned instead
	// Active lists the runs that occupied the thread and that their holders must now stop, for the strategies interrupt
	// and rollback. The new run is pending.
	Active []mapping.Run
	// Cancelled lists the ended runs that cancelled tasks for CancelAsking.
	Cancelled []mapping.Run
}

// Create creates thread, task, run and first events and claims the run, in one transaction. A thread is busy if it has
// a pending or running run, including parked and delayed ones. On a busy thread the strategy decides. With reject,
// Create returns Conflict thread_busy, which names the run. With enqueue, the run is pending. With interrupt and
// rollback, it is pending, Active is set and the active runs are requested to stop. With concurrent, the run starts
// next to runs that allow concurrent ones (Options.MayOverlap, which a concurrent run must also have); if there are
// others, it is pending. While the thread is held for a state update (States.Hold), a run is pending.
//
// Run.Base is where the run starts: the given value or Options.Checkpoint (NotFound if unknown), otherwise the head at
// its first claim. A run that starts elsewhere moves the head there. Create does not modify n.
func (s *Runs) Create(ctx context.Context, n *CreateRun) (made *CreateRunResult, err error) {
	p := mapping.PrincipalOf(ctx)
	err = s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		x := s.creation(t, p, n)
		made = &x.made
		return x.create()
	})
	if err != nil {
		return nil, err
	}
	return made, nil
}

// CreateAll is like Create, for several runs in one transaction. If one is refused, all are, and none begins before all
// exist.
func (s *Runs) CreateAll(ctx context.Context, list []*CreateRun) (made []*CreateRunResult, err error) {
	p := mapping.PrincipalOf(ctx)
	err = s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		made = make([]*CreateRunResult, len(list))
		for i, n := range list {
			x := s.creation(t, p, n)
			if err := x.create(); err != nil {
				return err
			}
			made[i] = &x.made
		}
		return nil
	})
	return made, err
}

// createRunTx holds the data of one Runs.Create during its operation.
type createRunTx struct {
	s *Runs
	*sqldb.Tx
	principal mapping.Principal
	n         *CreateRun // not modified, since the operation may run twice
	thread    threadRow
	fresh     bool   // the thread was created by this operation
	claimed   bool   // the run starts now
	leaves    string // the head that the run leaves by starting elsewhere; "" if it starts at the head
	task, run int64
	logged    []mapping.Event
	made      CreateRunResult // its run is that of n, completed step by step

	additional json.RawMessage // additional_input of the task, for a run that starts now
}

func (s *Runs) creation(t *sqldb.Tx, p mapping.Principal, n *CreateRun) *createRunTx {
	return &createRunTx{s: s, Tx: t, principal: p, n: n, made: CreateRunResult{Run: n.Run}}
}

func (x *createRunTx) create() error {
	if done, err := x.replay(); done || err != nil {
		return err
	}
	for _, step := range []func() error{x.ensureThread, x.decideStart, x.ensureTask, x.checkAnswers, x.checkNewest, x.settleBase, x.insert, x.logFirst, x.taskStatus, x.cancelAsking} {
		if err := step(); err != nil {
			return err
		}
	}
	if x.claimed {
		x.made.Claimed = x.claim()
	} else {
		x.s.base.Notify(x.Tx, NoticePending, "")
	}
	name, key := x.made.Run.ID, runKey{Run: x.run, Thread: x.thread.key, Overlaps: x.made.Run.Options.MayOverlap}
	x.After(func() { x.s.base.Keys.Add(name, key) })
	return nil
}

// claim returns the claim of this process to the run.
func (x *createRunTx) claim() *Claimed {
	return &Claimed{Run: x.made.Run, Thread: x.thread.Thread, AdditionalInput: x.additional, Fence: firstFence, Logged: x.logged}
}

// firstFence is the fence of a run that is claimed at its creation.
const firstFence = 1

// replay records the key, or returns the run that an earlier request with the same key created. It records the key
// first, so that of two concurrent requests one waits for the other.
func (x *createRunTx) replay() (bool, error) {
	earlier, err := claimKey(x.Tx, x.principal, x.key(), x.made.Run.ID)
	if err != nil || earlier == "" {
		return false, err
	}
	return true, x.loadEarlier(earlier)
}

func (x *createRunTx) key() IdempotencyKey {
	return IdempotencyKey{Text: x.n.IdempotencyKey, Route: x.n.IdempotencyRoute, Sum: x.n.IdempotencySum}
}

func (x *createRunTx) loadEarlier(id string) error {
	row, err := findRun(x.Tx, tables.ScopeFor(x.principal), "", id)
	x.made = CreateRunResult{Run: row.Run, Replayed: true}
	return err
}

// ensureThread finds or creates the thread.
func (x *createRunTx) ensureThread() (err error) {
	if x.n.Thread == nil {
		x.thread, err = readLocked(x.Tx, tables.ScopeFor(x.principal), x.made.Run.ThreadID)
		return tables.NoThread(err, x.made.Run.ThreadID)
	}
	th := *x.n.Thread
	if th.Metadata, err = fillKeys(th.Metadata, x.n.ThreadMeta); err != nil {
		return err
	}
	th.Config = rule.ThreadConfig(th.Config, x.n.ThreadDefaults, x.n.ThreadConfig)
	th.Status, th.Interrupts = mapping.ThreadBusy, nil
	x.thread, x.fresh, err = x.s.base.insertThread(x.Tx, x.principal, th, tables.WithAgent("", x.made.Run.Agent))
	if err == nil && !x.fresh && x.n.MustNotExist {
		err = mapping.Errorf(mapping.Conflict, CodeThreadThere, "Thread %q already exists.", th.ID)
	}
	return tables.NoThread(err, th.ID)
}

// ensureTask finds or creates the task.
func (x *createRunTx) ensureTask() (err error) {
	if x.n.Task != nil {
		task := *x.n.Task
		if task.Status = mapping.TaskSubmitted; x.claimed {
			task.Status = mapping.TaskWorking
		}
		x.task, _, err = insertTask(x.Tx, x.principal, x.thread.key, x.thread.ID, task)
		x.made.Run.TaskID, x.additional = x.n.Task.ID, x.n.Task.AdditionalInput
	} else if sc := tables.ScopeFor(x.principal); x.claimed {
		x.task, x.additional, err = taskExtra(x.Tx, sc, x.made.Run.TaskID)
	} else {
		x.task, err = taskKey(x.Tx, sc, x.made.Run.TaskID)
	}
	for i := 0; err == nil && i < len(x.n.Hooks); i++ {
		_, err = putHook(x.Tx, x.task, x.n.Hooks[i])
	}
	return err
}

// taskStatus updates the status of the run's task. A new task already has it, so only its hooks are notified.
func (x *createRunTx) taskStatus() error {
	c := statusChange{runKey{Run: x.run, Thread: x.thread.key}, x.made.Run.ID, mapping.TaskSubmitted, x.n.WriteHook}
	if x.claimed {
		c.status = mapping.TaskWorking
	}
	switch {
	case x.n.Task == nil:
		return x.s.base.changeTaskStatus(x.Tx, c)
	case len(x.n.Hooks) > 0:
		return x.s.base.fireHooks(x.Tx, c, x.task, x.n.Task.ID, x.thread.Name)
	}
	return nil
}

// checkAnswers refuses an answer if its questions have been answered or dropped since the request was planned. A run
// that is stopped for this one has answered nothing.
func (x *createRunTx) checkAnswers() error {
	a := x.n.Answers
	if a.Run == "" {
		return nil
	}
	late := slices.ContainsFunc(a.Open, func(q mapping.Interrupt) bool { return !asks(x.thread.Interrupts, q) })
	newest, err := newestOf(x.Tx, x.task)
	if err != nil {
		return err
	}
	displaced := slices.ContainsFunc(x.made.Active, func(r mapping.Run) bool { return r.ID == newest })
	if !late && (newest == a.Run || displaced) {
		return nil
	}
	left := slices.DeleteFunc(slices.Clone(x.thread.Interrupts), func(q mapping.Interrupt) bool { return asks(a.Open, q) })
	return rule.NothingToResume(x.thread.ID, left)
}

// checkNewest refuses a run of a task that has changed since its creator checked: if two processes see a task without
// runs, only one of them creates a run. A follow-up run counts from the first step that was not handed out to a client. While
// another process is handing out a step, which it may have to take back, that number is not known.
func (x *createRunTx) checkNewest() error {
	if x.n.Newest == nil {
		return nil
	}
	var newest string
	var ended int64
	err := ifAny(x.Get(`SELECT run_id, ended_us FROM runs WHERE task = $1 ORDER BY id DESC LIMIT 1`, sqldb.In{x.task}, sqldb.Out{&newest, &ended}))
	if err == nil && (newest != *x.n.Newest || x.n.NewestActive && ended > 0) {
		err = taskMoved(x.made.Run.TaskID)
	}
	if err != nil || !x.made.Run.Options.FollowUp {
		return err
	}
	var given int
	var reserved bool
	if err := x.Get(`SELECT cursor_n, reserved_n <> 0 AND reserved_until_us > $2 FROM tasks WHERE id = $1`, sqldb.In{x.task, x.Now}, sqldb.Out{&given, &reserved}); err != nil {
		return err
	}
	if reserved {
		return taskMoved(x.made.Run.TaskID)
	}
	x.made.Run.Options.Due = given + 1
	return nil
}

func taskMoved(taskID string) error {
	return mapping.Errorf(mapping.Conflict, CodeTaskMoved, "Task %q has changed in the meantime. Try again.", taskID)
}

func asks(open []mapping.Interrupt, q mapping.Interrupt) bool {
	return slices.ContainsFunc(open, func(o mapping.Interrupt) bool { return o.ID == q.ID })
}

// settleBase determines where the run starts.
func (x *createRunTx) settleBase() error {
	r := &x.made.Run
	if r.Base == "" {
		r.Base = r.Options.Checkpoint
	}
	switch {
	case r.Base == "" && x.claimed:
		r.Base = x.thread.Head
	case r.Base == "" || r.Base == x.thread.Head:
	case x.claimed:
		_, err := x.s.base.fork(x.Tx, x.thread.key, r.Base, x.thread.Head)
		x.leaves, x.thread.Head = x.thread.Head, r.Base
		return err
	default:
		_, err := findCheckpoint(x.Tx, x.thread.key, r.Base)
		return err
	}
	return nil
}

func (x *createRunTx) insert() error {
	r := x.completed()
	options, err := r.Options.JSON()
	if err != nil {
		return err
	}
	holder, fence := "", 0
	if x.claimed {
		holder, fence = x.s.base.Owner, firstFence
	}
	from := int64(0)
	if x.claimed && !x.fresh {
		if err := x.Get(`SELECT seq FROM thread_seq WHERE thread = $1`, sqldb.In{x.thread.key}, sqldb.Out{&from}); err != nil {
			return err
		}
	}
	x.run, err = x.Tx.Insert(`INSERT INTO runs (tenant, run_id, owner, thread, task, agent, assistant_id, status, parked, holder, fence, attempt, strategy, concurrent,
 flavour, metadata, kwargs, options, base, fault, stop, from_seq, last_seq, created_us, updated_us, started_us, ended_us, run_after_us, trimmed)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, NULL, '', $19, 0, $20, $21, $22, 0, $23, 1)`,
		r.Tenant, r.ID, r.Owner, x.thread.key, x.task, r.Agent, r.AssistantID, string(r.Status), holder, fence, r.Attempt,
		string(r.Multitask), concurrencyClass(r), string(r.Flavour), []byte(r.Metadata), x.Sealed(r.Kwargs, colRunKwargs, r.ID),
		x.Sealed(options, colRunOptions, r.ID), r.Base, from, sqldb.Micros(r.CreatedAt), sqldb.Micros(r.UpdatedAt), sqldb.Micros(r.StartedAt), sqldb.Micros(r.RunAfter))
	if sqldb.Duplicate(err) {
		err = mapping.Errorf(mapping.Conflict, "run_exists", "Run %q already exists.", r.ID)
	}
	return err
}

// concurrencyClass returns the value of the column concurrent: see the table.
func concurrencyClass(r *mapping.Run) int {
	switch {
	case !r.Options.MayOverlap:
		return 0
	case r.Multitask == mapping.StrategyConcurrent:
		return 1
	default:
		return 2
	}
}

// completed returns the run with all columns of its row filled in.
func (x *createRunTx) completed() *mapping.Run {
	r := &x.made.Run
	r.Tenant, r.ThreadID = x.principal.Tenant, x.thread.ID
	if r.Owner == "" {
		r.Owner = x.principal.ID
	}
	if r.Multitask == "" {
		r.Multitask = mapping.StrategyReject
	}
	r.Options.MayOverlap = r.Options.MayOverlap || r.Multitask == mapping.StrategyConcurrent
	r.Attempt = max(r.Attempt, 1)
	r.Metadata, r.Kwargs = objectOrEmpty(r.Metadata), objectOrEmpty(r.Kwargs)
	r.RunAfter = sqldb.TimeOf(sqldb.Micros(r.RunAfter))
	r.CreatedAt = sqldb.TimeOf(x.Now)
	r.UpdatedAt, r.Status, r.Parked = r.CreatedAt, mapping.RunPending, false
	if x.claimed {
		r.Status, r.StartedAt = mapping.RunRunning, r.CreatedAt
	}
	return r
}

// logFirst logs the first events of a claimed run and marks its thread.
func (x *createRunTx) logFirst() (err error) {
	batch := eventBatch{thread: x.thread.key, run: x.run, runID: x.made.Run.ID}
	if x.claimed {
		batch.events = x.firstEvents()
	}
	var from threadHead
	if x.fresh {
		err = batch.startThread(x.Tx)
	} else if len(batch.events) > 0 {
		from, _, err = batch.takeNumbers(x.Tx, advanceFree)
	}
	if err != nil {
		return err
	}
	if x.logged, err = batch.write(x.Tx, from); err != nil {
		return err
	}
	if head, _ := batch.newest(); head != "" {
		x.thread.Head = head
	}
	return x.markBusy()
}

// firstEvents returns the run's first events. If the run starts from an empty state, the root of the thread's history
// precedes the input.
func (x *createRunTx) firstEvents() []mapping.Event {
	list := x.n.Events
	if x.made.Run.Base != "" || x.n.Root == nil {
		return list
	}
	from := len(list) - 1
	return slices.Concat(list[:from], []mapping.Event{*x.n.Root}, list[from:])
}

// markBusy marks the thread busy. A thread created by this operation is already.
func (x *createRunTx) markBusy() error {
	if x.fresh {
		return nil
	}
	metadata, err := fillKeys(x.thread.Metadata, x.n.ThreadMeta)
	if err != nil {
		return err
	}
	if err := noteAgent(x.Tx, &x.thread, x.made.Run.Agent); err != nil {
		return err
	}
	if err := x.configure(); err != nil {
		return err
	}
	x.thread.Metadata, x.thread.Status, x.thread.UpdatedAt = metadata, mapping.ThreadBusy, sqldb.TimeOf(x.Now)
	if started(x.logged) {
		at := runKey{Run: x.run, Thread: x.thread.key}
		if x.thread.Interrupts, err = closeQuestions(x.Tx, at, x.thread.Interrupts, x.leaves != ""); err != nil {
			return err
		}
	}
	return setThread(x.Tx, x.thread.key, mapping.ThreadBusy, metadata)
}

// configure adds to the config of a thread that was not busy.
func (x *createRunTx) configure() error {
	if x.thread.Status == mapping.ThreadBusy || len(x.n.ThreadDefaults)+len(x.n.ThreadConfig) == 0 {
		return nil
	}
	config := rule.ThreadConfig(x.thread.Config, x.n.ThreadDefaults, x.n.ThreadConfig)
	if bytes.Equal(config, x.thread.Config) {
		return nil
	}
	x.thread.Config = config
	return x.Put(`UPDATE threads SET config = $2 WHERE id = $1`, x.thread.key, x.Sealed(config, colThreadConfig, x.thread.Tenant, x.thread.ID))
}

func started(events []mapping.Event) bool {
	for i := range events {
		if events[i].Kind == mapping.KindStarted {
			return true
		}
	}
	return false
}
