package sqldb

import (
	"context"
	"errors"
	"hash/fnv"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

// postgresOldest is the oldest supported version (server_version_num).
const postgresOldest = 130000

// prepare checks the database and brings its tables up to date. If several processes start at once, one migrates and
// the others wait.
func (p *postgres) prepare(ctx context.Context) error {
	conn, err := p.pool.Acquire(ctx)
	for err != nil && ctx.Err() == nil && pgconn.Timeout(err) && p.limit.grows(time.Now()) {
		conn, err = p.pool.Acquire(ctx)
	}
	if err != nil {
		return p.refused(err)
	}
	defer conn.Release()
	schema, err := p.inspect(ctx, conn)
	if err != nil {
		return err
	}
	p.schema = schema
	if err := p.refusePooler(ctx, conn); err != nil {
		return err
	}
	lock := int64(hashOf("apbridge migrations " + schema))
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, lock); err != nil {
		return p.refused(err)
	}
	defer func() { _, _ = conn.Exec(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, lock) }()
	pool := stdlib.OpenDBFromPool(p.pool)
	defer pool.Close()
	return migrate(ctx, p.name, pool, goose.DialectPostgres, p.log)
}

// inspect checks that the database can be used and returns its schema.
func (p *postgres) inspect(ctx context.Context, conn *pgxpool.Conn) (schema string, err error) {
	var version int
	var encoding string
	var found *string
	var standby bool
	var now int64
	err = conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_encoding'), current_schema()::text, pg_is_in_recovery(), `+present).
		Scan(&version, &encoding, &found, &standby, &now)
	switch {
	case err != nil:
		return "", p.refused(err)
	case version < postgresOldest:
		return "", refuse(p.name, "its server is too old; PostgreSQL 13 or later is needed")
	case encoding != "UTF8":
		return "", refuse(p.name, "its encoding is %s; create a database with ENCODING 'UTF8'", encoding)
	case found == nil:
		return "", refuse(p.name, "no schema in its search_path exists; create one, or change search_path")
	case standby:
		return "", refuse(p.name, "this server is a standby, which cannot be written to; connect to the primary")
	}
	p.hear(now)
	return *found, nil
}

// refusePooler refuses a pooler that assigns server sessions per transaction, because prepared statements, LISTEN and
// the lock of migrations need a dedicated session. To detect one, it opens a transaction on another connection while
// this one is idle: such a pooler gives this connection's session to the other one and then moves this connection to a
// different session.
func (p *postgres) refusePooler(ctx context.Context, conn *pgxpool.Conn) error {
	const whose = `SELECT pg_backend_pid()`
	ours, err := first(ctx, conn.Conn(), whose)
	if err != nil {
		return p.refused(err)
	}
	other, err := p.connect(ctx)
	if err != nil {
		return p.refused(err)
	}
	defer closeSoon(other)
	theirs, err := first(ctx, other, `BEGIN; `+whose)
	if err != nil {
		return p.refused(err)
	}
	again, err := first(ctx, conn.Conn(), whose)
	if err != nil {
		return p.refused(err)
	}
	if theirs == ours || again != ours {
		return refuse(p.name, "a pooler in between gives connections a session of the server for a transaction only, and apbridge needs sessions of its own. Have the pooler work by sessions (PgBouncer: pool_mode = session), or name the server itself")
	}
	return nil
}

// refused returns a one-line error for a failed connection. It does not include the URL, which contains a password.
func (p *postgres) refused(err error) error {
	do := "its server cannot be reached; check that it is running there and accepts connections from this machine"
	if stateOf(err) != "" {
		do = "its server refuses the connection; check the database and the role in the URL"
	}
	return caused(&unconnected{err}, mapping.Unavailable, CodeUnavailable, "database "+p.name+": "+do)
}

// unconnected is an error of the driver, whose own text has a line for each address and each attempt.
type unconnected struct{ err error }

func (u *unconnected) Unwrap() error { return u.err }

// Error returns the server's message, or else the innermost message of the network error.
func (u *unconnected) Error() string {
	var said *pgconn.PgError
	var unknown *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(u.err, &said):
		return said.Message + " (SQLSTATE " + said.Code + ")"
	case errors.As(u.err, &unknown):
		return "the host name " + unknown.Name + " is not known (" + unknown.Err + ")"
	case errors.As(u.err, &op) && op.Err != nil:
		return op.Err.Error()
	}
	text := strings.TrimSpace(u.err.Error())
	return text[strings.LastIndexByte(text, '\n')+1:]
}

func hashOf(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s))
	return h.Sum64()
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// recoverOrphans creates this process's lease before the process holds anything.
func (p *postgres) recoverOrphans(ctx context.Context) error {
	err := p.write(ctx, false, func(t *Tx) error { return p.renew(t, firstLease) })
	if err == nil {
		p.notifier.open(p.channel())
	}
	return err
}

// channel returns the NOTIFY channel of the processes that share the tables.
func (p *postgres) channel() string { return "apbridge_" + strconv.FormatUint(hashOf(p.schema), 36) }
