package sqldb

import (
	"context"
	"time"
)

// renewLease records that this process is alive. No other process can take its runs.
func (d *sqlite) renewLease(ctx context.Context, ttl time.Duration) (freed bool, err error) {
	return false, d.write(ctx, true, func(t *Tx) error {
		_, err := t.Exec(`INSERT INTO processes (owner, until_us) VALUES ($1, $2) ON CONFLICT (owner) DO UPDATE SET until_us = excluded.until_us`,
			d.owner, t.Now+ttl.Microseconds())
		return err
	})
}

// recoverOrphans releases everything that other processes hold. They are dead, since this one has the file's lock. This
// process may already hold rows itself, because on a full disk recovery waits until there is space.
func (d *sqlite) recoverOrphans(ctx context.Context) error {
	return d.write(ctx, false, func(t *Tx) error {
		if err := d.holdings.FreeOthers(t, d.owner); err != nil {
			return err
		}
		_, err := t.Exec(`DELETE FROM processes WHERE owner <> $1`, d.owner)
		return err
	})
}

// endLease does nothing. The next process releases everything that this one holds when it starts.
func (d *sqlite) endLease(context.Context) error { return nil }
