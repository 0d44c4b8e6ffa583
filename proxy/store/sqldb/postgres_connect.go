package sqldb

import (
	"context"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/apbridge/apbridge/proxy/store/sqldb/line"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// nameOf leaves out what is secret.
func nameOf(c *pgx.ConnConfig) string {
	return net.JoinHostPort(c.Host, itoa(int64(c.Port))) + "/" + c.Database
}

func configure(cfg *pgxpool.Config, dsn string) {
	if !strings.Contains(dsn, "pool_max_conns") {
		cfg.MaxConns = poolMost
	}
	c := cfg.ConnConfig
	if _, given := c.RuntimeParams["application_name"]; !given {
		c.RuntimeParams["application_name"] = "apbridge"
	}
}

// keepLines has the pool's connections run over lines.
func (p *postgres) keepLines(cfg *pgxpool.Config) {
	cfg.ConnConfig.DialFunc = p.lines.Over(cfg.ConnConfig.DialFunc)
	cfg.BeforeConnect = p.connecting
	cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		ctx, stop := context.WithTimeout(ctx, conn.Config().ConnectTimeout)
		defer stop()
		pid, err := first(ctx, conn, `SELECT pg_backend_pid()`)
		if err == nil {
			line.Serves(conn, pid)
		}
		return err
	}
	cfg.BeforeClose = func(conn *pgx.Conn) { _ = conn.PgConn().Conn().SetDeadline(time.Now().Add(farewellMost)) }
}

// connect makes a connection beside the pool.
func (p *postgres) connect(ctx context.Context) (*pgx.Conn, error) {
	c := p.apart.Copy()
	if err := p.connecting(ctx, c); err != nil {
		return nil, err
	}
	return pgx.ConnectConfig(ctx, c)
}

// connecting has one connection that is about to be made get a limit of time and its settings, unless the URL says
// them. The settings are no parameters of the connection's start: a pooler in between takes few of them.
func (p *postgres) connecting(_ context.Context, c *pgx.ConnConfig) error {
	begun, text := time.Now(), p.settings(c.RuntimeParams)
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = p.limit.begin(begun)
	}
	most := c.ConnectTimeout
	c.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		ctx, stop := context.WithTimeout(ctx, most)
		defer stop()
		_, err := conn.Exec(ctx, text).ReadAll()
		if err == nil {
			p.limit.succeeded(time.Since(begun))
		}
		return err
	}
	return nil
}

// settings is the statement that sets what concerns a connection, but for what the URL sets. A server may have limits
// of time for a role or a database; the bridge has its own for what it does. One that the server does not know is left
// out.
func (p *postgres) settings(given map[string]string) string {
	list := [][2]string{
		{"statement_timeout", "0"}, {"lock_timeout", "0"}, {"transaction_timeout", "0"}, {"idle_session_timeout", "0"},
		{"idle_in_transaction_session_timeout", itoa(idleMost.Milliseconds())},
	}
	if p.relaxed {
		list = append(list, [2]string{"synchronous_commit", "off"})
	}
	text := `SELECT 1`
	for _, s := range list {
		if _, there := given[s[0]]; !there && !strings.Contains(given["options"], s[0]) {
			text += `, CASE WHEN current_setting('` + s[0] + `', true) IS NOT NULL THEN set_config('` + s[0] + `', '` + s[1] + `', false) END`
		}
	}
	return text
}

// connectLimit is how long a connection may take to be made: at first as long as a server that is well takes at most,
// and longer where none has come of that. Else a server that is slow to answer would never be reached. Safe for
// concurrent use.
type connectLimit struct {
	least time.Duration

	mu    sync.Mutex
	since time.Time     // when the first attempt was begun since one succeeded; zero: there was none
	took  time.Duration // the newest attempt that succeeded
}

const (
	connectLeast = 5 * time.Second
	connectMost  = 20 * time.Second
)

// begin returns the limit of an attempt: twice the time that the last one took, or that was spent in vain since.
func (l *connectLimit) begin(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.since.IsZero() {
		l.since = now
	}
	return min(max(l.least, 2*l.took, 2*now.Sub(l.since)), connectMost)
}

// grows reports whether the next attempt has more time than the first, and less than any.
func (l *connectLimit) grows(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.since.IsZero() && 2*now.Sub(l.since) < connectMost
}

// newest returns how long the newest connection took to be made.
func (l *connectLimit) newest() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.took
}

func (l *connectLimit) succeeded(took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since, l.took = time.Time{}, took
}

// first runs statements unprepared, and returns the first column of the last one, a process.
func first(ctx context.Context, conn *pgx.Conn, text string) (pid uint32, err error) {
	results, err := conn.PgConn().Exec(ctx, text).ReadAll()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(string(results[len(results)-1].Rows[0][0]), 10, 32)
	return uint32(n), err
}
