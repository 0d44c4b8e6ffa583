package plan

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
	"github.com/apbridge/apbridge/proxy/stepping"
	"github.com/apbridge/apbridge/proxy/store"
)

// draft is a run as far as it is laid out, which the parts of a plan read and complete.
type draft struct {
	agent *engine.Agent
	// assistant is the agent itself, or what was made over it and is named.
	assistant *mapping.Assistant
	traits    adapter.Traits
	known     bool // the agent's dialect is known; else it is away and the run will say so
	n         *adapter.NewRun
	asked     int // steps that the request itself allows (recursion_limit); 0 where it does not say
	now       time.Time
	thread    mapping.Thread    // the existing one; zero when it is to be made
	task      *stepping.TaskRun // the run belongs to a task, and one of its steps was asked for
	in        *rule.Input       // zero where the run resumes another
	memories  *memory.Recalled  // what recalled has read
	forgets   bool              // the agent is not told all items, and the client is told so
	out       *store.CreateRun
}

// layOut lays out what every run has.
func (d *draft) layOut(p mapping.Principal, dialects Dialects) {
	d.out = &store.CreateRun{Run: mapping.Run{
		Tenant: p.Tenant, Owner: p.ID, ID: mapping.NewID(), ThreadID: d.n.ThreadID, Agent: d.agent.Name,
		AssistantID: d.assistant.ID, Status: mapping.RunPending, Multitask: d.strategy(dialects),
		Flavour: d.n.Flavour, Attempt: 1, CreatedAt: d.now, UpdatedAt: d.now,
	}}
	if d.n.RunAfter > 0 {
		d.out.Run.RunAfter = d.now.Add(d.n.RunAfter)
	}
}

// strategy is what the request says, else what its agent is configured to, else what the documents of the request's
// flavour have as their default.
func (d *draft) strategy(dialects Dialects) mapping.Strategy {
	switch set := d.agent.Config.Multitask; {
	case d.n.Multitask != "":
		return d.n.Multitask
	case set != "" && set != "auto":
		return mapping.Strategy(set)
	}
	return dialects.Strategy(d.n.Flavour)
}

// origin notes which request made the run, and over which bridges it came.
func (d *draft) origin(ctx context.Context) error {
	o := &d.out.Run.Options
	o.Hops, o.RequestID = mapping.HopsOf(ctx), mapping.RequestIDOf(ctx)
	if trace := mapping.TraceOf(ctx); trace.Parent != "" {
		o.Trace = &trace
	}
	return nil
}

// ofTask fills in what the task says about the run; one without a task begins its own, unless it resumes another
// (runLineage).
func (d *draft) ofTask(context.Context) error {
	r := &d.out.Run
	if d.task == nil {
		r.TaskID = r.ID
		return nil
	}
	r.TaskID = d.task.Task.ID
	r.Options.Stepping, r.Options.FollowUp = d.task.Stepping, d.task.FollowUp
	r.Options.Guessed, r.Options.Exhausted, r.Options.Asked = d.task.Guessed, d.task.Exhausted, d.task.Asked
	r.Options.Uploaded = d.task.Uploaded
	if !r.Options.Resuming {
		r.Options.Input = d.n.Input
	}
	return nil
}

// describe fills in what is told about the run: metadata and kwargs.
func (d *draft) describe(context.Context) error {
	r := &d.out.Run
	ids := rule.MadeFor(r.Agent, r.AssistantID)
	d.out.ThreadMeta = ids
	var err error
	r.Metadata = rawjson.OrEmpty(d.assistant.Metadata)
	for _, m := range []json.RawMessage{d.thread.Metadata, d.n.Metadata, ids} {
		if len(m) == 0 {
			continue
		}
		if r.Metadata, err = rule.MergeMetadata(r.Metadata, m); err != nil {
			return err
		}
	}
	r.Kwargs, err = rule.WithRun(d.n.Kwargs, r)
	d.letGo()
	return err
}

// letGo drops the references to the request's values, which hold their memory: the run has its own copy by now. What is
// most of the request holds little beside itself, and is not copied.
func (d *draft) letGo() {
	d.n.Kwargs, d.n.Input, d.n.Messages, d.n.Command, d.n.Metadata, d.n.Config, d.n.Context = nil, nil, nil, nil, nil, nil, nil
	o, size := &d.out.Run.Options, 0
	parts := []*json.RawMessage{&o.Resume, &o.Update, &o.Goto, &o.Config, &o.Context}
	for _, part := range parts {
		size += len(*part)
	}
	if 2*size > len(d.out.Run.Kwargs) {
		return
	}
	for _, part := range parts {
		*part = bytes.Clone(*part)
	}
}
