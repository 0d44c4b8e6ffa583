package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// Rates holds the rate limits shared by the bridges of one database: see limit.Ledger. Not scoped by tenant. The rates
// themselves are defined in package limit.
type Rates struct{ base *base }

// clockSetBack is the number of microseconds by which a budget may be used up in advance before the clock is assumed to
// have been set back. Operations that end in a different order than they began differ by much less.
const clockSetBack = 60_000_000

// Take takes cost from a budget that grows with the database's clock, up to span. If the budget is too small, it takes
// nothing and returns how long to wait. A negative cost gives back. A row contains the time up to which its budget is
// used up. Without a row the budget is full. A crash of the machine may undo a call. If the clock was set back, the
// budget is empty and grows from now on.
func (s *Rates) Take(ctx context.Context, name string, cost, span time.Duration) (wait time.Duration, err error) {
	lost, long := cost.Microseconds(), span.Microseconds()
	if cost >= 0 {
		lost = max(1, lost)
	}
	err = s.base.DB.WriteRelaxed(ctx, func(t *sqldb.Tx) error {
		wait = 0
		if _, err := t.Exec(`INSERT INTO rates (name, at_us) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, name, t.Now-long); err != nil {
			return err
		}
		var used int64
		err := t.Get(`UPDATE rates SET at_us = CASE WHEN at_us < CAST($2 AS BIGINT) THEN CAST($2 AS BIGINT) ELSE at_us END + CAST($3 AS BIGINT)
 WHERE name = $1 AND CASE WHEN at_us < CAST($2 AS BIGINT) THEN CAST($2 AS BIGINT) ELSE at_us END + CAST($3 AS BIGINT) <= CAST($4 AS BIGINT) RETURNING at_us`,
			sqldb.In{name, t.Now - long, lost, t.Now}, sqldb.Out{&used})
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err := t.Get(`SELECT at_us FROM rates WHERE name = $1`, sqldb.In{name}, sqldb.Out{&used}); err != nil {
			return err
		}
		if used > t.Now+clockSetBack {
			used = t.Now
			err = t.Put(`UPDATE rates SET at_us = CAST($2 AS BIGINT) WHERE name = $1`, name, used)
		} else {
			err = nil
		}
		wait = time.Duration(max(1, max(used, t.Now-long)+lost-t.Now)) * time.Microsecond
		return err
	})
	return wait, err
}

// Left returns the remaining budget, at most span.
func (s *Rates) Left(ctx context.Context, name string, span time.Duration) (left time.Duration, err error) {
	err = s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		used := t.Now - span.Microseconds()
		err := t.Get(`SELECT at_us FROM rates WHERE name = $1`, sqldb.In{name}, sqldb.Out{&used})
		if errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
		left = min(span, max(0, time.Duration(t.Now-used)*time.Microsecond))
		return err
	})
	return left, err
}
