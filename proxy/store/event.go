package store

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// Events is the log: runs append events, and any caller can read them.
type Events struct{ base *base }

// Conditions for parts of a thread's events.
const (
	everything = ``
	runsOwn    = ` AND e.run = $4 AND e.seq <= $5`
	tasksOwn   = ` AND e.run IN (SELECT id FROM runs WHERE task = $4)`
	stateOnly  = ` AND e.line IS NOT NULL AND e.seq <= $4`
)

// readEvents reads events of a thread with numbers above after, in order. A limit of 0 means all.
func readEvents(t *sqldb.Tx, thread, after int64, limit int, part string, args ...any) (events []mapping.Event, err error) {
	text := `SELECT e.seq, coalesce(r.run_id, ''), e.kind, e.at_us, e.head, e.data FROM events e LEFT JOIN runs r ON r.id = e.run
 WHERE e.thread = $1 AND e.seq > $2` + part + ` ORDER BY e.seq LIMIT CAST($3 AS BIGINT)`
	err = t.Each(text, append(sqldb.In{thread, after, sqldb.LimitOf(limit)}, args...), func(scan func(...any) error) error {
		events = append(events, mapping.Event{})
		return scanEvent(&events[len(events)-1], thread, scan)
	})
	return events, err
}

func scanEvent(e *mapping.Event, thread int64, scan func(...any) error) error {
	var at int64
	var head []byte
	if err := scan(&e.Seq, &e.RunID, (*string)(&e.Kind), &at, sqldb.Unsealed(&head, colEventHead, thread, &e.Seq), sqldb.Unsealed(rawOf(&e.Data), colEventData, thread, &e.Seq)); err != nil {
		return err
	}
	e.At = sqldb.TimeOf(at)
	if err := decode(head, &e.Head); err != nil {
		return err
	}
	if c := e.Head.Checkpoint; c != nil {
		c.Seq, c.CreatedAt = e.Seq, e.At
	}
	return nil
}

// List reads a thread's events with Seq > after, in order, and only those of a run if runID is set. A limit of 0 means
// all.
func (s *Events) List(ctx context.Context, threadID, runID string, after int64, limit int) (events []mapping.Event, err error) {
	sc := tables.ScopeOf(ctx)
	err = s.base.DB.Read(ctx, func(t *sqldb.Tx) error {
		if runID == "" {
			key, err := tables.ThreadKey(t, sc, threadID)
			if err != nil {
				return err
			}
			events, err = readEvents(t, key, after, limit, everything)
			return err
		}
		at, err := runSpan(t, sc, threadID, runID)
		if err != nil || at.Status == mapping.RunPending {
			return err
		}
		events, err = readEvents(t, at.thread, max(after, at.from), limit, runsOwn, at.key, at.to())
		return err
	})
	return events, err
}

// ListNative reads the updates of a run that have a Head.Native, in order, without their data.
func (s *Events) ListNative(ctx context.Context, threadID, runID string) (events []mapping.Event, err error) {
	err = s.base.DB.Read(ctx, func(t *sqldb.Tx) error {
		at, err := runSpan(t, tables.ScopeOf(ctx), threadID, runID)
		if err != nil || at.Status == mapping.RunPending {
			return err
		}
		return t.Each(`SELECT e.seq, e.at_us, e.head FROM events e WHERE e.thread = $1 AND e.run = $2 AND e.seq > $3 AND e.seq <= $4 AND e.kind = 'update' ORDER BY e.seq`,
			sqldb.In{at.thread, at.key, at.from, at.to()}, func(scan func(...any) error) error {
				e := mapping.Event{RunID: runID, Kind: mapping.KindUpdate}
				var us int64
				var head []byte
				if err := scan(&e.Seq, &us, sqldb.Unsealed(&head, colEventHead, at.thread, &e.Seq)); err != nil {
					return err
				}
				e.At = sqldb.TimeOf(us)
				err := decode(head, &e.Head)
				if e.Head.Native != nil {
					events = append(events, e)
				}
				return err
			})
	})
	return events, err
}

// runSpan returns the range of a run's events.
func runSpan(t *sqldb.Tx, sc tables.Scope, threadID, runID string) (*runRow, error) {
	row := &runRow{}
	where, args := sc.Narrow(`r.run_id = $1 AND r.tenant = $2 AND ($3 = '' OR h.thread_id = $3)`, runID, sc.Tenant, threadID)
	err := t.Get(`SELECT r.id, r.thread, r.from_seq, r.last_seq, r.status FROM runs r JOIN threads h ON h.id = r.thread WHERE `+where,
		args, sqldb.Out{&row.key, &row.thread, &row.from, &row.last, (*string)(&row.Status)})
	return row, noRun(err, runID)
}

// to returns the last number that the run's events can have.
func (r *runRow) to() int64 { return lastOf(r.last) }

func lastOf(last int64) int64 {
	if last == 0 {
		return 1 << 62
	}
	return last
}

// ListOfTask reads events of all runs of a task with Seq > after, in order. A limit of 0 means all.
func (s *Events) ListOfTask(ctx context.Context, taskID string, after int64, limit int) (events []mapping.Event, err error) {
	err = s.base.DB.Read(ctx, func(t *sqldb.Tx) error {
		row, err := findTask(t, tables.ScopeOf(ctx), taskID)
		if err != nil {
			return err
		}
		var from int64
		if err := t.Get(`SELECT coalesce(min(from_seq), 0) FROM runs WHERE task = $1 AND started_us > 0`, sqldb.In{row.key}, sqldb.Out{&from}); err != nil {
			return err
		}
		events, err = readEvents(t, row.thread, max(after, from), limit, tasksOwn, row.key)
		return err
	})
	return events, err
}

// LastSeq returns the newest number of a thread's events, or 0 if it has none.
func (s *Events) LastSeq(ctx context.Context, threadID string) (seq int64, err error) {
	err = s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		sc := tables.ScopeOf(ctx)
		where, args := sc.Narrow(`h.tenant = $1 AND h.thread_id = $2`, sc.Tenant, threadID)
		err := t.Get(`SELECT q.seq FROM thread_seq q JOIN threads h ON h.id = q.thread WHERE `+where, args, sqldb.Out{&seq})
		return tables.NoThread(err, threadID)
	})
	return seq, err
}
