package eventlog

import (
	"context"
	"sync"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	keptTails = 1024    // ended runs whose tails stay for late readers
	maxTail   = 1 << 20 // bytes of states and events of a tail worth keeping
	keptFolds = 512     // states by checkpoint id; checkpoints never change
)

// Log reads runs and states. Safe for concurrent use.
type Log struct {
	st    *store.Store
	folds *lru.Cache[string, *mapping.Fold]
	ended *lru.Cache[string, *Tail]

	readers readers

	mu   sync.Mutex
	live map[string]*Tail // runs that have not ended, as far as this process knows
}

// New makes a Log over st.
func New(st *store.Store) (*Log, error) {
	folds, err := lru.New[string, *mapping.Fold](keptFolds)
	if err != nil {
		return nil, err
	}
	ended, err := lru.New[string, *Tail](keptTails)
	if err != nil {
		return nil, err
	}
	return &Log{st: st, folds: folds, ended: ended, live: map[string]*Tail{}}, nil
}

// Adopt takes a run's tail over for an execution that is about to begin:
// readers wait for what it publishes instead of looking into the store. Own
// must follow.
func (l *Log) Adopt(run mapping.Run) *Tail {
	t := l.tail(run)
	t.setOwned(true)
	return t
}

// Own returns the tail that the execution of a run publishes to. base is the
// state before the run's first event; entries already logged are given when
// the run is picked up again.
func (l *Log) Own(run mapping.Run, base *mapping.Fold, logged []*mapping.Entry) *Tail {
	t := l.tail(run)
	t.setBase(base)
	t.Publish(logged)
	t.setOwned(true)
	return t
}

// Disown is called when the execution left the run without ending it: parked,
// handed over, or fenced.
func (l *Log) Disown(t *Tail) { t.setOwned(false) }

// Ended moves the tail of an ended run to the bounded cache.
func (l *Log) Ended(t *Tail) {
	t.setOwned(false)
	if t.weight() <= maxTail {
		l.ended.Add(t.run.ID, t)
	}
	l.mu.Lock()
	delete(l.live, t.run.ID)
	l.mu.Unlock()
}

// Removed forgets a deleted run and ends its readers.
func (l *Log) Removed(runID string) {
	l.mu.Lock()
	t := l.live[runID]
	delete(l.live, runID)
	l.mu.Unlock()
	if old, ok := l.ended.Peek(runID); ok {
		old.remove()
		l.ended.Remove(runID)
	}
	if t != nil {
		t.remove()
	}
}

// Ring is the doorbell: something was logged for the run outside of this
// process's executions, or its standing changed. Readers look again.
func (l *Log) Ring(runID string) {
	l.mu.Lock()
	t := l.live[runID]
	l.mu.Unlock()
	if t != nil {
		t.mu.Lock()
		t.wake()
		t.mu.Unlock()
	}
}

func (l *Log) tail(run mapping.Run) *Tail {
	l.mu.Lock()
	defer l.mu.Unlock()
	t, ok := l.live[run.ID]
	if !ok {
		t = newTail(run)
		l.live[run.ID] = t
	}
	return t
}

// Known returns a run whose tail is in memory, as it was when it began; its
// status may have changed since.
func (l *Log) Known(runID string) (mapping.Run, bool) {
	if t := l.known(runID); t != nil {
		return t.run, true
	}
	return mapping.Run{}, false
}

func (l *Log) known(runID string) *Tail {
	l.mu.Lock()
	t := l.live[runID]
	l.mu.Unlock()
	if t != nil {
		return t
	}
	t, _ = l.ended.Get(runID)
	return t
}

// State returns the fold of a checkpoint; "" is the head. An empty thread
// gives an empty fold and a zero checkpoint.
func (l *Log) State(ctx context.Context, threadID, checkpointID string) (*mapping.Fold, mapping.Checkpoint, error) {
	s, err := l.st.StateAt(ctx, threadID, checkpointID)
	if err != nil {
		return nil, mapping.Checkpoint{}, err
	}
	f, err := l.fold(s)
	return f, s.Checkpoint, err
}

// Base returns the fold of a checkpoint whose id is known, from memory where
// it is; "" is the empty state.
func (l *Log) Base(ctx context.Context, threadID, checkpointID string) (*mapping.Fold, error) {
	if checkpointID == "" {
		return mapping.NewFold(nil)
	}
	if f, ok := l.folds.Get(checkpointID); ok {
		return f, nil
	}
	f, _, err := l.State(ctx, threadID, checkpointID)
	return f, err
}

// Keep remembers the fold of a checkpoint that was just made.
func (l *Log) Keep(checkpointID string, f *mapping.Fold) { l.folds.Add(checkpointID, f) }

func (l *Log) fold(s store.State) (*mapping.Fold, error) {
	if s.Checkpoint.ID == "" {
		return mapping.NewFold(nil)
	}
	if f, ok := l.folds.Get(s.Checkpoint.ID); ok {
		return f, nil
	}
	f, err := FoldState(s)
	if err == nil {
		l.folds.Add(s.Checkpoint.ID, f)
	}
	return f, err
}

// FoldState folds a stored state.
func FoldState(s store.State) (*mapping.Fold, error) {
	f, err := mapping.NewFold(s.Snapshot)
	if err != nil {
		return nil, err
	}
	for _, ev := range s.Events {
		if f, err = f.Apply(ev); err != nil {
			return nil, err
		}
	}
	return f, nil
}
