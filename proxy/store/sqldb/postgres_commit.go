package sqldb

import (
	"context"
	"sync"
	"time"

	"github.com/apbridge/apbridge/mapping/pause"
)

// Each transaction writes a unique number into the table commits. If the response to COMMIT is lost, only that number
// shows whether the transaction was committed. It exists if and only if the rest of the transaction does, even after a
// crash of this server and on a standby that took over. pg_xact_status cannot be used: a server that crashes reassigns
// numbers that it had not flushed to other transactions, which may commit.
//
// Successive transactions share a slot and overwrite each other's number, so that the row stays in its page and no
// index changes. The numbers of a slot are even. An odd number means that the preceding transaction was given up and
// can no longer be committed.

// receipt is the entry of one transaction in the table commits.
type receipt struct {
	slot  int
	n     int64
	began time.Time
}

// receipts gives concurrent transactions different slots. Safe for concurrent use.
type receipts struct {
	mu    sync.Mutex
	free  []receipt
	slots int
}

func (r *receipts) lend() receipt {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := receipt{slot: r.slots}
	if last := len(r.free) - 1; last >= 0 {
		next, r.free = r.free[last], r.free[:last]
	} else {
		r.slots++
	}
	next.n += 2
	next.began = time.Now().Round(0) // wall clock, which keeps running while a machine is suspended
	return next
}

// give returns a receipt whose transaction has a known outcome. Receipts with an unknown outcome are never reused.
func (r *receipts) give(over receipt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free = append(r.free, over)
}

// commitsKept is the time for which rows of the table commits are kept. commitsAsked is the maximum age of a
// transaction whose row must still exist if it was committed.
const (
	commitsKept  = 24 * time.Hour
	commitsAsked = time.Hour
)

// putReceipt is the last statement before COMMIT. It fails if the transaction was given up, because n is NOT NULL.
const putReceipt = `INSERT INTO commits (owner, slot, n, at_us) VALUES ($1, $2, $3, ` + present + `)
 ON CONFLICT (owner, slot) DO UPDATE SET n = CASE WHEN commits.n < excluded.n THEN excluded.n END, at_us = excluded.at_us`

// askReceipt waits for a transaction that may still be running, and returns its number if it was committed. Otherwise
// it prevents it from being committed later. It writes in both cases, so that its result is as durable as any commit.
const askReceipt = `INSERT INTO commits (owner, slot, n, at_us) VALUES ($1, $2, $3 + 1, ` + present + `)
 ON CONFLICT (owner, slot) DO UPDATE SET n = CASE WHEN commits.n = $3 THEN commits.n ELSE excluded.n END, at_us = excluded.at_us RETURNING n`

// settle determines the outcome of a transaction whose COMMIT got no response. If known is false, the database did not
// answer in time, and the transaction must be neither repeated nor reported as done. The transaction's connection must
// have been returned to the pool, since all pooled connections may be broken.
func (p *postgres) settle(ctx context.Context, r receipt) (done, known bool) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer stop()
	for time.Now().Round(0).Sub(r.began) < commitsAsked {
		var n int64
		err := p.pool.QueryRow(ctx, askReceipt, p.owner, r.slot, r.n).Scan(&n)
		switch {
		case err == nil:
			return n == r.n, true
		case stateOf(err) != "" && !passing(err):
			return false, false // the server refuses and will keep refusing; a broken connection proves nothing
		}
		if pause.For(ctx, 100*time.Millisecond) != nil {
			break
		}
	}
	return false, false
}

// forgetCommits removes numbers that are no longer needed.
func forgetCommits(t *Tx) error {
	return t.Put(`DELETE FROM commits WHERE at_us < `+present+` - $1`, commitsKept.Microseconds())
}
