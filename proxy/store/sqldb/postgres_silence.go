package sqldb

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"
)

// A connection may stop responding without breaking: a network drops packets, a proxy has lost its other side, or the
// server hangs. There is no time limit for statements, since some legitimately take long. Instead the watcher asks the
// server over a new connection whether it is working on the statement. If it is not, or does not answer, the connection
// is closed together with the pool's other connections. Each operation then behaves as after a broken connection.

const (
	// silentMost is the maximum wait for a connection before the server is queried. lookEvery is the interval at which
	// connections are checked. The server must report twice that it is idle, since its answer may be in transit.
	silentMost = 2 * time.Second
	lookEvery  = time.Second
	// askMost is the maximum time for that query, unless connections to the server are slow to establish. The total
	// stays well below the length of a lease.
	askMost = 5 * time.Second
	// farewellMost is the maximum time for closing an abandoned connection.
	farewellMost = time.Second
)

// watch closes connections that stop responding, until ctx ends.
func (p *postgres) watch(ctx context.Context) {
	for pause.For(ctx, lookEvery) == nil {
		waited := p.lines.Waited(silentMost)
		if len(waited) == 0 {
			continue
		}
		busy, err := p.busy(ctx)
		if stateOf(err) != "" || ctx.Err() != nil {
			continue // the server responds, if only with an error, which says nothing about the other connections
		}
		if n := waited.GiveUp(busy, err != nil); n > 0 {
			p.log.Warn("database connections stopped responding; reconnecting", zap.Int("connections", n), zap.Error(err))
			p.pool.Reset()
		}
	}
}

// busy returns the server processes that are working for this user, queried over a separate connection. A process that
// waits for its client to receive data does not count.
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
