package engine

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine/keptcall"
	"github.com/apbridge/apbridge/proxy/store"
)

// keepWithin is how long the end of a run waits for its calls to be written.
const keepWithin = 5 * time.Second

func (e *Engine) newKeeper() *keptcall.Keeper {
	if e.Capture() == captureOff {
		return keptcall.Off()
	}
	return keptcall.In(&e.callsBudget, store.RunCallsKept)
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

// keepCalls writes the calls of a run down that leaves this process in a status (statusOf), before its end, which
// flushes them. That it cannot is no reason for the run not to end.
func (x *execution) keepCalls(ctx context.Context, status mapping.RunStatus) {
	if !captured(x.e.Capture(), status) {
		return
	}
	calls := x.calls.List()
	if len(calls) == 0 {
		return
	}
	rows := make([]store.RunCall, len(calls))
	for i, c := range calls {
		rows[i] = store.RunCall{N: c.N, Sent: c.Sent.Body, Received: c.Received.Body}
		var err error
		if rows[i].Head, err = json.Marshal(c); err != nil {
			x.e.logCalls(&x.Run, err)
			return
		}
	}
	ctx, stop := context.WithTimeout(ctx, keepWithin)
	defer stop()
	if err := x.e.st.Calls.Keep(ctx, x.Run.ID, x.Fence, rows); err != nil && !errors.Is(err, store.ErrFenced) {
		x.e.logCalls(&x.Run, err)
	}
}

func (e *Engine) logCalls(r *mapping.Run, err error) {
	e.zap.Warn("the calls of a run could not be kept for the inspector", errField(err), runField(r.ID), agentField(r.Agent))
}

// Calls returns the calls that a run at work in this process has made of its agent, as far as they are kept in memory;
// false: there is no such run.
func (e *Engine) Calls(runID string) ([]adapter.AgentCall, bool) {
	x := e.running.find(runID)
	if x == nil {
		return nil, false
	}
	return x.calls.List(), true
}

// Capture returns inspector.capture in force.
func (e *Engine) Capture() string { return e.Config().Inspector.Capture }
