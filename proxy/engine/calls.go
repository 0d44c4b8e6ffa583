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
	maxRunCallBytes = 1 << 20  // bodies kept for one run
	maxCallBytes    = 64 << 20 // bodies kept for all runs of this process
	saveCallsWithin = 5 * time.Second
)

// callLog keeps the newest calls that a run has made to its agent, for the inspector. It implements adapter.CallKeeper.
// Safe for concurrent use.
type callLog struct {
	max   int           // number of calls to keep; 0 counts only their duration
	total *atomic.Int64 // bytes of bodies kept for all runs of this process

	mu      sync.Mutex
	closed  bool
	calls   []adapter.EndedCall
	ended   int64      // calls that have ended, whether kept or not
	bytes   int64      // the share of this run in total
	told    [][]string // namespaces of the items passed to the agent
	open    int        // number of running calls
	since   time.Time  // start of the current period with running calls
	elapsed time.Duration
}

// newCallLog returns a log of at most limit calls, whose bodies count towards total.
func newCallLog(total *atomic.Int64, limit int) *callLog { return &callLog{max: limit, total: total} }

// newCallLog returns the log for a new execution. Without inspector.capture it keeps no calls.
func (e *Engine) newCallLog() *callLog {
	if e.Capture() == captureOff {
		return newCallLog(&e.callBytes, 0)
	}
	return newCallLog(&e.callBytes, store.RunCallsKept)
}

// Begin implements adapter.CallKeeper.
func (l *callLog) Begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open++; l.open == 1 {
		l.since = time.Now()
	}
	return l.max > 0 && !l.closed
}

// Reserve implements adapter.CallKeeper. The granted bytes count for this run until the call is dropped or the log is
// closed.
func (l *callLog) Reserve(n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.bytes+int64(n) > maxRunCallBytes && len(l.calls) > 0 {
		l.drop()
	}
	n = int(min(int64(n), maxRunCallBytes-l.bytes))
	if l.closed || n <= 0 {
		return 0
	}
	if l.total.Add(int64(n)) > maxCallBytes {
		l.total.Add(-int64(n))
		return 0
	}
	l.bytes += int64(n)
	return n
}

// End implements adapter.CallKeeper.
func (l *callLog) End(c adapter.EndedCall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open--; l.open == 0 {
		l.elapsed += time.Since(l.since)
	}
	if c == nil || l.closed {
		return
	}
	l.ended++
	if l.calls = append(l.calls, c); len(l.calls) > l.max {
		l.drop()
	}
}

// drop drops the oldest call. The lock must be held.
func (l *callLog) drop() {
	c := l.calls[0]
	l.calls = l.calls[1:]
	n := min(l.bytes, int64(c.Reserved()))
	l.bytes -= n
	l.total.Add(-n)
}

// list returns the ended calls, oldest first, without secrets and tokens. They are removed only here because most calls
// are never read.
func (l *callLog) list() []adapter.AgentCall {
	l.mu.Lock()
	calls, n, told := slices.Clone(l.calls), l.ended-int64(len(l.calls)), slices.Clone(l.told)
	l.mu.Unlock()
	list := make([]adapter.AgentCall, len(calls))
	for i, c := range calls {
		list[i] = c.Shown()
		list[i].N, list[i].Recalled = n+int64(i)+1, told
		hideTokens(&list[i])
	}
	return list
}

// addTold adds the namespaces of items that are passed to the agent. They are listed with the run's calls.
func (l *callLog) addTold(items []mapping.ItemName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, it := range items {
		if !slices.ContainsFunc(l.told, func(ns []string) bool { return slices.Equal(ns, it.Namespace) }) {
			l.told = append(l.told, it.Namespace)
		}
	}
}

// agentTime returns the total time during which at least one call was running.
func (l *callLog) agentTime() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open > 0 {
		return l.elapsed + time.Since(l.since)
	}
	return l.elapsed
}

// close frees the memory. Calls that end later are not kept.
func (l *callLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total.Add(-l.bytes)
	l.closed, l.calls, l.bytes = true, nil, 0
}

// hideTokens removes run tokens, which the bridge itself sent, from a call.
func hideTokens(c *adapter.AgentCall) {
	for _, p := range []*adapter.CallPart{&c.Sent, &c.Received} {
		p.SetBody(credential.HideRunTokens(p.Body))
	}
	c.URL, c.Error = string(credential.HideRunTokens([]byte(c.URL))), string(credential.HideRunTokens([]byte(c.Error)))
}

// captured reports whether the calls of a run are stored when it leaves this process with this status (statusOf).
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

// saveCalls stores the calls of a run that leaves this process with a status (statusOf). It is called before the end of
// the run is written; that write flushes them. A failure does not prevent the run from ending.
func (x *execution) saveCalls(ctx context.Context, status mapping.RunStatus) {
	if !captured(x.e.Capture(), status) {
		return
	}
	list := x.calls.list()
	if len(list) == 0 {
		return
	}
	rows := make([]store.RunCall, len(list))
	for i, one := range list {
		rows[i] = store.RunCall{N: one.N, Sent: one.Sent.Body, Received: one.Received.Body}
		var err error
		if rows[i].Head, err = json.Marshal(one); err != nil {
			x.callsNotSaved(err)
			return
		}
	}
	ctx, stop := context.WithTimeout(ctx, saveCallsWithin)
	defer stop()
	if err := x.store.Calls.Keep(ctx, x.Run.ID, x.Fence, rows); err != nil && !errors.Is(err, store.ErrFenced) {
		x.callsNotSaved(err)
	}
}

func (x *execution) callsNotSaved(err error) {
	x.e.logger.Warn("calls of a run could not be kept for the inspector", errField(err), runField(x.Run.ID), agentField(x.Run.Agent))
}

// Calls returns the calls of a run that are in memory. It returns false if this process does not execute the run.
func (e *Engine) Calls(runID string) ([]adapter.AgentCall, bool) {
	x := e.runs.find(runID)
	if x == nil {
		return nil, false
	}
	return x.calls.list(), true
}

// AgentTime returns the time during which at least one call of a run was open. It is 0 if this process does not execute the
// run.
func (e *Engine) AgentTime(runID string) time.Duration {
	x := e.runs.find(runID)
	if x == nil {
		return 0
	}
	return x.calls.agentTime()
}

// Capture returns the current value of inspector.capture.
func (e *Engine) Capture() string { return e.Config().Inspector.Capture }
