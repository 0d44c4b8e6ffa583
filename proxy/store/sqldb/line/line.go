package line

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// line is a connection to the server that records how long it has been waited for.
type line struct {
	net.Conn
	of       *Lines
	pid      atomic.Uint32 // of the process that serves it; 0 if not known yet
	since    atomic.Int64  // when the wait began, in nanoseconds of the clock of Lines; 0 if nobody waits
	suspects int64         // since, when the server was idle; used only by the goroutine that calls GiveUp
}

func (l *line) Read(b []byte) (int, error) {
	l.since.Store(l.of.now())
	defer l.since.Store(0)
	return l.Conn.Read(b)
}

// Write times each part separately, because a large write may take long.
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

// Lines holds the open connections of a pool. Safe for concurrent use.
type Lines struct {
	start time.Time

	mu   sync.Mutex
	open map[*line]struct{}
}

func New() *Lines { return &Lines{start: time.Now(), open: map[*line]struct{}{}} }

func (s *Lines) now() int64 { return int64(time.Since(s.start)) }

// Over wraps dial so that its connections are lines.
func (s *Lines) Over(dial pgconn.DialFunc) pgconn.DialFunc {
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

// Serves records which server process serves a connection. Waited skips lines without a known process. Serves does
// nothing if the connection is not a line.
func Serves(conn *pgx.Conn, pid uint32) {
	c := conn.PgConn().Conn()
	if secure, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = secure.NetConn()
	}
	if l, ok := c.(*line); ok {
		l.pid.Store(pid)
	}
}

// Waiting maps the lines that are being waited for to the start of the wait.
type Waiting map[*line]int64

// Waited returns the lines that have been waited for longer than most.
func (s *Lines) Waited(most time.Duration) Waiting {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := Waiting{}
	for l := range s.open {
		if since := l.since.Load(); since > 0 && s.now()-since > int64(most) && l.pid.Load() != 0 {
			found[l] = since
		}
	}
	return found
}

// GiveUp closes the lines whose server processes are not busy, and returns their number. Unless the server is away, it
// closes a line only if its process was idle in two successive calls during the same wait. It must be called from one
// goroutine.
func (w Waiting) GiveUp(busy map[uint32]bool, away bool) (closed int) {
	for l, since := range w {
		switch {
		case busy[l.pid.Load()]:
			l.suspects = 0
		case !away && l.suspects != since:
			l.suspects = since
		case l.since.Load() == since:
			_ = l.Close()
			closed++
		}
	}
	return closed
}
