package sqldb

import (
	"context"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/apbridge/apbridge/proxy/store/sqldb/line"
	"github.com/jackc/pgx/v5"
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
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = 5 * time.Second
	}
	if _, given := c.RuntimeParams["application_name"]; !given {
		c.RuntimeParams["application_name"] = "apbridge"
	}
}

// keepLines has the pool's connections run over lines, and get the settings that the URL leaves out. Those are no
// parameters of the connection's start: a pooler in between takes few of them.
func (p *postgres) keepLines(cfg *pgxpool.Config) {
	given := cfg.ConnConfig.RuntimeParams
	text := `SELECT pg_backend_pid()`
	for key, value := range p.settings() {
		if _, there := given[key]; !there {
			text += `, set_config('` + key + `', '` + value + `', false)`
		}
	}
	cfg.ConnConfig.DialFunc = p.lines.Over(cfg.ConnConfig.DialFunc)
	cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		ctx, stop := context.WithTimeout(ctx, cfg.ConnConfig.ConnectTimeout)
		defer stop()
		pid, err := first(ctx, conn, text)
		if err == nil {
			line.Serves(conn, pid)
		}
		return err
	}
	cfg.BeforeClose = func(conn *pgx.Conn) { _ = conn.PgConn().Conn().SetDeadline(time.Now().Add(farewellMost)) }
}

// settings are those of a connection.
func (p *postgres) settings() map[string]string {
	list := map[string]string{"idle_in_transaction_session_timeout": itoa(idleMost.Milliseconds())}
	if p.relaxed {
		list["synchronous_commit"] = "off"
	}
	return list
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
