package service

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/memory"
	"github.com/apbridge/apbridge/proxy/service/directory"
	"github.com/apbridge/apbridge/proxy/stepping"
	"github.com/apbridge/apbridge/proxy/store"
)

// startRequest turns a request for a run into a run to be made, or says what is wrong with it. Nothing is written. n is
// not to be used afterwards, see startRequestFor.
func (c *core) startRequest(ctx context.Context, n *adapter.NewRun) (*engine.StartRequest, []mapping.Loss, error) {
	agent, assistant, err := c.Assistant(ctx, n.Agent)
	if err != nil {
		return nil, nil, err
	}
	return c.startRequestFor(ctx, agent, assistant, n, nil)
}

// startRequestFor takes n, which may be large: while the run is made, and executed, nothing but the run refers to what
// was in it.
func (c *core) startRequestFor(ctx context.Context, agent *engine.Agent, assistant *mapping.Assistant, n *adapter.NewRun, task *stepping.TaskRun) (*engine.StartRequest, []mapping.Loss, error) {
	b := &runBuilder{core: c, agent: agent, assistant: assistant, n: n, now: c.now(), task: task}
	err := directory.Over(n, assistant)
	if err != nil {
		return nil, nil, err
	}
	b.traits, b.known = agent.Known()
	if !b.known {
		if _, b.traits, err = agent.Backend(ctx); err == nil {
			b.known = true
		}
	}
	if err := b.build(ctx); err != nil {
		return nil, nil, err
	}
	*n = adapter.NewRun{}
	o := &engine.StartRequest{New: b.out}
	if !b.out.Run.Options.Resuming {
		o.Input, o.Recalled = b.in, b.memories
	}
	return o, b.out.Run.Options.Losses, nil
}

// PlanTaskRun is startRequest for a run of a task.
func (c *core) PlanTaskRun(ctx context.Context, agent *engine.Agent, n adapter.NewRun, task *stepping.TaskRun) (*engine.StartRequest, error) {
	o, _, err := c.startRequestFor(ctx, agent, c.Itself(agent), &n, task)
	return o, err
}

// runBuilder gathers what a new run is made of.
type runBuilder struct {
	*core
	agent *engine.Agent
	// assistant is the agent itself, or what was made over it and is named.
	assistant *mapping.Assistant
	traits    adapter.Traits
	known     bool // the agent's dialect is known; else it is away and the run will say so
	n         *adapter.NewRun
	now       time.Time
	thread    mapping.Thread    // the existing one; zero when it is to be made
	task      *stepping.TaskRun // the run belongs to a task, and one of its steps was asked for
	in        *rule.Input       // zero where the run resumes another
	memories  *memory.Recalled  // what recalled has read
	forgets   bool              // the agent is not told all items, and the client is told so
	out       *store.RunCreation
}

func (b *runBuilder) build(ctx context.Context) error {
	p := mapping.PrincipalOf(ctx)
	b.out = &store.RunCreation{Run: mapping.Run{
		Tenant: p.Tenant, Owner: p.ID, ID: mapping.NewID(), ThreadID: b.n.ThreadID, Agent: b.agent.Name,
		AssistantID: b.assistant.ID, Status: mapping.RunPending, Multitask: b.strategy(),
		Flavour: b.n.Flavour, Attempt: 1, CreatedAt: b.now, UpdatedAt: b.now,
	}}
	if b.n.RunAfter > 0 {
		b.out.Run.RunAfter = b.now.Add(b.n.RunAfter)
	}
	options, lineage, telling := runOptions{b}, runLineage{b}, runTelling{b}
	for _, part := range []func(context.Context) error{
		b.ownThread, options.read, b.origin, b.ofTask, b.describe, b.input, telling.memory, lineage.spokenAnswer, lineage.decide, telling.losses,
	} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// strategy is what the request says, else what its agent is configured to, else what the documents of the request's
// flavour have as their default.
func (b *runBuilder) strategy() mapping.Strategy {
	switch set := b.agent.Config.Multitask; {
	case b.n.Multitask != "":
		return b.n.Multitask
	case set != "" && set != "auto":
		return mapping.Strategy(set)
	}
	return b.dialects.Strategy(b.n.Flavour)
}

// ownThread finds the run's thread, or lays out the one to be made.
func (b *runBuilder) ownThread(ctx context.Context) error {
	r := &b.out.Run
	if r.ThreadID != "" {
		if there, err := b.findThread(ctx); there || err != nil {
			return err
		}
	} else {
		r.ThreadID = mapping.NewID()
		b.out.MustNotExist = true
	}
	empty := json.RawMessage(`{}`)
	b.out.Thread = &mapping.Thread{
		Tenant: r.Tenant, Owner: r.Owner, ID: r.ThreadID, Metadata: empty, Config: empty,
		Status: mapping.ThreadIdle, CreatedAt: b.now, UpdatedAt: b.now,
	}
	return nil
}

// findThread finds the thread that the request names; false: it is to be made.
func (b *runBuilder) findThread(ctx context.Context) (bool, error) {
	t, err := b.st.Threads.Get(ctx, b.out.Run.ThreadID)
	if err == nil {
		b.thread = t
		return true, nil
	}
	if mapping.Classify(err).Class == mapping.NotFound && b.n.IfNotExists == "create" {
		return false, nil
	}
	return false, err
}

// input reads the input, to refuse what no agent could be given.
func (b *runBuilder) input(context.Context) (err error) {
	if b.out.Run.Options.Resuming {
		b.in = &rule.Input{}
		return nil
	}
	input, messages, err := engine.GivenTo(&b.out.Run)
	if err != nil {
		return err
	}
	if err = b.checkMessages(input, messages); err != nil {
		return err
	}
	if err = b.checkFiles(filesIn(input)); err != nil {
		return err
	}
	if err = b.read(); err != nil {
		return err
	}
	if !b.traits.Opaque {
		return nil
	}
	return b.checkGiven()
}

// checkGiven refuses files that no agent could be given.
func (b *runBuilder) checkGiven() error {
	if err := b.checkFiles(len(b.in.Files) + rule.HeldAttachments(b.in.Messages)); err != nil {
		return err
	}
	if err := b.in.CheckFiles(); err != nil {
		return err
	}
	return b.in.CheckAttachments(int64(b.engine.Config().Limits.Artifact))
}

// read reads the input. Words alone are not read back from the message that was made of them: they may be long, and the
// request has them until it is answered.
func (b *runBuilder) read() (err error) {
	r := &b.out.Run
	if b.task == nil || b.task.Words == "" {
		b.in, err = engine.InputOf(r)
		return err
	}
	b.in = rule.TextInput(b.task.Words, engine.InputBase(r))
	b.in.Raw = r.Options.Input
	return nil
}

// origin notes which request made the run, and over which bridges it came.
func (b *runBuilder) origin(ctx context.Context) error {
	o := &b.out.Run.Options
	o.Hops, o.RequestID = mapping.HopsOf(ctx), mapping.RequestIDOf(ctx)
	if trace := mapping.TraceOf(ctx); trace.Parent != "" {
		o.Trace = &trace
	}
	return nil
}

// ofTask fills in what the task says about the run; one without a task begins its own, unless it resumes another
// (runLineage).
func (b *runBuilder) ofTask(context.Context) error {
	r := &b.out.Run
	if b.task == nil {
		r.TaskID = r.ID
		return nil
	}
	r.TaskID = b.task.Task.ID
	r.Options.Stepping, r.Options.FollowUp = b.task.Stepping, b.task.FollowUp
	r.Options.Guessed, r.Options.Exhausted, r.Options.Asked = b.task.Guessed, b.task.Exhausted, b.task.Asked
	r.Options.Uploaded = b.task.Uploaded
	if !r.Options.Resuming {
		r.Options.Input = b.n.Input
	}
	return nil
}

// checkFiles refuses more files than one request may bring along.
func (c *core) checkFiles(n int) error {
	if most := c.engine.Config().Limits.Files; most > 0 && n > most {
		return mapping.Errorf(mapping.Invalid, "too_many_files", "The request brings %d files along, and limits.files of this bridge allows %d. Send fewer at a time.", n, most)
	}
	return nil
}

// checkMessages refuses more messages than one input may bring, before they are put into normal form: a message of
// three bytes becomes one of 150.
func (c *core) checkMessages(input, further json.RawMessage) error {
	var own json.RawMessage
	if len(input) > 0 && input[0] == '{' {
		own, _ = rawjson.Lookup(input, "messages") // what cannot be read is refused with the input
	}
	return rule.CheckMessages(rawjson.CountElements(own)+rawjson.CountElements(further), c.engine.Config().Limits.Messages)
}

// describe fills in what is told about the run: metadata and kwargs.
func (b *runBuilder) describe(context.Context) error {
	r := &b.out.Run
	ids := rule.MadeFor(r.Agent, r.AssistantID)
	b.out.ThreadMeta = ids
	var err error
	r.Metadata = rawjson.OrEmpty(b.assistant.Metadata)
	for _, m := range []json.RawMessage{b.thread.Metadata, b.n.Metadata, ids} {
		if len(m) == 0 {
			continue
		}
		if r.Metadata, err = rule.MergeMetadata(r.Metadata, m); err != nil {
			return err
		}
	}
	r.Kwargs, err = rule.WithRun(b.n.Kwargs, r)
	b.letGo()
	return err
}

// letGo drops the references to the request's values, which hold their memory: the run has its own copy by now. What is
// most of the request holds little beside itself, and is not copied.
func (b *runBuilder) letGo() {
	b.n.Kwargs, b.n.Input, b.n.Messages, b.n.Command, b.n.Metadata, b.n.Config, b.n.Context = nil, nil, nil, nil, nil, nil, nil
	o, size := &b.out.Run.Options, 0
	parts := []*json.RawMessage{&o.Resume, &o.Update, &o.Goto, &o.Config, &o.Context}
	for _, part := range parts {
		size += len(*part)
	}
	if 2*size > len(b.out.Run.Kwargs) {
		return
	}
	for _, part := range parts {
		*part = bytes.Clone(*part)
	}
}
