package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/memory"
	"github.com/apbridge/apbridge/proxy/store"
)

// StartRequest is a run to be made. Run carries everything that must survive; Say belongs to the first step only.
type StartRequest struct {
	New      *store.RunCreation // Run, Thread, Task, strategy and idempotency are filled in; nil: the run is there
	Input    *rule.Input        // InputOf(New.Run), so that it is read once; nil: it is read again
	Recalled *memory.Recalled   // Recall for New.Run, so that it is read once; nil: it is read again
	Say      *string

	further *Next // it is a further step of a parked run
	parked  bool  // the run was parked until now
	// The request that asks for that step: agents are told it in place of the one that made the run.
	requestID string
	trace     mapping.Trace
}

// starter makes runs, and starts those that need not wait. Safe for concurrent use.
type starter struct {
	admission admission
	settings  *configured
	runs      *store.Runs
	begun     *openClaims
	lease     *lease
	launcher  *launcher
	queue     *enqueuer
	bell      *doorbell
}

// admission says whether runs may be made.
type admission struct {
	running *executions
	allow   func(ctx context.Context, n int) (giveBack func(n int), err error)
}

// of asks for n runs; giveBack is to be told how many of them were not made.
func (a *admission) of(ctx context.Context, n int) (giveBack func(n int), err error) {
	if a.running.isDraining() {
		return nil, errDraining
	}
	return a.allow(ctx, n)
}

// enqueuer takes note of runs that have to wait.
type enqueuer struct {
	log       *eventlog.Log
	bell      *doorbell
	preempted *preemption
}

// Begin makes the run durable and, when its thread and agent are free, starts it. It returns before the run has done
// anything. It completes o, which is used once.
func (s *starter) Begin(ctx context.Context, o *StartRequest) (*store.Created, error) {
	giveBack, err := s.admission.of(ctx, 1)
	if err != nil {
		return nil, err
	}
	agent, err := s.ready(o)
	if err != nil {
		giveBack(1)
		return nil, err
	}
	claimed := s.begun.note()
	defer claimed()
	created, err := s.runs.Create(ctx, o.New)
	if err != nil || created.Replayed {
		giveBack(1)
	}
	if err != nil {
		s.bell.giveBack(agent, o.New.Claim)
		return nil, err
	}
	noteRun(ctx, &created.Run)
	s.start(agent, o, created)
	return created, nil
}

// noteRun says which run was made, and whether it answers a question.
func noteRun(ctx context.Context, r *mapping.Run) {
	mapping.NoteObject(ctx, "thread", r.ThreadID)
	mapping.NoteObject(ctx, "run", r.ID)
	if r.Options.Resuming {
		mapping.NoteVerb(ctx, mapping.Answered)
	}
}

// BeginAll is Begin for several runs, all or none: none begins before all are durable.
func (s *starter) BeginAll(ctx context.Context, list []*StartRequest) ([]*store.Created, error) {
	if len(list) == 0 {
		return nil, nil
	}
	giveBack, err := s.admission.of(ctx, len(list))
	if err != nil {
		return nil, err
	}
	agents, runs := make([]*Agent, 0, len(list)), make([]*store.RunCreation, 0, len(list))
	refused := func(err error) ([]*store.Created, error) {
		giveBack(len(list))
		for i, agent := range agents {
			s.bell.giveBack(agent, runs[i].Claim)
		}
		return nil, err
	}
	for i := range list {
		agent, err := s.ready(list[i])
		if err != nil {
			return refused(err)
		}
		agents, runs = append(agents, agent), append(runs, list[i].New)
	}
	claimed := s.begun.note()
	defer claimed()
	created, err := s.runs.CreateAll(ctx, runs)
	if err != nil {
		return refused(err)
	}
	giveBack(replayed(created))
	for i, c := range created {
		noteRun(ctx, &c.Run)
		s.start(agents[i], list[i], c)
	}
	return created, nil
}

// replayed is how many of the runs were made by earlier requests.
func replayed(list []*store.Created) (n int) {
	for _, c := range list {
		if c.Replayed {
			n++
		}
	}
	return n
}

// ready completes a request. It takes a slot of the agent for a run that may start at once.
func (s *starter) ready(o *StartRequest) (*Agent, error) {
	agent := s.settings.agent(o.New.Run.Agent)
	if agent == nil { // taken out of the configuration since the request found it
		return nil, gone(o.New.Run.Agent)
	}
	o.New.Claim = o.New.Run.RunAfter.IsZero() && s.lease.holds() && agent.tryAcquire()
	err := s.addFirstEvents(o, agent)
	if err != nil {
		s.bell.giveBack(agent, o.New.Claim)
	}
	return agent, err
}

// addFirstEvents adds the events that are logged with the run itself, when it starts at once.
func (s *starter) addFirstEvents(o *StartRequest, agent *Agent) error {
	r, cfg := &o.New.Run, s.settings.Config()
	share := cfg.Auth.Share(int64(agent.Config.Queue), 1)
	o.New.Queue = store.QueueLimits{
		Agent: agent.Config.Queue, AgentKey: int(share.Key), AgentTenant: int(share.Tenant), Thread: cfg.Limits.ThreadQueue, All: cfg.Limits.Queue,
	}
	if !o.New.Claim {
		return nil
	}
	o.New.Events = []mapping.Event{startedEvent(r)}
	traits, known := agent.Known()
	if !known || !traits.Opaque {
		return nil
	}
	ev, err := inputEvent(r, o.Input)
	if ev != nil && !bytes.Contains(ev.Data, filesKey) && !holdsFiles(ev.Data) { // files are written by the execution
		o.New.Events, o.New.Root = append(o.New.Events, *ev), rootEvent(r)
	}
	return err
}

// filesKey stands in every delta that has files; where it stands in a text instead, the event is only logged a moment
// later.
var filesKey = []byte(`"files"`)

// start starts the execution of a claimed run; a pending one waits.
func (s *starter) start(agent *Agent, o *StartRequest, c *store.Created) {
	if c.Claimed != nil {
		s.launcher.launch(agent, c.Claimed, o)
		return
	}
	s.bell.giveBack(agent, o.New.Claim)
	if !c.Replayed {
		s.queue.add(c, o.New.Run.RunAfter.IsZero())
	}
}

// add has a pending run looked at as soon as it may start, and the runs ended that it takes the place of.
func (q *enqueuer) add(c *store.Created, due bool) {
	q.log.WakeThread(c.Run.ThreadID)
	q.bell.waiting.Store(true)
	if c.Active != nil {
		q.preempted.preempt(c.Active, &c.Run, due)
	}
	q.bell.wake()
}

func startedEvent(r *mapping.Run) mapping.Event {
	return mapping.Event{RunID: r.ID, Kind: mapping.KindStarted, At: r.CreatedAt, Head: mapping.Head{Attempt: max(1, r.Attempt)}}
}

// rootEvent is the empty state before a thread's first input: where clients fork to have its first message said anew.
func rootEvent(r *mapping.Run) *mapping.Event {
	return &mapping.Event{
		RunID: r.ID, Kind: mapping.KindState, At: r.CreatedAt,
		Head: mapping.Head{Name: "checkpoints", Checkpoint: newCheckpoint(r, "input", -1, []string{rule.StartNode}, r.CreatedAt)},
	}
}

// inputEvent is what a run's input, or an answer in words, does to the state of an opaque agent's thread; nil: nothing.
func inputEvent(r *mapping.Run, in *rule.Input) (*mapping.Event, error) {
	delta, err := inputDelta(r, in)
	if err != nil || delta == nil {
		return nil, err
	}
	return &mapping.Event{
		RunID: r.ID, Kind: mapping.KindInput, At: r.CreatedAt, Data: delta,
		Head: mapping.Head{Checkpoint: newCheckpoint(r, "input", -1, []string{rule.StepNode}, r.CreatedAt)},
	}, nil
}

func inputDelta(r *mapping.Run, read *rule.Input) (json.RawMessage, error) {
	if r.Options.Resuming && !r.Options.ByMessage {
		answer, err := rule.ParseAnswer(&r.Options)
		if err != nil {
			return nil, err
		}
		return rule.AnswerDelta(r.ID, answer), nil
	}
	in, err := inputOnce(r, read)
	if err != nil || len(in.Messages) == 0 && len(in.Files) == 0 {
		return nil, err
	}
	return in.Delta(), nil
}

func newCheckpoint(r *mapping.Run, source string, step int, next []string, at time.Time) *mapping.Checkpoint {
	return &mapping.Checkpoint{ID: mapping.NewID(), Source: source, Step: step, Next: next, RunID: r.ID, CreatedAt: at}
}
