package service

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/memory"
	"github.com/apbridge/apbridge/proxy/stepping"
	"github.com/apbridge/apbridge/proxy/store"
)

// runPlan plans one run: it holds the request, everything known about it, and the result. Start reading at plan, which
// calls the steps in the order of their dependencies; they are in the files plan_*.go. Not safe for concurrent use.
type runPlan struct {
	s     *Service
	cfg   *config.Config
	agent *engine.Agent
	// assistant is the named assistant over the agent, or the agent itself.
	assistant *mapping.Assistant
	traits    adapter.Traits
	known     bool // the agent's dialect is known; otherwise the agent is unavailable and the run will report that
	req       *adapter.RunRequest
	stepLimit int // limit of steps in the request (recursion_limit); 0 if there is none
	now       time.Time
	thread    mapping.Thread    // the existing one; zero if it is to be created
	task      *stepping.TaskRun // set if the run is for a step of a task
	named     *namedTask        // set if the request names the task
	in        *rule.Input       // zero if the run resumes another
	memories  *memory.Recalled  // the result of recalled, which is computed once
	forgets   bool              // some items do not reach the agent, which was already reported
	out       *store.CreateRun
}

// planRun turns a request into a run that the engine can begin, or returns why it is refused. It writes nothing. It
// takes over the contents of n, which may be large, so that only the run refers to them.
func (s *Service) planRun(ctx context.Context, n *adapter.RunRequest) (*engine.StartRequest, error) {
	named, err := s.findNamedTask(ctx, n)
	if err != nil {
		return nil, err
	}
	agent, assistant, err := s.findAssistant(ctx, n.Agent)
	if err != nil {
		return nil, err
	}
	if named != nil && named.Agent != agent.Name {
		return nil, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "Task %q belongs to agent %s, not to %s.", named.ID, named.Agent, agent.Name)
	}
	p := &runPlan{s: s, agent: agent, assistant: assistant, req: n, named: named}
	return p.plan(ctx)
}

// PlanTaskRun is like planRun for a run of a task. Package stepping calls it.
func (s *Service) PlanTaskRun(ctx context.Context, agent *engine.Agent, n adapter.RunRequest, task *stepping.TaskRun) (*engine.StartRequest, error) {
	p := &runPlan{s: s, agent: agent, assistant: s.configuredAssistant(agent), req: &n, task: task}
	return p.plan(ctx)
}

func (p *runPlan) plan(ctx context.Context) (*engine.StartRequest, error) {
	s, n := p.s, p.req
	p.stepLimit, p.now = rule.StepLimit(n.Config), s.store.Now()
	given := rule.LastingConfig(n.Config)
	if err := mergeAssistant(n, p.assistant); err != nil {
		return nil, err
	}
	p.findTraits(ctx)
	p.cfg = s.engine.Config()
	p.layOut(mapping.PrincipalOf(ctx))
	p.out.ThreadConfig, p.out.ThreadDefaults = given, rule.LastingConfig(p.assistant.Config)
	for _, step := range []func(context.Context) error{
		p.resolveThread, p.readOptions, p.setOrigin, p.setTask, p.describe, p.readInput, p.checkMemory, p.messageAsAnswer, p.resolveTask, p.unsupportedFields,
	} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	o := &engine.StartRequest{New: p.out, CancelAsking: n.NewTask}
	*n = adapter.RunRequest{}
	if !p.out.Run.Options.Resuming {
		o.Input, o.Recalled = p.in, p.memories
	}
	return o, nil
}

// findTraits determines the agent's traits. They remain zero if the agent is unavailable; the run will report that.
func (p *runPlan) findTraits(ctx context.Context) {
	if p.traits, p.known = p.agent.Known(); p.known {
		return
	}
	var err error
	_, p.traits, err = p.agent.Backend(ctx)
	p.known = err == nil
}

// layOut sets the fields that every run has.
func (p *runPlan) layOut(who mapping.Principal) {
	p.out = &store.CreateRun{Run: mapping.Run{
		Tenant: who.Tenant, Owner: who.ID, ID: mapping.NewID(), ThreadID: p.req.ThreadID, Agent: p.agent.Name,
		AssistantID: p.assistant.ID, Status: mapping.RunPending, Multitask: p.strategy(),
		Flavour: p.req.Flavour, Attempt: 1, CreatedAt: p.now, UpdatedAt: p.now,
	}}
	if p.req.RunAfter > 0 {
		p.out.Run.RunAfter = p.now.Add(p.req.RunAfter)
	}
}

// strategy returns the strategy in the request, else the one in the agent's configuration, else the default of the
// request's flavour.
func (p *runPlan) strategy() mapping.Strategy {
	switch set := p.agent.Config.Multitask; {
	case p.req.Multitask != "":
		return p.req.Multitask
	case set != "" && set != "auto":
		return mapping.Strategy(set)
	}
	return p.s.dialects.Strategy(p.req.Flavour)
}

// setOrigin records the request that created the run, and the bridges that it passed through.
func (p *runPlan) setOrigin(ctx context.Context) error {
	o := &p.out.Run.Options
	o.Hops, o.RequestID = mapping.HopsOf(ctx), mapping.RequestIDOf(ctx)
	if trace := mapping.TraceOf(ctx); trace.Parent != "" {
		o.Trace = &trace
	}
	return nil
}

// setTask sets the run's properties that depend on its task. A run without a task begins a new one, unless it resumes
// another run (resolveTask).
func (p *runPlan) setTask(context.Context) error {
	r := &p.out.Run
	if p.named != nil { // set before the input is read: the ids of its messages depend on it (engine.InputIDBase)
		r.Options.FollowUp = p.named.newest.ID != "" && !r.Options.Resuming
	}
	if p.task == nil {
		r.TaskID = r.ID
		return nil
	}
	r.TaskID = p.task.Task.ID
	r.Options.Stepping, r.Options.FollowUp = p.task.Stepping, p.task.FollowUp
	r.Options.Guessed, r.Options.Exhausted, r.Options.Asked = p.task.Guessed, p.task.Exhausted, p.task.Asked
	r.Options.Uploaded = p.task.Uploaded
	if !r.Options.Resuming {
		r.Options.Input = p.req.Input
	}
	return nil
}

// describe sets metadata and kwargs.
func (p *runPlan) describe(context.Context) error {
	r := &p.out.Run
	ids := rule.MadeFor(r.Agent, r.AssistantID)
	p.out.ThreadMeta = ids
	var err error
	r.Metadata = rawjson.OrEmpty(p.assistant.Metadata)
	for _, m := range []json.RawMessage{p.thread.Metadata, p.req.Metadata, ids} {
		if len(m) == 0 {
			continue
		}
		if string(r.Metadata) == "{}" && rawjson.Kind(m) == '{' {
			r.Metadata = m // merging ids copies it
			continue
		}
		if r.Metadata, err = rule.MergeMetadata(r.Metadata, m); err != nil {
			return err
		}
	}
	r.Kwargs, err = rule.WithRun(p.req.Kwargs, r)
	p.releaseRequest()
	return err
}

// releaseRequest drops the references to the request's values, so that its memory can be freed: the run has its own
// copy. Values that make up most of the request are not copied.
func (p *runPlan) releaseRequest() {
	p.req.Kwargs, p.req.Input, p.req.Messages, p.req.Command, p.req.Metadata, p.req.Config, p.req.Context = nil, nil, nil, nil, nil, nil, nil
	o, size := &p.out.Run.Options, 0
	parts := []*json.RawMessage{&o.Resume, &o.Update, &o.Goto, &o.Config, &o.Context}
	for _, part := range parts {
		size += len(*part)
	}
	if 2*size > len(p.out.Run.Kwargs) {
		return
	}
	for _, part := range parts {
		*part = bytes.Clone(*part)
	}
}

// mergeAssistant adds the assistant's settings to those of a request, which take precedence, and to the request as
// stored with the run.
func mergeAssistant(n *adapter.RunRequest, a *mapping.Assistant) (err error) {
	config, context := unlessEmpty(a.Config), unlessEmpty(a.Context)
	if n.Config, err = rule.MergeConfig(config, n.Config); err != nil {
		return err
	}
	if n.Context, err = rule.MergeContext(context, n.Context); err != nil {
		return err
	}
	var added []rawjson.Member
	if config != nil {
		added = append(added, rawjson.Member{Name: "config", Value: n.Config})
	}
	if context != nil {
		added = append(added, rawjson.Member{Name: "context", Value: n.Context})
	}
	if len(added) > 0 {
		n.Kwargs, err = rawjson.WithMembers(n.Kwargs, added...)
	}
	return err
}

// unlessEmpty returns nil for an object without members.
func unlessEmpty(raw json.RawMessage) json.RawMessage {
	if string(raw) == "{}" {
		return nil
	}
	return raw
}

func refuse(format string, args ...any) error {
	return mapping.Errorf(mapping.Invalid, mapping.CodeNotSupported, format, args...)
}
