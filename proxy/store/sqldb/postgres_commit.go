package sqldb

import (
	"context"
	"sync"
	"time"

	"github.com/apbridge/apbridge/mapping/pause"
)

// A transaction's number, written by the transaction into the table commits, is the one trace that shows whether it was
// committed after its answer got lost: it is there exactly if everything else is, on this server after a crash and on a
// standby that took over. pg_xact_status cannot tell: a server that crashes gives the numbers it had assigned and not
// flushed to other transactions, which commit.
//
// Transactions that go one after the other share a slot and overwrite each other's number, so that the row stays in its
// page and no index changes. Numbers of a slot are even; an odd one says that the transaction before it is given up,
// and can never be committed any more.

// receipt is one transaction's place in the table commits.
type receipt struct {
	slot  int
	n     int64
	began time.Time
}

// receipts gives transactions that are open at the same time different slots. Safe for concurrent use.
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
	next.began = time.Now().Round(0) // by the wall clock, which goes on while a machine is suspended
	return next
}

// give takes a receipt back whose transaction is over. One of which that is not known is never used again.
func (r *receipts) give(over receipt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free = append(r.free, over)
}

// commitsKept is how long the rows of table commits are kept. commitsAsked is how old a transaction may be whose row is
// believed to be there if it ever was.
const (
	commitsKept  = 24 * time.Hour
	commitsAsked = time.Hour
)

// putReceipt is the last statement before COMMIT. It fails where the transaction was given up: n is not null.
const putReceipt = `INSERT INTO commits (owner, slot, n, at_us) VALUES ($1, $2, $3, ` + present + `)
 ON CONFLICT (owner, slot) DO UPDATE SET n = CASE WHEN commits.n < excluded.n THEN excluded.n END, at_us = excluded.at_us`

// askReceipt waits for a transaction that may still be under way, and returns its number if it was committed; else it
// keeps it from ever being. It writes in either case, so that its answer is as durable as that of any commit.
const askReceipt = `INSERT INTO commits (owner, slot, n, at_us) VALUES ($1, $2, $3 + 1, ` + present + `)
 ON CONFLICT (owner, slot) DO UPDATE SET n = CASE WHEN commits.n = $3 THEN commits.n ELSE excluded.n END, at_us = excluded.at_us RETURNING n`

// settle finds out what became of a transaction whose COMMIT was never answered. known is false where the database does
// not say in time; then nothing may be done again, nor be called done. The connection of the transaction must have been
// given back: all of the pool's may have broken.
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
			return false, false // the server refuses, and will; a connection that breaks says nothing
		}
		if pause.For(ctx, 100*time.Millisecond) != nil {
			break
		}
	}
	return false, false
}

// forgetCommits removes numbers that are not asked for any more.
func forgetCommits(t *Tx) error {
	return t.Put(`DELETE FROM commits WHERE at_us < `+present+` - $1`, commitsKept.Microseconds())
}
