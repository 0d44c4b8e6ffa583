package engine

import (
	"bytes"
	"context"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/memory"
	"github.com/apbridge/apbridge/proxy/store"
)

// StartRequest is a request to start a run. New contains everything that must be durable. Text belongs only to the
// first step.
type StartRequest struct {
	New      *store.CreateRun // Run, Thread, Task, strategy and idempotency are filled in; nil if the run exists
	Input    *rule.Input      // InputOf(New.Run), to avoid parsing it twice; nil if it must be parsed
	Recalled *memory.Recalled // Recall for New.Run, to avoid reading it twice; nil if it must be read
	Text     *string          // the text of a v1 client, verbatim; nil if there is none
	// CancelAsking makes the run cancel the agent's other tasks that wait for an answer on its thread.
	CancelAsking bool

	next   *StepInput // set for a further step of a parked run
	parked bool       // the run has been parked
	// The request for that step. Agents see it instead of the request that created the run.
	requestID string
	trace     mapping.Trace
}

// Begin makes the run durable and starts it if its thread and its agent are free. It returns before the run has done
// anything. It fills in o, which must not be used again.
func (e *Engine) Begin(ctx context.Context, o *StartRequest) (*store.CreateRunResult, error) {
	giveBack, err := e.admit(ctx, 1)
	if err != nil {
		return nil, err
	}
	agent, err := e.complete(o)
	if err != nil {
		giveBack(1)
		return nil, err
	}
	defer e.claims.begin()()
	created, err := e.store.Runs.Create(ctx, o.New)
	if err != nil || created.Replayed {
		giveBack(1)
	}
	if err != nil {
		e.returnSlot(agent, o.New.Claim)
		return nil, err
	}
	e.startOrQueue(ctx, agent, o, created)
	return created, nil
}

// BeginAll is like Begin for several runs: it starts all of them or none. No run starts before all are durable.
func (e *Engine) BeginAll(ctx context.Context, list []*StartRequest) ([]*store.CreateRunResult, error) {
	if len(list) == 0 {
		return nil, nil
	}
	giveBack, err := e.admit(ctx, len(list))
	if err != nil {
		return nil, err
	}
	agents, runs := make([]*Agent, 0, len(list)), make([]*store.CreateRun, 0, len(list))
	refused := func(err error) ([]*store.CreateRunResult, error) {
		giveBack(len(list))
		for i, agent := range agents {
			e.returnSlot(agent, runs[i].Claim)
		}
		return nil, err
	}
	for _, o := range list {
		agent, err := e.complete(o)
		if err != nil {
			return refused(err)
		}
		agents, runs = append(agents, agent), append(runs, o.New)
	}
	defer e.claims.begin()()
	created, err := e.store.Runs.CreateAll(ctx, runs)
	if err != nil {
		return refused(err)
	}
	replayed := 0
	for _, c := range created {
		if c.Replayed {
			replayed++
		}
	}
	giveBack(replayed)
	for i, c := range created {
		e.startOrQueue(ctx, agents[i], list[i], c)
	}
	return created, nil
}

// admit checks whether n runs may be created. giveBack must be called with the number of runs that were not created.
func (e *Engine) admit(ctx context.Context, n int) (giveBack func(n int), err error) {
	if e.runs.isDraining() {
		return nil, errDraining
	}
	return e.allow(ctx, n)
}

// complete fills in the rest of a request. It takes a slot of the agent for a run that may start at once.
func (e *Engine) complete(o *StartRequest) (*Agent, error) {
	agent := e.agent(o.New.Run.Agent)
	if agent == nil { // removed from the configuration since the request found it
		return nil, gone(o.New.Run.Agent)
	}
	o.New.Claim = o.New.Run.RunAfter.IsZero() && e.lease.holds() && agent.slots.tryAcquire()
	o.New.WriteHook = e.hookWriter(&o.New.Run, mapping.Outcome{}, time.Time{}, nil)
	if o.CancelAsking {
		out, now := Cancellation{Reason: mapping.CancelledByRequest}.outcome(), e.store.Now()
		o.New.CancelAsking = func(r *mapping.Run) store.End { return *e.endOf(r, out, now, nil) }
	}
	err := e.addFirstEvents(o, agent)
	if err != nil {
		e.returnSlot(agent, o.New.Claim)
	}
	return agent, err
}

// addFirstEvents sets the limits of the queue. For a run that starts at once, it also sets the events that are logged
// with the run.
func (e *Engine) addFirstEvents(o *StartRequest, agent *Agent) error {
	r, cfg := &o.New.Run, e.Config()
	share := cfg.Auth.Share(int64(agent.Config.Queue), 1)
	o.New.Queue = store.QueueLimits{
		Agent: agent.Config.Queue, AgentKey: int(share.Key), AgentTenant: int(share.Tenant), Thread: cfg.Limits.ThreadQueue, All: cfg.Limits.Queue,
	}
	if !o.New.Claim {
		return nil
	}
	o.New.Events = []mapping.Event{startedEvent(r, r.CreatedAt)}
	traits, known := agent.Known()
	if !known || traits.Exposes.ReportsState() {
		return nil
	}
	ev, err := inputEvent(r, o.Input, r.CreatedAt)
	if ev != nil && !bytes.Contains(ev.Data, filesKey) && !holdsFiles(ev.Data) { // files are written by the execution
		o.New.Events, o.New.Root = append(o.New.Events, *ev), rootEvent(r, r.CreatedAt)
	}
	return err
}

// filesKey is part of every delta with files. A text may contain it too, which only delays the event slightly.
var filesKey = []byte(`"files"`)

// startOrQueue starts a run that was claimed at its creation. It leaves a pending run to the dispatcher and stops the
// runs that it displaces.
func (e *Engine) startOrQueue(ctx context.Context, agent *Agent, o *StartRequest, c *store.CreateRunResult) {
	mapping.AddAuditObject(ctx, "thread", c.Run.ThreadID)
	mapping.AddAuditObject(ctx, "run", c.Run.ID)
	for i := range c.Cancelled {
		r := &c.Cancelled[i]
		e.noteInactiveEnd(ctx, r, Cancellation{Reason: r.CancelReason}.outcome())
	}
	if c.Run.Options.Resuming {
		mapping.SetAuditVerb(ctx, mapping.Answered)
	}
	if c.Claimed != nil {
		e.start(agent, c.Claimed, o)
		return
	}
	e.returnSlot(agent, o.New.Claim)
	if c.Replayed {
		return
	}
	e.log.WakeThread(c.Run.ThreadID)
	e.wakeup.waiting.Store(true)
	if c.Active != nil {
		e.preempt(c.Active, &c.Run, o.New.Run.RunAfter.IsZero())
	}
	e.wakeup.send()
}
