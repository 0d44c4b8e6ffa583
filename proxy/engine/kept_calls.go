package engine

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/credential"
	"github.com/apbridge/apbridge/proxy/store"
)

const (
	callsKept   = 256      // of one run, the newest
	callMemory  = 1 << 20  // bytes of bodies of one run
	callsMemory = 64 << 20 // the same of all runs at work

	keepWithin = 5 * time.Second // is how long the end of a run waits for its calls to be written
)

// keptCalls are the newest calls that a run has made of its agent, in a memory of a bounded size. They are written down
// when the run leaves this process, if the configuration wants that. Safe for concurrent use.
type keptCalls struct {
	keeps bool
	all   *atomic.Int64 // bytes that are kept of all runs

	mu     sync.Mutex
	over   bool // what comes now is kept no more
	calls  []adapter.EndedCall
	ended  int64 // how many calls have
	memory int64 // bytes of this run that all counts
	open   int   // calls under way
	since  time.Time
	spent  time.Duration // while at least one was
}

func (e *Engine) newKeptCalls() *keptCalls {
	return &keptCalls{keeps: e.Capture() != captureOff, all: &e.callsMemory}
}

// Begin implements adapter.CallKeeper.
func (k *keptCalls) Begin() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.open++; k.open == 1 {
		k.since = time.Now()
	}
	return k.keeps && !k.over
}

// Room implements adapter.CallKeeper. The memory that it gives counts for this run until its calls, or the call that it
// is given for, are forgotten.
func (k *keptCalls) Room(n int) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	for k.memory+int64(n) > callMemory && len(k.calls) > 0 {
		k.drop()
	}
	n = int(min(int64(n), callMemory-k.memory))
	if k.over || n <= 0 {
		return 0
	}
	if k.all.Add(int64(n)) > callsMemory {
		k.all.Add(-int64(n))
		return 0
	}
	k.memory += int64(n)
	return n
}

// End implements adapter.CallKeeper.
func (k *keptCalls) End(c adapter.EndedCall) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.open--; k.open == 0 {
		k.spent += time.Since(k.since)
	}
	if c == nil || k.over {
		return
	}
	k.ended++
	if k.calls = append(k.calls, c); len(k.calls) > callsKept {
		k.drop()
	}
}

// drop forgets the oldest call. The lock must be held.
func (k *keptCalls) drop() {
	c := k.calls[0]
	k.calls = k.calls[1:]
	n := min(k.memory, int64(c.Room()))
	k.memory -= n
	k.all.Add(-n)
}

// list are the calls that have ended, oldest first, without secrets and tokens: those are taken out here, since most
// calls are never looked at.
func (k *keptCalls) list() []adapter.AgentCall {
	k.mu.Lock()
	calls, n := slices.Clone(k.calls), k.ended-int64(len(k.calls))
	k.mu.Unlock()
	list := make([]adapter.AgentCall, len(calls))
	for i, c := range calls {
		list[i] = c.Shown()
		list[i].N = n + int64(i) + 1
		hideTokens(&list[i])
	}
	return list
}

// agentTime is how long at least one call was under way.
func (k *keptCalls) agentTime() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.open > 0 {
		return k.spent + time.Since(k.since)
	}
	return k.spent
}

// forget gives the memory back.
func (k *keptCalls) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all.Add(-k.memory)
	k.over, k.calls, k.memory = true, nil, 0
}

// hideTokens takes tokens of runs out of a call: the bridge has sent them itself.
func hideTokens(c *adapter.AgentCall) {
	for _, p := range []*adapter.CallPart{&c.Sent, &c.Received} {
		p.Body = credential.HideRunTokens(p.Body)
		p.Kept = len(p.Body)
	}
	c.URL, c.Error = string(credential.HideRunTokens([]byte(c.URL))), string(credential.HideRunTokens([]byte(c.Error)))
}

// captured reports whether the calls of a run that leaves so are written down.
func captured(capture string, out mapping.Outcome) bool {
	failed := !out.Parked && (out.Status == mapping.RunError || out.Status == mapping.RunTimeout)
	return capture == captureAll || capture == captureErrors && failed
}

// The values of inspector.capture.
const (
	captureOff    = "off"
	captureErrors = "errors"
	captureAll    = "all"
)

// keepCalls writes the run's calls down, before its end, which flushes them. That it cannot is no reason for the run
// not to end.
func (x *execution) keepCalls(ctx context.Context, out mapping.Outcome) {
	if !captured(x.e.Capture(), out) {
		return
	}
	calls := x.calls.list()
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
	return x.calls.list(), true
}

// Capture returns inspector.capture in force.
func (e *Engine) Capture() string { return e.Config().Inspector.Capture }
