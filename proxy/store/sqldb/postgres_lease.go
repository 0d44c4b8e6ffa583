package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// firstLease is the length of the lease until the process first renews it.
const firstLease = time.Minute

// present is the database's time in microseconds. Leases of all processes must end by the same clock.
const present = `CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)`

func (p *postgres) renewLease(ctx context.Context, ttl time.Duration) (freed bool, err error) {
	var lapsed bool
	var n int64
	err = p.write(ctx, true, func(t *Tx) (err error) {
		if lapsed, err = p.ended(t); err != nil {
			return err
		}
		if lapsed {
			if err := p.holdings.FreeOf(t, p.owner); err != nil {
				return err
			}
		}
		if err := p.renew(t, ttl); err != nil {
			return err
		}
		if n, err = p.reap(t); err != nil {
			return err
		}
		return forgetCommits(t)
	})
	if err != nil {
		return false, err
	}
	if lapsed {
		return true, ErrLapsed
	}
	return n > 0, nil
}

// ended reports whether the lease had already expired, and locks its row so that no other process ends it during the
// transaction.
func (p *postgres) ended(t *Tx) (over bool, err error) {
	err = t.Get(`SELECT until_us <= `+present+` FROM processes WHERE owner = $1 FOR UPDATE`, []any{p.owner}, []any{&over})
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil
	}
	return over, err
}

// renew writes the lease and also sets the clock.
func (p *postgres) renew(t *Tx, ttl time.Duration) error {
	var now int64
	err := t.Get(`INSERT INTO processes (owner, until_us) VALUES ($1, `+present+` + $2)
 ON CONFLICT (owner) DO UPDATE SET until_us = excluded.until_us RETURNING until_us - $2`, []any{p.owner, ttl.Microseconds()}, []any{&now})
	if err == nil {
		p.hear(now)
	}
	return err
}

// reap ends expired leases and releases everything held under them.
func (p *postgres) reap(t *Tx) (freed int64, err error) {
	if _, err := t.Exec(`DELETE FROM processes WHERE until_us <= ` + present); err != nil {
		return 0, err
	}
	return p.holdings.FreeLapsed(t)
}

// endLease ends the lease at once, so that no other process has to wait for it to expire.
func (p *postgres) endLease(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, 2*time.Second)
	defer stop()
	return p.write(ctx, false, func(t *Tx) error {
		if err := p.holdings.FreeOf(t, p.owner); err != nil {
			return err
		}
		return t.Put(`DELETE FROM processes WHERE owner = $1`, p.owner)
	})
}

func (p *postgres) ping(ctx context.Context, patience time.Duration) error {
	var standby bool
	err := readWithin(ctx, patience, func(ctx context.Context) error {
		return p.pool.QueryRow(ctx, `SELECT pg_is_in_recovery()`).Scan(&standby)
	})
	if err == nil && standby {
		return refuse(p.name, "this server has become a standby, which cannot be written to")
	}
	return err
}
