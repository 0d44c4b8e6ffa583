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
	keptBuffers     = 1024     // buffers without users, for readers that come later
	keptBuffer      = 1 << 20  // bytes of states and events of a buffer worth keeping
	keptBufferBytes = 64 << 20 // of all of them
	entryBytes      = 512      // what an entry takes beside its data
	keptFolds       = 512      // states by checkpoint id; checkpoints never change
	keptFoldBytes   = 64 << 20 // of all of them, as if they shared nothing
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
	live map[string]*RunBuffer // buffers that are read or written to
}

// Measure has f told how long after its publication an entry, or the oldest of several, was delivered to a reader that
// had waited for it. f is called before the next wait, after idle of Follow. Measure must be called before the first
// reader comes.
func (l *Log) Measure(f func(lag time.Duration)) { l.lag = f }

// keptState is a checkpoint's state, and how far it is from a snapshot.
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

// Acquire returns the buffer that the execution of a run publishes to. From then on readers wait for what it publishes
// instead of looking into the store. RunBuffer.Begin and at last Release must follow.
func (l *Log) Acquire(run *mapping.Run) *RunBuffer {
	t := l.use(run)
	t.own(1)
	return t
}

// Retain keeps in memory what is there of a run's log until release is called, so that what follows a position that was
// read need not come from the store.
func (l *Log) Retain(run *mapping.Run) (release func()) {
	t := l.use(run)
	return func() { l.leave(t) }
}

// Release gives back the buffer of Acquire. It is called when the execution has left the run: ended, parked, handed
// over, or fenced.
func (l *Log) Release(t *RunBuffer) {
	t.own(-1)
	l.leave(t)
}

// use returns the run's buffer, which stays the run's one buffer until all its users have left.
func (l *Log) use(run *mapping.Run) *RunBuffer {
	l.mu.Lock()
	defer l.mu.Unlock()
	t, ok := l.live[run.ID]
	if !ok {
		if t, ok = l.kept.take(run.ID); !ok {
			t = newRunBuffer(run)
			thread, id := run.ThreadID, run.ID // not all of the run, which the buffer has
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

// Evict forgets a deleted run and ends its readers.
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

// Wake has readers of a run look again: something was logged for it outside of this process's executions, or its
// standing changed.
func (l *Log) Wake(runID string) {
	l.mu.Lock()
	t := l.live[runID]
	l.mu.Unlock()
	if t != nil {
		t.wake()
		l.WakeThread(t.run.ThreadID)
	}
}

// WakeAll is Wake for every run that is followed, and WakeThread for every thread.
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

// Lookup returns a run whose buffer is in memory, as it was when it began; its status may have changed since. It must
// not be changed.
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

// State returns the fold of a checkpoint; "" is the head. An empty thread gives an empty fold and a zero checkpoint.
func (l *Log) State(ctx context.Context, threadID, checkpointID string) (*state.Fold, mapping.Checkpoint, error) {
	f, c, _, err := l.Distance(ctx, threadID, checkpointID)
	return f, c, err
}

// Distance is State that also returns how far the state is from a snapshot. A state that is in memory costs a look at
// its checkpoint.
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

// Base returns the fold of a checkpoint whose id is known, from memory where it is; "" is the empty state.
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

// Keep remembers the state of a checkpoint that was just made, at a distance from the newest snapshot of its line: zero
// where one is kept with it.
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
