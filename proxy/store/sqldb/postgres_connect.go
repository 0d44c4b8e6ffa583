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

// nameOf omits the password.
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

// keepLines makes the pool's connections lines.
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

// connect opens a connection outside the pool.
func (p *postgres) connect(ctx context.Context) (*pgx.Conn, error) {
	c := p.apart.Copy()
	if err := p.connecting(ctx, c); err != nil {
		return nil, err
	}
	return pgx.ConnectConfig(ctx, c)
}

// connecting gives a new connection a time limit and its settings, unless the URL sets them. The settings are not sent
// as startup parameters, because poolers accept only a few of those.
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

// settings returns the statement that sets the parameters of a connection, except those set in the URL. A server may
// have time limits for a role or a database, but the bridge has its own. Parameters unknown to the server are omitted.
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

// connectLimit is the time limit for establishing a connection. It starts at the time a healthy server needs at most,
// and grows while attempts fail, because a slow server could otherwise never be reached. Safe for concurrent use.
type connectLimit struct {
	least time.Duration

	mu    sync.Mutex
	since time.Time     // when the first attempt after the last success began; zero if there was none
	took  time.Duration // duration of the last successful attempt
}

const (
	connectLeast = 5 * time.Second
	connectMost  = 20 * time.Second
)

// begin returns the limit of an attempt: twice the duration of the last successful one or twice the time since the
// first failed one, whichever is longer.
func (l *connectLimit) begin(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.since.IsZero() {
		l.since = now
	}
	return min(max(l.least, 2*l.took, 2*now.Sub(l.since)), connectMost)
}

// grows reports whether attempts have failed since the last success and the limit can still grow.
func (l *connectLimit) grows(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.since.IsZero() && 2*now.Sub(l.since) < connectMost
}

// newest returns how long the last successful attempt took.
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

// first runs statements unprepared and returns the first column of the last one, a process id.
func first(ctx context.Context, conn *pgx.Conn, text string) (pid uint32, err error) {
	results, err := conn.PgConn().Exec(ctx, text).ReadAll()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(string(results[len(results)-1].Rows[0][0]), 10, 32)
	return uint32(n), err
}
