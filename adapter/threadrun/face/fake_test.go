package face

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/gorilla/mux"
	"go.uber.org/zap"
)

// at is the time of everything in these tests.
var at = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

// uuid returns readable, fixed ids.
func uuid(n int) string { return fmt.Sprintf("00000000-0000-7000-8000-%012d", n) }

// fake is an adapter.Service in memory. Runs play a script of events.
type fake struct {
	adapter.Service // nil, because other methods are not called

	mu      sync.Mutex
	ids     int
	threads map[string]mapping.Thread
	runs    map[string]*fakeRun
	order   []string // run ids
	items   []mapping.Item
	crons   []mapping.Cron
	agents  []mapping.Assistant
	written []string // calls that change something

	script    func(run mapping.Run) []mapping.Event
	startErr  error
	losses    []mapping.Loss
	lastRun   adapter.RunRequest
	lastQuery any
	lastCron  adapter.CronRequest
	cancelled chan string
	breakAt   int // reading events fails after this many
	readers   int // how often events were read
}

type fakeRun struct {
	run     mapping.Run
	entries []*state.Entry
	fold    *state.Fold
	changed chan struct{} // closed and renewed with every entry
	gone    bool
}

func newFake() *fake {
	f := &fake{threads: map[string]mapping.Thread{}, runs: map[string]*fakeRun{}, script: twoSteps, cancelled: make(chan string, 8)}
	exposes := map[string]mapping.Exposure{"legacy": mapping.ExposesNothing, "graph": mapping.ExposesValues}
	for _, name := range []string{"legacy", "graph"} {
		f.agents = append(f.agents, mapping.Assistant{
			ID: mapping.AssistantID(name), Graph: name, Name: name, Metadata: raw(`{}`), Version: 1,
			Configured: true, CreatedAt: at, UpdatedAt: at, Exposes: exposes[name],
		})
	}
	return f
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// serve mounts the face on a real listener. change may adjust the server.
func (f *fake) serve(t *testing.T, change ...func(*server)) *httptest.Server {
	t.Helper()
	s := &server{svc: f, log: zap.NewNop(), waitBeat: time.Minute, face: adapter.Face{
		Limits: config.Limits{Body: 1 << 20, MaxJSONDepth: 50}, Version: "test", Heartbeat: time.Minute,
	}}
	for _, c := range change {
		c(s)
	}
	r := mux.NewRouter().SkipClean(true)
	s.mount(r)
	srv := httptest.NewServer(r)
	t.Cleanup(srv.Close)
	return srv
}

func (f *fake) note(call string) { f.written = append(f.written, call) }

func (f *fake) newID() string { f.ids++; return uuid(f.ids) }

func notFound(code, what string) error {
	return mapping.Errorf(mapping.NotFound, code, "There is no such %s.", what)
}

// addThread adds a thread with values.
func (f *fake) addThread(id, values string) mapping.Thread {
	t := mapping.Thread{ID: id, Metadata: raw(`{}`), Config: raw(`{}`), Status: mapping.ThreadIdle, Values: raw(values), CreatedAt: at, UpdatedAt: at}
	f.threads[id] = t
	return t
}

// addRun adds a run with entries for its script, up to n of them (-1: all).
func (f *fake) addRun(run mapping.Run, n int) *fakeRun {
	fold, _ := state.NewFold(nil)
	fr := &fakeRun{run: run, fold: fold, changed: make(chan struct{})}
	f.runs[run.ID] = fr
	f.order = append(f.order, run.ID)
	for i, ev := range f.script(run) {
		if i == n {
			break
		}
		f.push(fr, ev)
	}
	return fr
}

func (f *fake) push(fr *fakeRun, ev mapping.Event) {
	ev.Seq, ev.RunID = int64(len(fr.entries)+1), fr.run.ID
	if ev.At.IsZero() {
		ev.At = at
	}
	next, err := fr.fold.Apply(&ev)
	if err != nil {
		panic(err)
	}
	fr.entries = append(fr.entries, &state.Entry{Event: ev, Before: fr.fold, After: next})
	fr.fold = next
	if ev.Kind == mapping.KindEnd {
		fr.run.Status, fr.run.Fault = ev.Head.Outcome.Status, ev.Head.Outcome.Fault
	}
	close(fr.changed)
	fr.changed = make(chan struct{})
}

// more logs the next event of an active run.
func (f *fake) more(id string, ev mapping.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.push(f.runs[id], ev)
}

func (f *fake) CreateThread(_ context.Context, n adapter.ThreadRequest) (mapping.Thread, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lastQuery = n
	f.note("threads.create")
	if n.ID == "" {
		n.ID = f.newID()
	} else if t, ok := f.threads[n.ID]; ok {
		if n.OrGet {
			return t, nil
		}
		return t, mapping.Errorf(mapping.Conflict, "thread_exists", "A thread with this id exists.")
	}
	t := f.addThread(n.ID, "")
	if n.Metadata != nil {
		t.Metadata = n.Metadata
		f.threads[n.ID] = t
	}
	return t, nil
}

func (f *fake) GetThread(_ context.Context, id string) (mapping.Thread, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if t, ok := f.threads[id]; ok {
		return t, nil
	}
	return mapping.Thread{}, notFound(mapping.CodeThreadNotFound, "thread")
}

func (f *fake) ThreadStorage(ctx context.Context, id string) (adapter.ThreadStorage, error) {
	_, err := f.GetThread(ctx, id)
	return adapter.ThreadStorage{ThreadID: id}, err
}

func (f *fake) PatchThread(ctx context.Context, id string, p adapter.ThreadPatch) (mapping.Thread, error) {
	f.lastQuery = p
	f.note("threads.patch")
	return f.GetThread(ctx, id)
}

func (f *fake) DeleteThread(ctx context.Context, id string) error {
	if _, err := f.GetThread(ctx, id); err != nil {
		return err
	}
	f.note("threads.delete")
	delete(f.threads, id)
	return nil
}

func (f *fake) CopyThread(ctx context.Context, id, _ string) (mapping.Thread, error) {
	t, err := f.GetThread(ctx, id)
	if err != nil {
		return t, err
	}
	f.note("threads.copy")
	t.ID = uuid(900)
	return t, nil
}

func (f *fake) SearchThreads(_ context.Context, q adapter.ThreadSearch) (iter.Seq2[mapping.Thread, error], int, error) {
	f.lastQuery = q
	var out []mapping.Thread
	for _, t := range f.threads {
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b mapping.Thread) int { return compare(a.ID, b.ID) })
	total := len(out)
	return func(yield func(mapping.Thread, error) bool) {
		for _, t := range out[min(q.Offset, total):min(q.Offset+q.Limit, total)] {
			if !yield(t, nil) {
				return
			}
		}
	}, total, nil
}

func compare(a, b string) int {
	if a < b {
		return -1
	}
	return 1
}

func (f *fake) CountThreads(_ context.Context, q adapter.ThreadSearch) (int, error) {
	f.lastQuery = q
	return len(f.threads), nil
}

func (f *fake) state(id string) adapter.ThreadState {
	return adapter.ThreadState{
		ThreadID: id, Values: f.threads[id].Values, Next: []string{"step"},
		Tasks:      raw(`[{"id":"` + uuid(70) + `","name":"step","error":null,"interrupts":[],"path":["__pregel_pull","step"],"checkpoint":null,"state":null,"result":null}]`),
		Metadata:   raw(`{"source":"loop","step":0,"parents":{}}`),
		CreatedAt:  at,
		Checkpoint: uuid(51), Parent: uuid(50),
	}
}

func (f *fake) GetStateWithTasks(ctx context.Context, id, checkpoint string) (adapter.ThreadState, error) {
	return f.GetState(ctx, id, checkpoint)
}

func (f *fake) GetState(_ context.Context, id, checkpoint string) (adapter.ThreadState, error) {
	f.lastQuery = checkpoint
	t, ok := f.threads[id]
	switch {
	case !ok:
		return adapter.ThreadState{}, notFound(mapping.CodeThreadNotFound, "thread")
	case len(t.Values) == 0:
		return adapter.ThreadState{ThreadID: id, Values: raw(`{}`), Tasks: raw(`[]`), Metadata: raw(`{}`)}, nil
	default:
		return f.state(id), nil
	}
}

func (f *fake) GetDeepState(_ context.Context, id, checkpoint string) (adapter.ThreadState, error) {
	f.lastQuery = "deep " + checkpoint
	return f.state(id), nil
}

// Inner knows one inner graph, "node:1".
func (f *fake) GetInnerState(_ context.Context, id string, at adapter.InnerPoint, deep bool) (json.RawMessage, error) {
	f.lastQuery = fmt.Sprint(at, deep)
	if at.NS != "node:1" {
		return nil, nil
	}
	return raw(`{"values":{"a":1,"b":2},"next":["x"],"tasks":[],"checkpoint":{"thread_id":"` + id + `","checkpoint_ns":"node:1","checkpoint_id":"` + uuid(61) + `"}}`), nil
}

func (f *fake) InnerStateHistory(ctx context.Context, id string, at adapter.InnerPoint, q adapter.HistoryQuery) ([]json.RawMessage, error) {
	st, err := f.GetInnerState(ctx, id, at, false)
	f.lastQuery = fmt.Sprint(at, q.Limit, q.Before, string(q.Metadata))
	if st == nil {
		return nil, err
	}
	return []json.RawMessage{st}, err
}

func (f *fake) UpdateInnerState(_ context.Context, id string, at adapter.InnerPoint, u adapter.StateUpdate) (json.RawMessage, error) {
	f.lastQuery = fmt.Sprint(at, string(u.Values), len(u.Then), u.AsNode)
	return raw(`{"thread_id":"` + id + `","checkpoint_ns":"` + at.NS + `","checkpoint_id":"` + uuid(62) + `"}`), nil
}

func (f *fake) StateHistory(_ context.Context, id string, q adapter.HistoryQuery) iter.Seq2[adapter.ThreadState, error] {
	return func(yield func(adapter.ThreadState, error) bool) {
		f.lastQuery = q
		if _, ok := f.threads[id]; !ok {
			yield(adapter.ThreadState{}, notFound(mapping.CodeThreadNotFound, "thread"))
			return
		}
		yield(f.state(id), nil)
	}
}

func (f *fake) UpdateState(_ context.Context, id string, u adapter.StateUpdate) (mapping.Checkpoint, error) {
	f.lastQuery = u
	if _, ok := f.threads[id]; !ok {
		return mapping.Checkpoint{}, notFound(mapping.CodeThreadNotFound, "thread")
	}
	f.note("states.update")
	return mapping.Checkpoint{ID: uuid(52)}, nil
}

func (f *fake) StartRun(_ context.Context, n *adapter.RunRequest) (*adapter.Started, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lastRun = *n
	if f.startErr != nil {
		return nil, f.startErr
	}
	f.note("runs.start")
	agent := n.Agent
	if agent == "" {
		agent = "legacy"
	}
	thread := n.ThreadID
	if thread == "" {
		thread = f.newID()
	}
	run := mapping.Run{
		ID: f.newID(), ThreadID: thread, Agent: agent, AssistantID: mapping.AssistantID(agent), Status: mapping.RunPending,
		Metadata: raw(`{}`), Kwargs: n.Kwargs, Flavour: n.Flavour, CreatedAt: at, UpdatedAt: at,
		Options: mapping.RunOptions{StreamModes: n.StreamModes, Subgraphs: n.Subgraphs},
	}
	f.addRun(run, -1)
	return &adapter.Started{Run: run, Losses: f.losses}, nil
}

func (f *fake) StartRuns(ctx context.Context, list []adapter.RunRequest) (out []*adapter.Started, err error) {
	for _, n := range list {
		st, err := f.StartRun(ctx, &n)
		if err != nil {
			return nil, err
		}
		out = append(out, st)
	}
	return out, nil
}

func (f *fake) find(ref adapter.RunRef) (*fakeRun, error) {
	fr, ok := f.runs[ref.RunID]
	if !ok || ref.ThreadID != "" && fr.run.ThreadID != ref.ThreadID {
		return nil, notFound(mapping.CodeRunNotFound, "run")
	}
	return fr, nil
}

func (f *fake) ExplainRun(_ context.Context, ref adapter.RunRef) (adapter.Explanation, error) {
	r, err := f.find(ref)
	if err != nil {
		return adapter.Explanation{}, err
	}
	return adapter.Explanation{RunID: r.run.ID, ThreadID: r.run.ThreadID, Status: r.run.Status, Reason: adapter.ReasonFinished}, nil
}

func (f *fake) GetRun(_ context.Context, ref adapter.RunRef) (*mapping.Run, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fr, err := f.find(ref)
	if err != nil {
		return nil, err
	}
	run := fr.run
	return &run, nil
}

func (f *fake) CancelRun(_ context.Context, ref adapter.RunRef, _ adapter.CancelOptions) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	fr, err := f.find(ref)
	if err != nil {
		return err
	}
	f.note("runs.cancel")
	if !fr.run.Status.Active() {
		return mapping.Errorf(mapping.Conflict, "run_ended", "The run has ended.")
	}
	f.push(fr, mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &mapping.Outcome{Status: mapping.RunInterrupted, Cancelled: true}}})
	f.cancelled <- ref.RunID
	return nil
}

func (f *fake) DeleteRun(_ context.Context, ref adapter.RunRef) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	fr, err := f.find(ref)
	if err != nil {
		return err
	}
	f.note("runs.delete")
	fr.gone = true
	close(fr.changed)
	delete(f.runs, ref.RunID)
	return nil
}

func (f *fake) RunEvents(ctx context.Context, ref adapter.RunRef, after adapter.Cursor, idle func()) iter.Seq2[*state.Entry, error] {
	return func(yield func(*state.Entry, error) bool) {
		f.mu.Lock()
		f.readers++
		fr, err := f.find(ref)
		next, err := f.from(fr, after, err)
		f.mu.Unlock()
		if err != nil {
			yield(nil, err)
			return
		}
		for {
			f.mu.Lock()
			entries, changed, gone := fr.entries, fr.changed, fr.gone
			f.mu.Unlock()
			for ; next < len(entries); next++ {
				if f.breakAt > 0 && next == f.breakAt {
					break
				}
				if !yield(entries[next], nil) || entries[next].Kind == mapping.KindEnd {
					return
				}
			}
			if f.breakAt > 0 && next >= f.breakAt {
				yield(nil, mapping.Classify(errors.New("the disk is on fire")))
				return
			}
			if n := len(entries); n > 0 && entries[n-1].Kind == mapping.KindEnd {
				return
			}
			if gone {
				yield(nil, notFound(mapping.CodeRunNotFound, "run"))
				return
			}
			if idle != nil {
				idle()
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}
}

// from returns the index of the first entry after a cursor.
func (f *fake) from(fr *fakeRun, after adapter.Cursor, err error) (int, error) {
	switch {
	case err != nil:
		return 0, err
	case after.Start:
		return 0, nil
	case after.Live:
		return len(fr.entries), nil
	case after.Seq > int64(len(fr.entries)):
		return 0, mapping.Errorf(mapping.Malformed, "invalid_cursor", "That event has not happened yet.")
	case after.K >= 0:
		return int(after.Seq) - 1, nil
	default:
		return int(after.Seq), nil
	}
}

func (f *fake) ListRuns(_ context.Context, q mapping.RunQuery) iter.Seq2[mapping.Run, error] {
	list, err := f.list(q)
	if err != nil {
		return adapter.NoList[mapping.Run](err)
	}
	return adapter.List(list)
}

func (f *fake) list(q mapping.RunQuery) ([]mapping.Run, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lastQuery = q
	if q.ThreadID != "" {
		if _, ok := f.threads[q.ThreadID]; !ok {
			return nil, notFound(mapping.CodeThreadNotFound, "thread")
		}
	}
	var out []mapping.Run
	for _, id := range slices.Backward(f.order) {
		fr := f.runs[id]
		if fr == nil || q.ThreadID != "" && fr.run.ThreadID != q.ThreadID || len(q.Status) > 0 && !slices.Contains(q.Status, fr.run.Status) {
			continue
		}
		out = append(out, fr.run)
	}
	if q.Limit == 0 {
		q.Limit = len(out)
	}
	return out[min(q.Offset, len(out)):min(q.Offset+q.Limit, len(out))], nil
}

type itemRead struct {
	Namespace []string
	Key       string
	Refresh   *bool
}

func (f *fake) PutItem(_ context.Context, p adapter.PutItem) error {
	f.note("items.put")
	if len(p.Index) > 0 {
		p.Lost.Approximated("index")
	}
	p.Lost = nil // functions cannot be compared
	f.lastQuery = p
	f.items = append(f.items, mapping.Item{Namespace: p.Namespace, Key: p.Key, Value: p.Value, CreatedAt: at, UpdatedAt: at})
	return nil
}

func (f *fake) GetItem(_ context.Context, namespace []string, key string, refresh *bool) (mapping.Item, error) {
	f.lastQuery = itemRead{namespace, key, refresh}
	for _, it := range f.items {
		if it.Key == key && slices.Equal(it.Namespace, namespace) {
			return it, nil
		}
	}
	return mapping.Item{}, notFound(mapping.CodeItemNotFound, "item")
}

func (f *fake) DeleteItem(ctx context.Context, namespace []string, key string) error {
	if _, err := f.GetItem(ctx, namespace, key, nil); err != nil {
		return err
	}
	f.note("items.delete")
	f.items = nil
	return nil
}

func (f *fake) SearchItems(_ context.Context, q adapter.ItemQuery) iter.Seq2[mapping.Item, error] {
	lost := q.Lost
	q.Lost = nil // functions cannot be compared
	f.lastQuery = q
	return func(yield func(mapping.Item, error) bool) {
		if q.Query != "" {
			lost.Approximated("query")
		}
		for _, it := range f.items {
			if !yield(it, nil) {
				return
			}
		}
	}
}

func (f *fake) ListNamespaces(_ context.Context, q adapter.NamespaceQuery) ([][]string, error) {
	f.lastQuery = q
	var out [][]string
	for _, it := range f.items {
		out = append(out, it.Namespace)
	}
	return out, nil
}

func (f *fake) GetAssistant(_ context.Context, id string) (mapping.Assistant, error) {
	for _, a := range f.agents {
		if id == "" || a.ID == id || a.Graph == id {
			return a, nil
		}
	}
	return mapping.Assistant{}, notFound(mapping.CodeAgentNotFound, "agent")
}

func (f *fake) SearchAssistants(_ context.Context, q adapter.AgentQuery) ([]mapping.Assistant, int, error) {
	f.lastQuery = q
	return f.agents[min(q.Offset, 2):min(q.Offset+q.Limit, 2)], 2, nil
}

func (f *fake) AgentSchemas(context.Context, string) (mapping.Schemas, error) {
	s := raw(`{"type":"object"}`)
	return mapping.Schemas{Input: s, Output: s, State: s, Config: s, Context: s}, nil
}

func (f *fake) AgentGraph(_ context.Context, _, xray string) (json.RawMessage, error) {
	f.lastQuery = xray
	return raw(`{"nodes":[],"edges":[]}`), nil
}

func (f *fake) AgentSubgraphs(_ context.Context, _, namespace string, recurse bool) (json.RawMessage, error) {
	f.lastQuery = [2]any{namespace, recurse}
	return raw(`{}`), nil
}
