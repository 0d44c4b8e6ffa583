package service

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// resolveThread finds the run's thread, or prepares the one to create.
func (p *runPlan) resolveThread(ctx context.Context) error {
	r := &p.out.Run
	if p.req.ThreadName != "" {
		if err := p.findNamedThread(ctx); err != nil {
			return err
		}
	}
	if r.ThreadID != "" {
		if there, err := p.existingThread(ctx); there || err != nil {
			return err
		}
	} else {
		r.ThreadID = mapping.NewID()
		p.out.MustNotExist = true
	}
	p.out.Thread = &mapping.Thread{
		Tenant: r.Tenant, Owner: r.Owner, ID: r.ThreadID, Metadata: bytes.Clone(rawjson.OrEmpty(p.req.Metadata)), Config: json.RawMessage(`{}`),
		Status: mapping.ThreadIdle, CreatedAt: p.now, UpdatedAt: p.now,
	}
	if p.req.ThreadName != "" {
		p.out.Thread.Name, p.out.Thread.NamedFor = p.req.ThreadName, r.Agent
	}
	if p.out.MustNotExist && (p.req.Temporary || p.req.DeleteAfter) {
		p.out.Thread.TTL, p.out.Thread.Expires = mapping.OfOneRun, p.now.Add(unlessEnded)
	}
	return nil
}

// findNamedThread sets the id of the thread that the request names, if the thread exists.
func (p *runPlan) findNamedThread(ctx context.Context) (err error) {
	name := p.req.ThreadName
	if p.req.ThreadID != "" {
		return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "A thread is named by its id or by a name of the client's, not by both.")
	}
	if !mapping.IsThreadName(name) {
		return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "The name of a thread must be a string of 1 to %d printable characters.", mapping.MaxThreadName)
	}
	p.out.Run.ThreadID, err = p.s.store.Threads.Named(ctx, p.out.Run.Agent, name)
	return err
}

// unlessEnded is how long the thread of a stateless run is kept if the run is removed before it ends. The end of a run
// sets another time.
const unlessEnded = time.Hour

// existingThread finds the thread of the request. It returns false if the thread is to be created.
func (p *runPlan) existingThread(ctx context.Context) (bool, error) {
	t, err := p.s.store.Threads.Get(ctx, p.out.Run.ThreadID)
	if err == nil {
		p.thread = t
		return true, nil
	}
	if notFound(err) && p.req.IfNotExists == "create" {
		return false, nil
	}
	return false, err
}
