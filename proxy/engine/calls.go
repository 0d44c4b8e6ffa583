package engine

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
)

// keepWithin is how long the end of a run waits for its calls to be written.
const keepWithin = 5 * time.Second

// captures keep the calls that runs make of their agents, by inspector.capture. Safe for concurrent use.
type captures struct {
	calls    *store.Calls
	settings *configured
	bytes    atomic.Int64 // bodies of calls that are in memory
	zap      *zap.Logger
}

func (c *captures) newCallLog() *callLog {
	if c.settings.Capture() == captureOff {
		return newCallLog(&c.bytes, 0)
	}
	return newCallLog(&c.bytes, store.RunCallsKept)
}

// captured reports whether the calls of a run that leaves this process in a status (statusOf) are written down.
func captured(capture string, status mapping.RunStatus) bool {
	failed := status == mapping.RunError || status == mapping.RunTimeout
	return capture == captureAll || capture == captureErrors && failed
}

// The values of inspector.capture.
const (
	captureOff    = "off"
	captureErrors = "errors"
	captureAll    = "all"
)

// keep writes the calls of a run down that leaves this process in a status (statusOf), before its end, which flushes
// them. That it cannot is no reason for the run not to end.
func (c *captures) keep(ctx context.Context, r *store.Claimed, calls *callLog, status mapping.RunStatus) {
	if !captured(c.settings.Capture(), status) {
		return
	}
	list := calls.list()
	if len(list) == 0 {
		return
	}
	rows := make([]store.RunCall, len(list))
	for i, one := range list {
		rows[i] = store.RunCall{N: one.N, Sent: one.Sent.Body, Received: one.Received.Body}
		var err error
		if rows[i].Head, err = json.Marshal(one); err != nil {
			c.unkept(&r.Run, err)
			return
		}
	}
	ctx, stop := context.WithTimeout(ctx, keepWithin)
	defer stop()
	if err := c.calls.Keep(ctx, r.Run.ID, r.Fence, rows); err != nil && !errors.Is(err, store.ErrFenced) {
		c.unkept(&r.Run, err)
	}
}

func (c *captures) unkept(r *mapping.Run, err error) {
	c.zap.Warn("the calls of a run could not be kept for the inspector", errField(err), runField(r.ID), agentField(r.Agent))
}

// Calls returns the calls that a run at work in this process has made of its agent, as far as they are kept in memory;
// false: there is no such run.
func (e *Engine) Calls(runID string) ([]adapter.AgentCall, bool) {
	x := e.running.find(runID)
	if x == nil {
		return nil, false
	}
	return x.calls.list(), true
}

// Capture returns inspector.capture in force.
func (c *configured) Capture() string { return c.Config().Inspector.Capture }
