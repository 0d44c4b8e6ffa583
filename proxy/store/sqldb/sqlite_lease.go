package sqldb

import (
	"context"
	"time"
)

// renewLease notes that this process lives. No other process could take what it holds.
func (d *sqlite) renewLease(ctx context.Context, ttl time.Duration) (freed bool, err error) {
	return false, d.write(ctx, true, func(t *Tx) error {
		_, err := t.Exec(`INSERT INTO processes (owner, until_us) VALUES ($1, $2) ON CONFLICT (owner) DO UPDATE SET until_us = excluded.until_us`,
			d.owner, t.Now+ttl.Microseconds())
		return err
	})
}

// recoverOrphans frees what all other processes hold: they are gone, since this one holds the file's lock. This one may
// hold something already: on a full disk that is done when there is room.
func (d *sqlite) recoverOrphans(ctx context.Context) error {
	return d.write(ctx, false, func(t *Tx) error {
		if err := d.holdings.FreeOthers(t, d.owner); err != nil {
			return err
		}
		_, err := t.Exec(`DELETE FROM processes WHERE owner <> $1`, d.owner)
		return err
	})
}

// endLease: what this process holds is free when the next one starts.
func (d *sqlite) endLease(context.Context) error { return nil }
