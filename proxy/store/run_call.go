package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// Calls holds records of the calls that runs made to their agents. They are deleted with the run.
type Calls struct{ base *base }

// RunCall is a record of one call. The store does not interpret its parts.
type RunCall struct {
	N        int64
	Head     []byte // used in lists
	Sent     []byte
	Received []byte
}

// RunCallsKept is the number of newest calls that are kept for a run.
const RunCallsKept = 256

// Keep appends calls to those of a run that this process holds. N is relative to the existing calls. It keeps the
// newest RunCallsKept. It does not flush: Flush or a later commit brings the calls to disk. It returns ErrFenced if the
// run is no longer held. It is authorized by the fence and ignores the tenant.
func (s *Calls) Keep(ctx context.Context, runID string, fence int64, calls []RunCall) error {
	return s.base.DB.WriteRelaxed(ctx, func(t *sqldb.Tx) error {
		var run, last int64
		err := t.Get(`SELECT id, (SELECT coalesce(max(n), 0) FROM run_calls WHERE run = runs.id) FROM runs WHERE run_id = $1 AND holder = $2 AND fence = $3`,
			sqldb.In{runID, s.base.Owner, fence}, sqldb.Out{&run, &last})
		if errors.Is(err, sql.ErrNoRows) {
			return ErrFenced
		}
		if err != nil {
			return err
		}
		newest := last
		for _, c := range calls {
			n := last + c.N
			newest = max(newest, n)
			if err := t.Put(`INSERT INTO run_calls (run, n, head, sent, received) VALUES ($1, $2, $3, $4, $5)`, run, n,
				t.Sealed(c.Head, colRunCallHead, run, n), t.Sealed(c.Sent, colRunCallSent, run, n), t.Sealed(c.Received, colRunCallReceived, run, n)); err != nil {
				return err
			}
		}
		return t.Put(`DELETE FROM run_calls WHERE run = $1 AND n <= $2`, run, newest-RunCallsKept)
	})
}

// List returns the calls of a run, oldest first, without their bodies. threadID may be "".
func (s *Calls) List(ctx context.Context, threadID, runID string) (calls []RunCall, err error) {
	err = s.base.DB.Read(ctx, func(t *sqldb.Tx) error {
		calls = nil
		row, err := findRun(t, tables.ScopeOf(ctx), threadID, runID)
		if err != nil {
			return err
		}
		return t.Each(`SELECT n, head FROM run_calls WHERE run = $1 ORDER BY n`, sqldb.In{row.key}, func(scan func(...any) error) error {
			var c RunCall
			err := scan(&c.N, sqldb.Unsealed(&c.Head, colRunCallHead, row.key, &c.N))
			calls = append(calls, c)
			return err
		})
	})
	return calls, err
}

// Get returns a call of a run with its bodies. It returns sql.ErrNoRows if it is not kept.
func (s *Calls) Get(ctx context.Context, threadID, runID string, n int64) (c RunCall, err error) {
	err = s.base.DB.Read(ctx, func(t *sqldb.Tx) error {
		row, err := findRun(t, tables.ScopeOf(ctx), threadID, runID)
		if err != nil {
			return err
		}
		c.N = n
		return t.Get(`SELECT head, sent, received FROM run_calls WHERE run = $1 AND n = $2`, sqldb.In{row.key, n},
			sqldb.Out{sqldb.Unsealed(&c.Head, colRunCallHead, row.key, n), sqldb.Unsealed(&c.Sent, colRunCallSent, row.key, n), sqldb.Unsealed(&c.Received, colRunCallReceived, row.key, n)})
	})
	return c, err
}
