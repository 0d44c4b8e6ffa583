package store

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// tokensAtOnce limits the tokens removed in one transaction.
const tokensAtOnce = 2000

// DeleteTokenEvents removes the tokens (delta events) of runs that ended at before or earlier; the resulting messages
// remain. One call does part of the work and reports whether there is more. It covers all tenants.
func (s *Retention) DeleteTokenEvents(ctx context.Context, before time.Time) (more bool, err error) {
	var todo []runKey
	err = s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		return t.Each(`SELECT id, thread FROM runs WHERE ended_us > 0 AND trimmed = 0 AND ended_us <= $1 ORDER BY ended_us LIMIT $2`,
			sqldb.In{before.UnixMicro(), deletedAtOnce}, func(scan func(...any) error) error {
				var k runKey
				err := scan(&k.Run, &k.Thread)
				todo = append(todo, k)
				return err
			})
	})
	if err != nil || len(todo) == 0 {
		return false, err
	}
	// Check again that the run has ended: on SQLite its key may have been reused.
	return true, s.base.DB.WriteRelaxed(ctx, func(t *sqldb.Tx) error {
		room := int64(tokensAtOnce)
		for _, k := range todo {
			n, err := t.Exec(`DELETE FROM events WHERE id IN (SELECT e.id FROM events e JOIN runs r ON r.id = e.run WHERE r.id = $1 AND r.thread = $2
 AND r.ended_us > 0 AND r.ended_us <= $4 AND e.thread = $2 AND e.seq > r.from_seq AND e.seq <= r.last_seq AND e.kind = 'delta' ORDER BY e.seq LIMIT $3)`,
				k.Run, k.Thread, room, before.UnixMicro())
			if err != nil {
				return err
			}
			if room -= n; room <= 0 {
				return nil
			}
			if _, err := t.Exec(`UPDATE runs SET trimmed = 1 WHERE id = $1 AND thread = $2 AND ended_us > 0 AND ended_us <= $3`, k.Run, k.Thread, before.UnixMicro()); err != nil {
				return err
			}
		}
		return nil
	})
}
