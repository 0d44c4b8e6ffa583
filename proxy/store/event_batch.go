package store

import (
	"database/sql"
	"errors"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/artifact"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// threadHead is the end of a thread's history, on which the next event builds.
type threadHead struct {
	seq  int64  // newest number
	head string // id of the newest checkpoint
	line int64  // line of the next event
	base int64  // base of the line's states, see checkpointPos
}

// eventBatch is a sequence of events about to be appended to one thread.
type eventBatch struct {
	thread    int64
	run       int64 // 0 for events outside of runs
	runID     string
	events    []mapping.Event
	snapshots map[string][]byte
}

// stateful reports whether an event is needed to fold a state.
func stateful(e *mapping.Event) bool {
	switch {
	case e.Head.Checkpoint != nil, e.Kind == mapping.KindInput:
		return true
	case e.Kind == mapping.KindUpdate:
		return e.Head.Reduce
	case e.Kind == mapping.KindState:
		return e.Data != nil
	}
	return false
}

// newest returns the id of the batch's last checkpoint, or "", and the offset, starting at 1, of its last event with a
// snapshot, or 0.
func (b *eventBatch) newest() (head string, snapshot int) {
	for i := range b.events {
		if c := b.events[i].Head.Checkpoint; c != nil {
			head = c.ID
			if b.snapshots[c.ID] != nil {
				snapshot = i + 1
			}
		}
	}
	return head, snapshot
}

// fill assigns numbers and times to the events and parents to the checkpoints. It works on copies, because the
// operation may run twice.
func (b *eventBatch) fill(from threadHead, now int64) ([]mapping.Event, []checkpointColumns) {
	events := make([]mapping.Event, len(b.events))
	marks := make([]checkpointColumns, len(b.events))
	for i := range b.events {
		e := b.events[i]
		e.Seq = from.seq + int64(i) + 1
		if e.At.IsZero() {
			e.At = sqldb.TimeOf(now)
		}
		e.At = e.At.UTC().Truncate(time.Microsecond)
		if b.runID != "" {
			e.RunID = b.runID
		}
		if e.Head.Checkpoint != nil {
			marks[i] = b.checkpoint(&e, &from)
		}
		events[i] = e
	}
	return events, marks
}

// checkpointColumns holds the additional columns of an event that creates a checkpoint.
type checkpointColumns struct {
	id       string
	base     int64
	snapshot []byte
}

func (b *eventBatch) checkpoint(e *mapping.Event, at *threadHead) checkpointColumns {
	c := *e.Head.Checkpoint
	c.Parent, c.Seq, c.CreatedAt = at.head, e.Seq, e.At
	if c.RunID == "" {
		c.RunID = e.RunID
	}
	e.Head.Checkpoint = &c
	m := checkpointColumns{id: c.ID, base: at.base, snapshot: b.snapshots[c.ID]}
	if m.snapshot != nil {
		m.base, at.base = e.Seq, e.Seq
	}
	at.head = c.ID
	return m
}

// advance is the statement that assigns numbers, under a condition. It returns the head before the batch, except that
// the caller corrects seq. Parameters from $5 on belong to the condition.
//
// PostgreSQL returns the columns directly. SQLite stores returned rows in a temporary table until the statement ends,
// which takes longer than a second query.
const advance = `UPDATE thread_seq SET seq = seq + $2,
 prev_head = head, head = CASE WHEN $3 <> '' THEN $3 ELSE head END,
 prev_base = base, base = CASE WHEN $4 > 0 THEN seq + $4 ELSE base END
 WHERE thread = $1`

const (
	advanceHeld = advance + ` AND EXISTS (SELECT 1 FROM runs WHERE id = $5 AND run_id = $6 AND holder = $7 AND fence = $8 AND status = 'running' AND parked = 0)`
	advanceIdle = advance + ` AND EXISTS (SELECT 1 FROM runs WHERE id = $5 AND (status = 'pending' OR (status = 'running' AND parked = 1)))`
	advanceFrom = advance + ` AND head = $5`
	advanceFree = advance

	advanced = ` seq, prev_head, line, prev_base `
)

// takeNumbers numbers the batch under the condition of text (advance…). ok is false if the condition is not met.
func (b *eventBatch) takeNumbers(t *sqldb.Tx, text string, more ...any) (from threadHead, ok bool, err error) {
	args := append(b.advance(), more...)
	was := sqldb.Out{&from.seq, &from.head, &from.line, &from.base}
	if t.Shared() {
		err = t.Get(text+` RETURNING`+advanced, args, was)
	} else if err = only(t.Exec(text, args...)); err == nil {
		err = t.Get(`SELECT`+advanced+`FROM thread_seq WHERE thread = $1`, args[:1], was)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return threadHead{}, false, nil
	}
	from.seq -= int64(len(b.events))
	return from, err == nil, err
}

// advance returns the parameters of the statement advance.
func (b *eventBatch) advance() sqldb.In {
	head, snapshot := b.newest()
	return sqldb.In{b.thread, len(b.events), head, snapshot}
}

// only returns sql.ErrNoRows if a statement changed nothing.
func only(n int64, err error) error {
	if err == nil && n == 0 {
		err = sql.ErrNoRows
	}
	return err
}

// fork begins a new line at an older checkpoint, which becomes the head. The files of that line become the thread's. ok
// is false if the head is no longer expect.
func (s *base) fork(t *sqldb.Tx, thread int64, parent, expect string) (ok bool, err error) {
	at, err := findCheckpoint(t, thread, parent)
	if err != nil {
		return false, err
	}
	n, err := t.Exec(`UPDATE thread_seq SET head = $2, line = seq + 1, base = $3 WHERE thread = $1 AND head = $4`, thread, parent, -at.seq, expect)
	if err != nil || n == 0 {
		return false, err
	}
	from, err := findCheckpoint(t, thread, expect)
	if err != nil {
		return false, err
	}
	return true, s.changeLine(t, thread, from, at)
}

// changeLine switches the files of a thread from the line of one checkpoint to that of another.
func (s *base) changeLine(t *sqldb.Tx, thread int64, from, to checkpointPos) error {
	some, err := artifact.Some(t, thread)
	if err != nil || !some {
		return err
	}
	was, err := foldAt(t, thread, from)
	if err != nil {
		return err
	}
	now, err := foldAt(t, thread, to)
	if err != nil {
		return err
	}
	return artifact.ChangeLine(s.Quotas, t, thread, was, now)
}

// startThread creates the numbers of a new thread.
func (b *eventBatch) startThread(t *sqldb.Tx) error {
	head, snapshot := b.newest()
	return t.Put(`INSERT INTO thread_seq (thread, seq, head, prev_head, line, base, prev_base) VALUES ($1, $2, $3, '', 0, $4, 0)`,
		b.thread, len(b.events), head, snapshot)
}

// write stores the numbered events with their checkpoints and returns them.
func (b *eventBatch) write(t *sqldb.Tx, from threadHead) ([]mapping.Event, error) {
	events, marks := b.fill(from, t.Now)
	return events, b.insert(t, from.line, events, marks)
}

// rowsAtOnce limits the rows of one INSERT, and so the number of different statements.
const rowsAtOnce = 16

// eventRows are the INSERT texts by number of rows.
var eventRows = insertTexts(`INSERT INTO events (thread, seq, run, kind, at_us, line, checkpoint, base, head, data, snapshot) VALUES `, eventColumns)

const eventColumns = 11

func insertTexts(start string, width int) (texts [rowsAtOnce + 1]string) {
	for n := 1; n <= rowsAtOnce; n++ {
		texts[n] = start + tuples(n, width)
	}
	return texts
}

func (b *eventBatch) insert(t *sqldb.Tx, line int64, events []mapping.Event, marks []checkpointColumns) error {
	for len(events) > 0 {
		n := rowsAt(events)
		args := make(sqldb.In, 0, n*eventColumns)
		for i := range events[:n] {
			var err error
			if args, err = b.row(t, args, line, &events[i], &marks[i]); err != nil {
				return err
			}
		}
		if err := t.Put(eventRows[n], args...); err != nil {
			return err
		}
		events, marks = events[n:], marks[n:]
	}
	return nil
}

// longRow is the length in bytes of a value above which its row gets its own statement. For a statement with several
// rows, SQLite copies the values once more.
const longRow = 64 << 10

// rowsAt returns how many of the next events one statement writes.
func rowsAt(events []mapping.Event) int {
	n := min(len(events), rowsAtOnce)
	for i := range events[:n] {
		if len(events[i].Data) > longRow {
			return max(i, 1)
		}
	}
	return n
}

// row appends the parameters of one event.
func (b *eventBatch) row(t *sqldb.Tx, args sqldb.In, line int64, e *mapping.Event, m *checkpointColumns) (sqldb.In, error) {
	head, err := encodeHead(&e.Head)
	if err != nil {
		return nil, err
	}
	var onLine, checkpoint, base any
	if stateful(e) {
		onLine = line
	}
	if m.id != "" {
		checkpoint, base = m.id, m.base
	}
	return append(args, b.thread, e.Seq, keyOrNull(b.run), string(e.Kind), e.At.UnixMicro(), onLine, checkpoint, base,
		t.Sealed(head, colEventHead, b.thread, e.Seq), t.Sealed(e.Data, colEventData, b.thread, e.Seq), t.Sealed(m.snapshot, colEventSnapshot, b.thread, e.Seq)), nil
}
