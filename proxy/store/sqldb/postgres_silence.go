package sqldb

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"
)

// A connection may fall silent without breaking: a network that drops packets, a proxy that lost its other side, a
// server that stands still. No statement has a time limit for that, since one may rightly take long. Instead the server
// is asked, over a new connection, whether it is at work on what is waited for. Where it is not, or does not answer,
// the connection is closed, and the pool's others with it: each operation then does what it does when its connection
// breaks.

const (
	// silentMost is how long a connection may be waited for before the server is asked; lookEvery how often connections
	// are looked at. The server must say twice that it does nothing: its answer may be under way.
	silentMost = 2 * time.Second
	lookEvery  = time.Second
	// askMost is how long the server may take to say what it is at, unless a connection to it takes long to be made. In
	// all that is well below the time of a lease.
	askMost = 5 * time.Second
	// farewellMost is how long a connection that is given up may take to be closed.
	farewellMost = time.Second
)

// watch closes connections that fall silent, as long as ctx lasts.
func (p *postgres) watch(ctx context.Context) {
	for pause.For(ctx, lookEvery) == nil {
		waited := p.lines.Waited(silentMost)
		if len(waited) == 0 {
			continue
		}
		busy, err := p.busy(ctx)
		if stateOf(err) != "" || ctx.Err() != nil {
			continue // it answers, if only to refuse: nothing can be said of the others
		}
		if n := waited.GiveUp(busy, err != nil); n > 0 {
			p.log.Warn("database connections stopped responding; reconnecting", zap.Int("connections", n), zap.Error(err))
			p.pool.Reset()
		}
	}
}

// busy asks over a connection of its own which of the server's processes are at work for this user. One that waits for
// its client to take what it sends is not.
func (p *postgres) busy(ctx context.Context) (map[uint32]bool, error) {
	ctx, stop := context.WithTimeout(ctx, max(askMost, 2*p.limit.newest()))
	defer stop()
	conn, err := p.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer closeSoon(conn)
	rows, err := conn.Query(ctx, `SELECT pid FROM pg_stat_activity
 WHERE usename = current_user AND state IN ('active', 'fastpath function call', 'disabled') AND wait_event IS DISTINCT FROM 'ClientWrite'`)
	if err != nil {
		return nil, err
	}
	busy := map[uint32]bool{}
	var pid uint32
	_, err = pgx.ForEachRow(rows, []any{&pid}, func() error {
		busy[pid] = true
		return nil
	})
	return busy, err
}
