package plan

import (
	"context"
	"encoding/json"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/memory"
	"github.com/apbridge/apbridge/proxy/service/directory"
	"github.com/apbridge/apbridge/proxy/stepping"
	"github.com/apbridge/apbridge/proxy/store"
)

// Dialects has what the flavour of a run decides; adapter.Dialects implements it.
type Dialects interface {
	Strategy(f mapping.Flavour) mapping.Strategy
	Losses(f mapping.Flavour, sent []string, agent mapping.Capabilities) []mapping.Loss
	Lost(f mapping.Flavour, meant []mapping.Meaning, agent mapping.Capabilities) []mapping.Loss
}

// Engine has what is asked of it before a run begins; engine.Engine implements it.
type Engine interface {
	Config() *config.Config
	Recall(ctx context.Context, a *engine.Agent, r *mapping.Run, metadata json.RawMessage, words string) (memory.Recalled, error)
}

// Heads reads threads at their heads.
type Heads interface {
	// At returns the state at a thread's head, and the thread as it is then.
	At(ctx context.Context, t *mapping.Thread) (*mapping.Thread, *state.Fold, error)
}

// Planner lays out runs. Its fields must not change. Safe for concurrent use.
type Planner struct {
	Directory *directory.Directory
	Dialects  Dialects
	Engine    Engine
	Threads   *store.Threads
	Runs      *store.Runs
	States    *store.States
	Heads     Heads
	Now       func() time.Time // store.Store.Now
}

// Plan turns a request for a run into a run to be made, with what its agent is not told, or says what is wrong with it.
// It takes n, which may be large: while the run is made, and executed, nothing but the run refers to what was in it.
func (p *Planner) Plan(ctx context.Context, n *adapter.NewRun) (*engine.StartRequest, []mapping.Loss, error) {
	agent, assistant, err := p.Directory.Assistant(ctx, n.Agent)
	if err != nil {
		return nil, nil, err
	}
	return p.planFor(ctx, agent, assistant, n, nil)
}

// PlanTaskRun is Plan for a run of a task.
func (p *Planner) PlanTaskRun(ctx context.Context, agent *engine.Agent, n adapter.NewRun, task *stepping.TaskRun) (*engine.StartRequest, error) {
	o, _, err := p.planFor(ctx, agent, p.Directory.Itself(agent), &n, task)
	return o, err
}

func (p *Planner) planFor(ctx context.Context, agent *engine.Agent, assistant *mapping.Assistant, n *adapter.NewRun, task *stepping.TaskRun) (*engine.StartRequest, []mapping.Loss, error) {
	d := &draft{agent: agent, assistant: assistant, n: n, asked: rule.StepLimit(n.Config), now: p.Now(), task: task}
	err := directory.Over(n, assistant)
	if err != nil {
		return nil, nil, err
	}
	d.traits, d.known = agent.Known()
	if !d.known {
		if _, d.traits, err = agent.Backend(ctx); err == nil {
			d.known = true
		}
	}
	if err := p.fill(ctx, d); err != nil {
		return nil, nil, err
	}
	*n = adapter.NewRun{}
	o := &engine.StartRequest{New: d.out}
	if !d.out.Run.Options.Resuming {
		o.Input, o.Recalled = d.in, d.memories
	}
	return o, d.out.Run.Options.Losses, nil
}

// fill has the parts of a plan say what they know of the run, in the order in which they need each other.
func (p *Planner) fill(ctx context.Context, d *draft) error {
	d.layOut(mapping.PrincipalOf(ctx), p.Dialects)
	cfg := p.Engine.Config()
	thread, input := ownThread{d, p.Threads}, runInput{d, cfg.Limits}
	telling := runTelling{draft: d, dialects: p.Dialects, engine: p.Engine, heads: p.Heads}
	options, lineage := runOptions{draft: d, telling: telling, dialects: p.Dialects, cfg: cfg, states: p.States}, runLineage{d, p.Runs}
	for _, part := range []func(context.Context) error{
		thread.find, options.read, d.origin, d.ofTask, d.describe, input.read, telling.memory, lineage.spokenAnswer, lineage.decide, telling.losses,
	} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

func refuse(format string, args ...any) error {
	return mapping.Errorf(mapping.Invalid, mapping.CodeNotSupported, format, args...)
}

func notFound(err error) bool { return err != nil && mapping.Classify(err).Class == mapping.NotFound }
