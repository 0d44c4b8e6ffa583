package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

// Order is a run to be made. Run carries everything that must survive; Say and
// OneStep belong to the first step only.
type Order struct {
	New     store.NewRun   // Run, Thread, Task, strategy and idempotency are filled in
	Input   *mapping.Input // InputOf(New.Run), so that it is read once; nil: it is read again
	Say     *string
	OneStep bool
	// Background: nobody waits for what the run does, so it may begin a moment later.
	Background bool
	// Stays: who begins the run waits for its end on this goroutine (Begun.Work).
	Stays bool

	further *Next // it is a further step of a parked run
}

// Begun is a run that was made.
type Begun struct {
	store.Created
	// Work executes the run where Order.Stays leaves that to the caller, and returns
	// when it has left this process; the caller must call it, once. nil: the run is
	// executed already, or has to wait.
	//
	// Handing the run of a quick agent (see pace) to another goroutine and its end back
	// takes as long as one of its steps: both wake a thread, mostly on another core. An
	// agent that takes its time is another matter: there the request's goroutine,
	// which outlives a client that leaves, had better only wait.
	Work func()
}

// Begin makes the run durable and, when its thread and agent are free, starts
// it or leaves that to the caller (Begun.Work). It returns before the run has done
// anything.
func (e *Engine) Begin(ctx context.Context, o Order) (Begun, error) {
	if e.isDraining() {
		return Begun{}, errDraining
	}
	agent, err := e.ready(&o)
	if err != nil {
		return Begun{}, err
	}
	claimed := e.claims.begin()
	defer claimed()
	made := e.starters.make()
	created, err := e.st.CreateRun(ctx, o.New)
	made()
	if err != nil {
		e.giveBack(agent, o.New.Claim)
		return Begun{Created: created}, err
	}
	return Begun{Created: created, Work: e.begun(agent, o, created)}, nil
}

// BeginAll is Begin for several runs, all or none: none begins before all are durable.
func (e *Engine) BeginAll(ctx context.Context, list []Order) ([]Begun, error) {
	if len(list) == 0 {
		return nil, nil
	}
	if e.isDraining() {
		return nil, errDraining
	}
	agents, runs := make([]*Agent, 0, len(list)), make([]store.NewRun, 0, len(list))
	refused := func(err error) ([]Begun, error) {
		for i, agent := range agents {
			e.giveBack(agent, runs[i].Claim)
		}
		return nil, err
	}
	for i := range list {
		agent, err := e.ready(&list[i])
		if err != nil {
			return refused(err)
		}
		agents, runs = append(agents, agent), append(runs, list[i].New)
	}
	made := e.starters.make()
	created, err := e.st.CreateRuns(ctx, runs)
	made()
	if err != nil {
		return refused(err)
	}
	begun := make([]Begun, len(list))
	for i, c := range created {
		begun[i] = Begun{Created: c, Work: e.begun(agents[i], list[i], c)}
	}
	return begun, nil
}

// ready completes an order. It takes a slot of the agent for a run that may start at
// once.
func (e *Engine) ready(o *Order) (*Agent, error) {
	agent := e.agents[o.New.Run.Agent]
	o.New.Claim = o.New.Run.RunAfter.IsZero() && e.holds() && agent.tryAcquire()
	err := e.prepare(o, agent)
	if err != nil {
		e.giveBack(agent, o.New.Claim)
	}
	return agent, err
}

// prepare adds the events that are logged with the run itself, when it starts
// at once.
func (e *Engine) prepare(o *Order, agent *Agent) error {
	r := &o.New.Run
	o.New.Room = store.Room{Agent: agent.Config.Queue, Thread: e.cfg.Limits.ThreadQueue, All: e.cfg.Limits.Queue}
	if !o.New.Claim {
		return nil
	}
	o.New.Events = []mapping.Event{agent.start(*r)}
	traits, known := agent.Known()
	if !known || !traits.Opaque {
		return nil
	}
	ev, ok, err := inputEvent(*r, o.Input)
	if ok && !bytes.Contains(ev.Data, filesKey) { // files are written by the execution
		o.New.Events = append(o.New.Events, ev)
	}
	return err
}

// filesKey stands in every delta that has files; where it stands in a text
// instead, the event is only logged a moment later.
var filesKey = []byte(`"files"`)

func (e *Engine) giveBack(agent *Agent, acquired bool) {
	if acquired {
		e.release(agent)
	}
}

// release gives a slot back. Runs that had to wait, maybe for this very slot,
// are looked at again.
func (e *Engine) release(agent *Agent) {
	agent.release()
	e.Freed()
}

// Freed has the runs that wait looked at: a thread, or a slot, may be free for them.
func (e *Engine) Freed() {
	if e.waiting.Load() {
		e.ring()
	}
}

// begun starts the execution of a claimed run, or leaves that to the caller, or sees
// to it that somebody looks at the pending one.
func (e *Engine) begun(agent *Agent, o Order, c store.Created) (work func()) {
	if c.Claimed {
		claimed := store.Claimed{Run: c.Run, Thread: c.Thread, Fence: c.Fence, Logged: c.Events, Task: taskOf(o)}
		if work = e.admit(agent, claimed, o); work == nil || o.Stays && agent.pace.quick() {
			return work
		}
		go work()
		return nil
	}
	e.giveBack(agent, o.New.Claim)
	if c.Replayed {
		return nil
	}
	e.waiting.Store(true)
	if c.Active != nil {
		e.displace(c.Active, c.Run, o.New.Run.RunAfter.IsZero())
	}
	e.ring()
	return nil
}

// displace ends the runs that a newer one takes the place of. One that has them
// rolled back starts when that is done, unless it was to start later anyway.
func (e *Engine) displace(active []mapping.Run, newer mapping.Run, due bool) {
	ctx, rollback := e.scope(e.root, newer), newer.Multitask == mapping.StrategyRollback
	e.spawn(func() {
		for _, r := range active {
			if err := e.Cancel(ctx, r, rollback); err != nil && !settled(err) {
				e.zap.Warn("a displaced run could not be stopped", errField(err), runField(r.ID))
			}
		}
		if rollback && due {
			if err := e.st.MakeDue(ctx, newer.ID); err != nil {
				e.zap.Warn("a run waits longer than it would have to", errField(err), runField(newer.ID))
			}
		}
		e.ring()
	})
}

func taskOf(o Order) mapping.Task {
	if o.New.Task != nil {
		return *o.New.Task
	}
	return mapping.Task{ID: o.New.Run.TaskID, ThreadID: o.New.Run.ThreadID, Agent: o.New.Run.Agent}
}

func (e *Engine) isDraining() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.draining
}

func startedEvent(r mapping.Run) mapping.Event {
	return mapping.Event{RunID: r.ID, Kind: mapping.KindStarted, At: r.CreatedAt, Head: mapping.Head{Attempt: max(1, r.Attempt)}}
}

// inputEvent is what a run's input, or an answer in words, does to the state of
// an opaque agent's thread; ok is false when there is none.
func inputEvent(r mapping.Run, in *mapping.Input) (ev mapping.Event, ok bool, err error) {
	delta, err := inputDelta(r, in)
	if err != nil || delta == nil {
		return mapping.Event{}, false, err
	}
	return mapping.Event{
		RunID: r.ID, Kind: mapping.KindInput, At: r.CreatedAt, Data: delta,
		Head: mapping.Head{Checkpoint: newCheckpoint(r, "input", -1, []string{"step"}, r.CreatedAt)},
	}, true, nil
}

func inputDelta(r mapping.Run, read *mapping.Input) (json.RawMessage, error) {
	if r.Options.Resuming {
		answer, err := mapping.ParseAnswer(r.Options.Resume, r.Options.Asked)
		if err != nil {
			return nil, err
		}
		return mapping.AnswerDelta(r.ID, answer), nil
	}
	in, err := inputOnce(r, read)
	if err != nil || len(in.Messages) == 0 && len(in.Files) == 0 {
		return nil, err
	}
	return in.Delta(), nil
}

func newCheckpoint(r mapping.Run, source string, step int, next []string, at time.Time) *mapping.Checkpoint {
	return &mapping.Checkpoint{ID: mapping.NewID(), Source: source, Step: step, Next: next, RunID: r.ID, CreatedAt: at}
}
