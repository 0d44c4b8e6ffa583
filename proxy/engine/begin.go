package engine

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

// Order is a run to be made. Run carries everything that must survive; Say and
// OneStep belong to the first step only.
type Order struct {
	New     store.NewRun // Run, Thread, Task, strategy and idempotency are filled in
	Say     *string
	OneStep bool
}

// Begin makes the run durable and, when its thread and agent are free, starts
// it. It returns before the run has done anything.
func (e *Engine) Begin(ctx context.Context, o Order) (store.Created, error) {
	if e.isDraining() {
		return store.Created{}, errDraining
	}
	agent := e.agents[o.New.Run.Agent]
	o.New.Claim = o.New.Run.RunAfter.IsZero() && agent.tryAcquire()
	if err := e.prepare(&o, agent); err != nil {
		e.giveBack(agent, o.New.Claim)
		return store.Created{}, err
	}
	created, err := e.st.CreateRun(ctx, o.New)
	if err != nil {
		e.giveBack(agent, o.New.Claim)
		return created, err
	}
	e.begun(agent, o, created)
	return created, nil
}

// prepare adds the events that are logged with the run itself, when it starts
// at once. An input that brings files is left to the execution, which writes
// them as artifacts with it.
func (e *Engine) prepare(o *Order, agent *Agent) error {
	r := &o.New.Run
	o.New.MaxPending = agent.Config.Queue
	if !o.New.Claim {
		return nil
	}
	o.New.Events = []mapping.Event{startedEvent(*r)}
	traits, known := agent.Known()
	if !known || !traits.Opaque {
		return nil
	}
	in, err := InputOf(*r)
	if err != nil || len(in.Files) > 0 {
		return err
	}
	if ev, ok := inputEvent(*r, in); ok {
		o.New.Events = append(o.New.Events, ev)
	}
	return nil
}

func (e *Engine) giveBack(agent *Agent, acquired bool) {
	if acquired {
		agent.release()
	}
}

// begun starts the execution of a claimed run, or sees to it that somebody
// looks at the pending one.
func (e *Engine) begun(agent *Agent, o Order, c store.Created) {
	if c.Claimed {
		e.launch(agent, store.Claimed{Run: c.Run, Thread: c.Thread, Fence: c.Fence, Logged: c.Events, Task: taskOf(o)}, o)
		return
	}
	e.giveBack(agent, o.New.Claim)
	if c.Replayed {
		return
	}
	e.waiting.Add(1)
	if c.Active != nil {
		e.stopActive(*c.Active, c.Run.Multitask)
	}
	e.ring()
}

// stopActive ends the run that a newer one displaces.
func (e *Engine) stopActive(r mapping.Run, s mapping.Strategy) {
	ctx := e.scope(e.root, r)
	go func() {
		if err := e.Cancel(ctx, r, s == mapping.StrategyRollback); err != nil && mapping.Classify(err).Class != mapping.Conflict {
			e.zap.Warn("a displaced run could not be stopped", errField(err), runField(r.ID))
		}
		e.ring()
	}()
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

// inputEvent is what a run's input does to the state of an opaque agent's
// thread; ok is false when there is none.
func inputEvent(r mapping.Run, in mapping.Input) (ev mapping.Event, ok bool) {
	if r.Options.Resuming || (len(in.Messages) == 0 && len(in.Files) == 0) {
		return mapping.Event{}, false
	}
	return mapping.Event{
		RunID: r.ID, Kind: mapping.KindInput, At: r.CreatedAt, Data: in.Delta(),
		Head: mapping.Head{Checkpoint: newCheckpoint(r, "input", -1, []string{"step"}, r.CreatedAt)},
	}, true
}

func newCheckpoint(r mapping.Run, source string, step int, next []string, at time.Time) *mapping.Checkpoint {
	return &mapping.Checkpoint{ID: mapping.NewID(), Source: source, Step: step, Next: next, RunID: r.ID, CreatedAt: at}
}
