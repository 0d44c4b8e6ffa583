package store

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/redo"
)

// briefRun is a run whose rows wait in a batch: nobody else has done anything with it or
// its thread, since whoever does has the batch run first. So its events can be numbered
// from here.
type briefRun struct {
	id    string
	batch *batch

	mu   sync.Mutex // of an append
	key  runKey     // names of keys: see recording
	from tip
	made []string // ids of the checkpoints
	// It has left this process, as soon as what says so waits.
	leaves, left bool
}

// createAhead is CreateRun for a run whose statements can wait. It makes everything
// itself, under ids that nobody has used.
func (s *Store) createAhead(ctx context.Context, n NewRun) (c Created, ok bool) {
	if !n.canWait() || ctx.Err() != nil || !s.ahead.welcome() { // who has left is told so by the other way
		return c, false
	}
	rec := newRecording(&s.ahead.keys)
	m := maker{s: s, tx: &tx{on: rec, now: s.db.clock()}, principal: mapping.PrincipalOf(ctx), n: n}
	if m.make() != nil || !m.made.Claimed {
		return c, false
	}
	run := &briefRun{id: n.Run.ID, key: runKey{run: m.run, thread: m.thread.key}}
	if !run.makes(n.Events) {
		return c, false
	}
	run.advance(&stretch{events: n.Events})
	return m.made, s.ahead.add(rec.list, run)
}

// canWait: with nothing that could be refused, and nothing that others are told of.
func (n *NewRun) canWait() bool {
	return n.Brief && n.Claim && n.MustNotExist && n.Thread != nil && n.Thread.Expires.IsZero() && n.Task != nil &&
		n.IdempotencyKey == "" && n.Answers.Run == "" && n.Run.RunAfter.IsZero() && n.Run.Base == "" && n.Run.Options.Checkpoint == "" &&
		!n.Run.Options.Shared && n.Run.Multitask != mapping.StrategyConcurrent
}

// appendAhead is AppendRun for such a run, as long as it waits. The fence is what
// createAhead gave: to take the run away, one has the batch run first.
func (s *Store) appendAhead(ctx context.Context, a Append) (events []mapping.Event, ok bool) {
	run := s.ahead.find(a.RunID)
	if run == nil || !a.canWait() || ctx.Err() != nil {
		return nil, false
	}
	run.mu.Lock()
	defer run.mu.Unlock()
	if run.left || !run.makes(a.Events) {
		return nil, false
	}
	rec := newRecording(&s.ahead.keys)
	t := &tx{on: rec, now: s.db.clock()}
	part := stretch{thread: run.key.thread, run: run.key.run, runID: a.RunID, events: a.Events, snapshots: a.Snapshots}
	at := run.key
	at.tokens = true // its hook would remember names for keys
	err := part.number(t)
	if err == nil && a.tokens() && !run.key.tokens {
		err = hasTokens(t, at.run)
	}
	if err == nil {
		events, _, err = s.appended(t, at, part, run.from, a, false)
	}
	run.leaves = a.End != nil
	if err != nil || !s.ahead.add(rec.list, run) {
		return nil, false
	}
	for _, f := range t.committed {
		f()
	}
	run.advance(&part)
	run.key.tokens, run.left = run.key.tokens || a.tokens(), run.leaves
	return events, true
}

func (a *Append) canWait() bool {
	return a.Fence == 1 && len(a.Artifacts)+len(a.Files)+len(a.DropFiles) == 0
}

// find is the run of an id, if it waits in the batch that is being filled.
func (a *ahead) find(id string) *briefRun {
	if a == nil || !a.some.Load() {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.filling == nil {
		return nil
	}
	return a.filling.runs[id]
}

// makes notes the checkpoints of events; false: one was made before. That is refused by the
// database, where it must not be found only when it is in the way of all that waits.
func (r *briefRun) makes(events []mapping.Event) bool {
	for i := range events {
		c := events[i].Head.Checkpoint
		if c == nil {
			continue
		}
		if slices.Contains(r.made, c.ID) {
			return false
		}
		r.made = append(r.made, c.ID)
	}
	return true
}

// advance moves the tip behind a stretch, as the statement that numbers it does.
func (r *briefRun) advance(s *stretch) {
	head, snapshot := s.newest()
	if snapshot > 0 {
		r.from.base = r.from.seq + int64(snapshot)
	}
	if head != "" {
		r.from.head = head
	}
	r.from.seq += int64(len(s.events))
}

// keepBrief remembers the keys of a run.
func (s *Store) keepBrief(r *briefRun, at runKey) {
	s.runs.Add(r.id, at)
}

// errReads: an operation wants to know what is in the database.
var errReads = errors.New("store: this cannot wait, it has to read")

// recording takes down the statements of an operation instead of running them. The key of
// a row that one of them makes is not known yet: it gets a name in its place, a number
// above any that the database gives.
type recording struct {
	keys *atomic.Uint64
	list []redo.Statement
}

func newRecording(keys *atomic.Uint64) *recording {
	return &recording{keys: keys, list: make([]redo.Statement, 0, 8)}
}

// keyNames is where names of keys begin. No column holds as large a number: times, in
// microseconds, are smaller.
const keyNames = int64(1) << 62

// keyOf is the key that a number is the name of; 0 for any other number.
func keyOf(n int64) redo.Key {
	if n > keyNames {
		return redo.Key(n - keyNames)
	}
	return 0
}

func (r *recording) note(s redo.Statement) error {
	for i, a := range s.Args {
		a, err := plain(a)
		if err != nil {
			return err
		}
		if n, ok := a.(int64); ok && n > keyNames {
			a = keyOf(n)
		}
		s.Args[i] = a
	}
	r.list = append(r.list, s)
	return nil
}

// exec: how many rows it changes is not known. Where that is asked for, the operation
// reads next.
func (r *recording) exec(text string, args in) (int64, error) { return 0, r.put(text, args) }

func (r *recording) put(text string, args in) error {
	return r.note(redo.Statement{Text: text, Args: args})
}

func (r *recording) get(string, in, out) error { return errReads }

// insert: the row is new, so that no conflict keeps it out.
func (r *recording) insert(text string, args in) (key int64, err error) {
	made := redo.Key(r.keys.Add(1))
	return keyNames + int64(made), r.note(redo.Statement{Text: text, Args: args, Makes: made})
}

func (r *recording) until(string, in, func(func(...any) error) (bool, error)) error { return errReads }

func (r *recording) shared() bool { return false }

// rerun runs the statements of a batch and notes that it did. It tells the keys of
// the rows it made.
func rerun(t *tx, number uint32, records [][]byte) (made map[redo.Key]int64, err error) {
	made = make(map[redo.Key]int64)
	var d redo.Decoder
	for _, r := range records {
		err := d.Decode(r, func(s redo.Statement) (err error) {
			for i, a := range s.Args {
				if name, ok := a.(redo.Key); ok {
					s.Args[i] = made[name]
				}
			}
			if s.Makes == 0 {
				return t.put(s.Text, s.Args...)
			}
			made[s.Makes], err = t.insert(s.Text, s.Args...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return made, t.on.(*session).setNumber(number)
}
