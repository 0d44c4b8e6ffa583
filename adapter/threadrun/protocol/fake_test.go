package protocol

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
	"go.uber.org/zap"
)

// at is the time of all events in these tests.
var at = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

func uuid(n int) string { return fmt.Sprintf("00000000-0000-7000-8000-%012d", n) }

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// world is an adapter.Service with one thread, whose log is written by the test.
type world struct {
	adapter.Service // nil, because other methods are not called

	mu      sync.Mutex
	thread  string // "" if it does not exist yet
	runs    map[string]mapping.Run
	order   []string
	entries []*state.Entry
	fold    *state.Fold
	changed chan struct{} // closed and renewed with every entry
	open    []mapping.Interrupt
	state   adapter.ThreadState
	history []adapter.ThreadState

	payloads []string // of runs that were started
	headers  []http.Header
	startErr error
	losses   []mapping.Loss
	broken   error // error of reading the log
	kept     int64 // entries up to here are deleted
	read     int   // entries that were read by streams
}

func newWorld() *world {
	fold, _ := state.NewFold(nil)
	return &world{thread: uuid(1), runs: map[string]mapping.Run{}, fold: fold, changed: make(chan struct{})}
}

// play logs a run's events.
func (w *world) play(run mapping.Run, events ...mapping.Event) *world {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.runs[run.ID]; !ok && run.ID != "" {
		run.ThreadID = w.thread
		w.runs[run.ID] = run
		w.order = append(w.order, run.ID)
	}
	for _, ev := range events {
		ev.Seq, ev.RunID, ev.At = int64(len(w.entries)+1), run.ID, at
		next, err := w.fold.Apply(&ev)
		if err != nil {
			panic(err)
		}
		w.entries = append(w.entries, &state.Entry{Event: ev, Before: w.fold, After: next})
		w.fold = next
	}
	w.ring()
	return w
}

func (w *world) ring() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// make creates the thread.
func (w *world) make(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.thread = id
	w.ring()
}

func (w *world) server() *Server {
	return &Server{
		Service: w,
		Start:   w.start, Log: zap.NewNop(), Depth: 50, Message: 1 << 20, Heartbeat: time.Minute,
	}
}

func (w *world) start(_ context.Context, asked Start) (*adapter.Started, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.startErr != nil {
		return nil, w.startErr
	}
	w.thread = asked.Thread
	payload := asked.Payload
	if asked.Answers {
		payload = append([]byte("answers "), payload...)
	}
	w.ring()
	w.payloads, w.headers = append(w.payloads, string(payload)), append(w.headers, asked.Header)
	run := mapping.Run{ID: uuid(100 + len(w.payloads)), ThreadID: asked.Thread, Agent: "graph", AssistantID: uuid(7)}
	return &adapter.Started{Run: run, Losses: w.losses}, nil
}

func noThread() error {
	return mapping.Errorf(mapping.NotFound, mapping.CodeThreadNotFound, "There is no such thread.")
}

func (w *world) ThreadPosition(_ context.Context, id string, after adapter.Cursor) (adapter.Cursor, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != nil {
		return after, w.broken
	}
	if id != w.thread {
		return after, noThread()
	}
	if after.Live {
		after.Seq = int64(len(w.entries))
	}
	return after, nil
}

// ThreadReplayStart searches the log for the runs that are active at a position.
func (w *world) ThreadReplayStart(_ context.Context, _ string, after adapter.Cursor) (o adapter.ReplayStart, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !after.Start && after.Seq < w.kept {
		return o, mapping.Errorf(mapping.Malformed, mapping.CodeCursorExpired, "It is not kept.")
	}
	o.At = adapter.Cursor{Seq: max(after.Seq-1, w.kept), K: -1}
	begun := map[string]int64{}
	for _, e := range w.entries[:max(after.Seq-1, 0)] {
		if e.Kind == mapping.KindStarted && begun[e.RunID] == 0 {
			begun[e.RunID] = e.Seq
		}
		if e.Kind == mapping.KindEnd {
			delete(begun, e.RunID)
		}
	}
	for _, seq := range begun {
		o.At.Seq = min(o.At.Seq, seq-1)
	}
	for _, e := range w.entries[:o.At.Seq] {
		if cp := e.Head.Checkpoint; cp != nil {
			o.Checkpoints = append(o.Checkpoints, *cp)
		}
	}
	return o, nil
}

func (w *world) AwaitThread(ctx context.Context, id string) error {
	for {
		w.mu.Lock()
		there, changed, broken := id == w.thread, w.changed, w.broken
		w.mu.Unlock()
		if there || broken != nil {
			return broken
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (w *world) ThreadEvents(ctx context.Context, id string, after adapter.Cursor, idle func()) iter.Seq2[*state.Entry, error] {
	return w.follow(ctx, after.Seq, idle, func(*state.Entry) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.read++
		return true
	})
}

func (w *world) follow(ctx context.Context, after int64, idle func(), wanted func(*state.Entry) bool) iter.Seq2[*state.Entry, error] {
	return func(yield func(*state.Entry, error) bool) {
		for next := int(after); ; {
			w.mu.Lock()
			entries, changed, gone := w.entries, w.changed, w.thread == ""
			w.mu.Unlock()
			for ; next < len(entries); next++ {
				if wanted(entries[next]) && !yield(entries[next], nil) {
					return
				}
			}
			if gone {
				yield(nil, noThread())
				return
			}
			if idle != nil {
				idle()
			}
			select {
			case <-changed:
			case <-ctx.Done():
				yield(nil, ctx.Err())
				return
			}
		}
	}
}

func (w *world) GetRun(_ context.Context, ref adapter.RunRef) (*mapping.Run, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if run, ok := w.runs[ref.RunID]; ok {
		return &run, nil
	}
	return nil, mapping.Errorf(mapping.NotFound, mapping.CodeRunNotFound, "There is no such run.")
}

func (w *world) FindRepeatedRun(context.Context, *adapter.RunRequest) (*adapter.Started, error) {
	return nil, nil
}

func (w *world) RunEvents(ctx context.Context, ref adapter.RunRef, _ adapter.Cursor, idle func()) iter.Seq2[*state.Entry, error] {
	return w.follow(ctx, 0, idle, func(e *state.Entry) bool { return e.RunID == ref.RunID })
}

func (w *world) ListRuns(context.Context, mapping.RunQuery) iter.Seq2[mapping.Run, error] {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.thread == "" {
		return adapter.NoList[mapping.Run](noThread())
	}
	var list []mapping.Run
	for _, id := range slices.Backward(w.order) {
		list = append(list, w.runs[id])
	}
	return adapter.List(list)
}

func (w *world) SearchThreads(context.Context, adapter.ThreadSearch) (iter.Seq2[mapping.Thread, error], int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return func(yield func(mapping.Thread, error) bool) {
		if w.thread != "" {
			status := mapping.ThreadIdle
			if len(w.open) > 0 {
				status = mapping.ThreadInterrupted
			}
			open := slices.Clone(w.open)
			for i := range open {
				open[i].Run = cmp.Or(open[i].Run, w.order[len(w.order)-1]) // the newest run asked
			}
			yield(mapping.Thread{ID: w.thread, Status: status, Interrupts: open}, nil)
		}
	}, 1, nil
}

func (w *world) GetStateWithTasks(ctx context.Context, id, checkpoint string) (adapter.ThreadState, error) {
	return w.GetState(ctx, id, checkpoint)
}

func (w *world) GetState(context.Context, string, string) (adapter.ThreadState, error) {
	if w.thread == "" {
		return adapter.ThreadState{}, noThread()
	}
	return w.state, nil
}

// GetInnerState knows one graph, two levels deep.
func (w *world) GetInnerState(_ context.Context, _ string, at adapter.InnerPoint, _ bool) (json.RawMessage, error) {
	if at.NS != "inner:1|deep:2" {
		return nil, nil
	}
	return json.RawMessage(`{"values":{"a":1,"b":2},"created_at":"2026-11-28T17:45:26.129Z","metadata":{"step":1},"checkpoint":{"checkpoint_id":"` + uuid(61) + `"}}`), nil
}

func (w *world) InnerStateHistory(ctx context.Context, thread string, at adapter.InnerPoint, _ adapter.HistoryQuery) ([]json.RawMessage, error) {
	st, err := w.GetInnerState(ctx, thread, at, false)
	return []json.RawMessage{st}, err
}

func (w *world) StateHistory(_ context.Context, _ string, q adapter.HistoryQuery) iter.Seq2[adapter.ThreadState, error] {
	return func(yield func(adapter.ThreadState, error) bool) {
		if q.Before == uuid(404) {
			yield(adapter.ThreadState{}, mapping.Errorf(mapping.NotFound, mapping.CodeCheckpointNotFound, "There is no such checkpoint."))
			return
		}
		source := rawjson.GetText(q.Metadata, "source")
		for i, st := range w.history {
			if q.Limit > 0 && i >= q.Limit {
				return
			}
			if source != "" && rawjson.GetText(st.Metadata, "source") != source {
				continue
			}
			if !yield(st, nil) {
				return
			}
		}
	}
}

func (*world) GetAssistant(_ context.Context, id string) (mapping.Assistant, error) {
	graph := id
	if id == "a" { // an assistant of the graph
		graph = "graph"
	}
	a := mapping.Assistant{ID: uuid(7), Graph: graph}
	if id == "legacy" {
		a.Exposes = mapping.ExposesNothing
	}
	return a, nil
}

// ask sends one command and returns the reply.
func ask(t *testing.T, w *world, command string) string {
	t.Helper()
	got, err := w.server().Command(t.Context(), uuid(1), http.Header{}, raw(command))
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return string(got.Body)
}
