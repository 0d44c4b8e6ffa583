package eventlog

import (
	"context"
	"sync"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/store"
)

const (
	keptBuffers     = 1024     // buffers without users, for later readers
	keptBuffer      = 1 << 20  // maximum bytes of states and events of a kept buffer
	keptBufferBytes = 64 << 20 // of all kept buffers
	entryBytes      = 512      // overhead of an entry besides its data
	keptFolds       = 512      // states by checkpoint id; checkpoints never change
	keptFoldBytes   = 64 << 20 // of all of them, ignoring shared parts
)

// Log reads runs and states. Safe for concurrent use.
type Log struct {
	runs       *store.Runs
	states     *store.States
	events     *store.Events
	flush      func() error // store.Store.Flush
	folds      *cache[keptState]
	kept       *cache[*RunBuffer] // buffers without users
	lag        func(time.Duration)
	threadPoll time.Duration // see pollOf

	readers readers
	signals threadSignals

	mu   sync.Mutex
	live map[string]*RunBuffer // buffers with readers or writers
}

// Measure sets a function that receives the delay between the publication of an entry, or the oldest of several, and
// its delivery to a reader that had waited for it. f is called before the next wait, after idle of Follow. Measure must
// be called before the first reader starts.
func (l *Log) Measure(f func(lag time.Duration)) { l.lag = f }

// keptState is a checkpoint's state and its distance from a snapshot.
type keptState struct {
	fold     *state.Fold
	distance store.Distance
}

// New returns a Log over st.
func New(st *store.Store) (*Log, error) {
	folds, err := newCache[keptState](keptFolds, keptFoldBytes)
	if err != nil {
		return nil, err
	}
	kept, err := newCache[*RunBuffer](keptBuffers, keptBufferBytes)
	if err != nil {
		return nil, err
	}
	return &Log{
		runs: st.Runs, states: st.States, events: st.Events, flush: st.Flush,
		folds: folds, kept: kept, threadPoll: pollOf(st.Shared()), live: map[string]*RunBuffer{},
	}, nil
}

// Acquire returns the buffer to which the execution of a run publishes. From then on readers wait for its entries
// instead of querying the store. The caller must call RunBuffer.Begin and finally Release.
func (l *Log) Acquire(run *mapping.Run) *RunBuffer {
	t := l.use(run)
	t.own(1)
	return t
}

// Retain keeps the run's buffer in memory until release is called, so that entries after a position need not be read
// from the store.
func (l *Log) Retain(run *mapping.Run) (release func()) {
	t := l.use(run)
	return func() { l.leave(t) }
}

// Release returns the buffer of Acquire. It is called when the execution has left the run: ended, parked, handed over,
// or fenced.
func (l *Log) Release(t *RunBuffer) {
	t.own(-1)
	l.leave(t)
}

// use returns the run's buffer, which remains its only buffer until all users have left.
func (l *Log) use(run *mapping.Run) *RunBuffer {
	l.mu.Lock()
	defer l.mu.Unlock()
	t, ok := l.live[run.ID]
	if !ok {
		if t, ok = l.kept.take(run.ID); !ok {
			t = newRunBuffer(run)
			thread, id := run.ThreadID, run.ID // does not capture the whole run, which the buffer has
			t.published = func() { l.signals.notify(thread, id) }
		}
		l.live[run.ID] = t
	}
	t.users++
	return t
}

// leave moves a buffer without users to the bounded cache.
func (l *Log) leave(t *RunBuffer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.users--; t.users > 0 || l.live[t.run.ID] != t {
		return
	}
	delete(l.live, t.run.ID)
	if bytes, worth := t.cacheCost(); worth {
		l.kept.add(t.run.ID, t, bytes)
	}
}

// Evict drops a deleted run and ends its readers.
func (l *Log) Evict(runID string) {
	l.mu.Lock()
	t, ok := l.live[runID]
	delete(l.live, runID)
	if !ok {
		t, ok = l.kept.take(runID)
	}
	l.mu.Unlock()
	if ok {
		t.remove()
		l.WakeThread(t.run.ThreadID)
	}
}

// Wake makes readers of a run look again, because something was logged for it outside of this process's executions or
// its status changed.
func (l *Log) Wake(runID string) {
	l.mu.Lock()
	t := l.live[runID]
	l.mu.Unlock()
	if t != nil {
		t.wake()
		l.WakeThread(t.run.ThreadID)
	}
}

// WakeAll calls Wake for every followed run, and WakeThread for every thread.
func (l *Log) WakeAll() {
	l.mu.Lock()
	buffers := make([]*RunBuffer, 0, len(l.live))
	for _, t := range l.live {
		buffers = append(buffers, t)
	}
	l.mu.Unlock()
	for _, t := range buffers {
		t.wake()
	}
	l.signals.notifyAll()
}

// Lookup returns a run whose buffer is in memory, as it was when the buffer was created. Its status may have changed
// since. The caller must not modify it.
func (l *Log) Lookup(runID string) (*mapping.Run, bool) {
	l.mu.Lock()
	t, ok := l.live[runID]
	l.mu.Unlock()
	if !ok {
		if t, ok = l.kept.get(runID); !ok {
			return nil, false
		}
	}
	return &t.run, true
}

// State returns the fold of a checkpoint. An empty id means the head. For an empty thread it returns an empty fold and
// the zero checkpoint.
func (l *Log) State(ctx context.Context, threadID, checkpointID string) (*state.Fold, mapping.Checkpoint, error) {
	f, c, _, err := l.Distance(ctx, threadID, checkpointID)
	return f, c, err
}

// Distance is like State, but also returns the state's distance from a snapshot. For a state in memory it reads only
// the checkpoint.
func (l *Log) Distance(ctx context.Context, threadID, checkpointID string) (*state.Fold, mapping.Checkpoint, store.Distance, error) {
	c, err := l.states.Checkpoint(ctx, threadID, checkpointID)
	if err != nil {
		return nil, mapping.Checkpoint{}, store.Distance{}, err
	}
	if k, ok := l.folds.get(c.ID); ok {
		return k.fold, c, k.distance, nil
	}
	s, err := l.states.At(ctx, threadID, checkpointID)
	if err != nil {
		return nil, mapping.Checkpoint{}, store.Distance{}, err
	}
	f, err := FoldState(s)
	if err == nil && s.Checkpoint.ID != "" {
		l.Keep(s.Checkpoint.ID, f, s.Distance())
	}
	return f, s.Checkpoint, s.Distance(), err
}

// Base returns the fold of a checkpoint with a known id, from memory if possible. An empty id means the empty state.
func (l *Log) Base(ctx context.Context, threadID, checkpointID string) (*state.Fold, error) {
	if checkpointID == "" {
		return state.NewFold(nil)
	}
	if k, ok := l.folds.get(checkpointID); ok {
		return k.fold, nil
	}
	f, _, err := l.State(ctx, threadID, checkpointID)
	return f, err
}

// Keep caches the state of a new checkpoint with its distance from the newest snapshot of its line, which is zero if it
// has its own.
func (l *Log) Keep(checkpointID string, f *state.Fold, d store.Distance) {
	l.folds.add(checkpointID, keptState{f, d}, f.Size())
}

// FoldState folds a stored state.
func FoldState(s store.State) (*state.Fold, error) {
	f, err := state.NewFold(s.Snapshot)
	if err != nil {
		return nil, err
	}
	return f.ApplyAll(s.Events)
}
