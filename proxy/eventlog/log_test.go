package eventlog_test

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/apbridge/apbridge/proxy/store/storetest/blank"
	"go.uber.org/zap"
)

func TestMain(m *testing.M) { adaptertest.Main(m, blank.Drop) }

// bench is a log over a real file, with helpers that act as an execution.
type bench struct {
	*eventlog.Log
	t  *testing.T
	st *store.Store
}

func setup(t *testing.T) *bench {
	t.Helper()
	return open(t, blank.DSN(t))
}

func open(t *testing.T, database string) *bench {
	t.Helper()
	st, err := store.Open(t.Context(), database, store.Options{Synchronous: storetest.Synchronous(), Passed: storetest.Passed()}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	b := &bench{t: t, st: st}
	b.again()
	return b
}

// again clears everything in memory.
func (b *bench) again() {
	b.t.Helper()
	log, err := eventlog.New(b.st)
	if err != nil {
		b.t.Fatal(err)
	}
	b.Log = log
}

// create creates a run on a new thread. claimed means that this process executes it.
func (b *bench) create(claimed bool) *store.CreateRunResult {
	b.t.Helper()
	id, thread, empty := mapping.NewID(), mapping.NewID(), json.RawMessage(`{}`)
	n := &store.CreateRun{
		Run:    mapping.Run{ID: id, ThreadID: thread, TaskID: id, Agent: "a", Metadata: empty, Kwargs: empty},
		Thread: &mapping.Thread{ID: thread}, Task: &mapping.Task{ID: id, ThreadID: thread, Agent: "a"},
		Claim: claimed, Events: []mapping.Event{{Kind: mapping.KindStarted}},
	}
	c, err := b.st.Runs.Create(context.Background(), n)
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

// writer acts as an execution: it logs events and publishes them.
type writer struct {
	*bench
	run    mapping.Run
	fence  int64
	fold   *state.Fold
	buffer *eventlog.RunBuffer // nil if this process does not execute the run
}

func (b *bench) own(r mapping.Run, fence int64, logged []mapping.Event) *writer {
	w := b.elsewhere(r, fence)
	entries, err := eventlog.Fold(w.fold, logged)
	if err != nil {
		b.t.Error(err)
	}
	if n := len(entries); n > 0 {
		w.fold = entries[n-1].After
	}
	base, _ := state.NewFold(nil)
	w.buffer = b.Acquire(&r)
	w.buffer.Begin(base, entries)
	return w
}

func (b *bench) elsewhere(r mapping.Run, fence int64) *writer {
	base, _ := state.NewFold(nil)
	return &writer{bench: b, run: r, fence: fence, fold: base}
}

func (w *writer) add(evs ...mapping.Event) {
	a := store.Append{ThreadID: w.run.ThreadID, RunID: w.run.ID, Fence: w.fence, Events: evs}
	for _, ev := range evs {
		if ev.Kind == mapping.KindEnd {
			a.End = &store.End{Outcome: *ev.Head.Outcome, Thread: mapping.ThreadIdle}
		}
	}
	logged, _, err := w.st.Events.Append(context.Background(), a)
	if err != nil {
		w.t.Error(err)
		return
	}
	if w.buffer == nil {
		return
	}
	entries, err := eventlog.Fold(w.fold, logged)
	if err != nil {
		w.t.Error(err)
		return
	}
	w.fold = entries[len(entries)-1].After
	w.buffer.Publish(entries)
}

func (w *writer) end() {
	w.add(mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &mapping.Outcome{Status: mapping.RunSuccess}}})
	if w.buffer != nil {
		w.Release(w.buffer)
	}
}

// publish shows readers events after a position without logging them.
func (w *writer) publish(after int64, evs ...mapping.Event) {
	for i := range evs {
		evs[i].Seq, evs[i].RunID = after+int64(i)+1, w.run.ID
	}
	entries, err := eventlog.Fold(w.fold, evs)
	if err != nil {
		w.t.Error(err)
		return
	}
	w.buffer.Publish(entries)
}

// some returns n events, each of which changes the state.
func some(n, bytes int) []mapping.Event {
	evs := make([]mapping.Event, n)
	for i := range evs {
		evs[i] = mapping.Event{
			Kind: mapping.KindUpdate, Data: json.RawMessage(`{"n":` + strconv.Itoa(i) + `,"text":"` + strings.Repeat("x", bytes) + `"}`),
			Head: mapping.Head{Node: "step", Reduce: true},
		}
	}
	return evs
}

// reading follows a run in the background.
type reading struct {
	t    *testing.T
	got  chan *state.Entry // closed at the end
	err  error             // valid once got is closed
	stop context.CancelFunc
}

func (b *bench) follow(r mapping.Run, after int64) *reading {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	rd := &reading{t: b.t, got: make(chan *state.Entry), stop: stop}
	log := b.Log
	go func() {
		defer close(rd.got)
		for e, err := range log.Follow(ctx, &r, after, nil) {
			if err != nil {
				rd.err = err
				return
			}
			select {
			case rd.got <- e:
			case <-ctx.Done():
				rd.err = ctx.Err()
				return
			}
		}
	}()
	b.t.Cleanup(stop)
	return rd
}

// all reads the rest and checks that nothing is missing, duplicated, or folded differently than in the log.
func (rd *reading) all(after int64) []*state.Entry {
	rd.t.Helper()
	var list []*state.Entry
	for e := range rd.got {
		list = append(list, e)
	}
	if rd.err != nil {
		rd.t.Errorf("reading ended with %v", rd.err)
	}
	inOrder(rd.t, list, after)
	if n := len(list); n > 0 && list[n-1].Kind != mapping.KindEnd {
		rd.t.Errorf("the last entry is %s", list[n-1].Kind)
	}
	return list
}

func inOrder(t *testing.T, list []*state.Entry, after int64) {
	t.Helper()
	for i, e := range list {
		if e.Seq != after+int64(i)+1 {
			t.Fatalf("entry %d after %d has number %d", i, after, e.Seq)
		}
		if i > 0 && string(e.Before.JSON()) != string(list[i-1].After.JSON()) {
			t.Fatalf("entry %d does not begin where the previous one ends", i)
		}
	}
}

func same(t *testing.T, a, b []*state.Entry) {
	t.Helper()
	if len(a) != len(b) {
		t.Fatalf("%d entries and %d", len(a), len(b))
	}
	for i := range a {
		if a[i].Seq != b[i].Seq || a[i].Kind != b[i].Kind || string(a[i].After.JSON()) != string(b[i].After.JSON()) {
			t.Fatalf("entry %d differs", i)
		}
	}
}
