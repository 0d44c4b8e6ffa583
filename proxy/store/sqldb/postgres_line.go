package sqldb

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// line is a connection to the server that knows how long it is waited for.
type line struct {
	net.Conn
	of       *lines
	pid      atomic.Uint32 // of the process that serves it; 0: not known yet
	since    atomic.Int64  // when the wait began, in nanoseconds of the clock of lines; 0: nobody waits
	suspects int64         // since, where the server said that it does nothing; of the goroutine that looks
}

func (l *line) Read(b []byte) (int, error) {
	l.since.Store(l.of.now())
	defer l.since.Store(0)
	return l.Conn.Read(b)
}

// Write waits for each part alone: much of it may be on its way for long.
func (l *line) Write(b []byte) (done int, err error) {
	const part = 64 << 10
	for done < len(b) && err == nil {
		var n int
		l.since.Store(l.of.now())
		n, err = l.Conn.Write(b[done:min(done+part, len(b))])
		done += n
	}
	l.since.Store(0)
	return done, err
}

func (l *line) Close() error {
	l.of.mu.Lock()
	delete(l.of.open, l)
	l.of.mu.Unlock()
	return l.Conn.Close()
}

// lines are the open connections of a pool. Safe for concurrent use.
type lines struct {
	start time.Time

	mu   sync.Mutex
	open map[*line]struct{}
}

func newLines() *lines { return &lines{start: time.Now(), open: map[*line]struct{}{}} }

func (s *lines) now() int64 { return int64(time.Since(s.start)) }

// over has a way to dial make lines.
func (s *lines) over(dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		l := &line{Conn: conn, of: s}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open[l] = struct{}{}
		return l, nil
	}
}

// lineOf is the line that a connection runs over.
func lineOf(conn *pgx.Conn) (*line, bool) {
	c := conn.PgConn().Conn()
	if secure, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = secure.NetConn()
	}
	l, ok := c.(*line)
	return l, ok
}

// waited are the lines that have been waited for longer than most, and since when.
func (s *lines) waited(most time.Duration) map[*line]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[*line]int64{}
	for l := range s.open {
		if since := l.since.Load(); since > 0 && s.now()-since > int64(most) && l.pid.Load() != 0 {
			found[l] = since
		}
	}
	return found
}
