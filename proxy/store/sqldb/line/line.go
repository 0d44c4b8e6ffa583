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

// line is a connection to the server that knows how long it is waited for.
type line struct {
	net.Conn
	of       *Lines
	pid      atomic.Uint32 // of the process that serves it; 0: not known yet
	since    atomic.Int64  // when the wait began, in nanoseconds of the clock of Lines; 0: it is not waited for
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

// Lines are the open connections of a pool. Safe for concurrent use.
type Lines struct {
	start time.Time

	mu   sync.Mutex
	open map[*line]struct{}
}

// New returns Lines without a connection.
func New() *Lines { return &Lines{start: time.Now(), open: map[*line]struct{}{}} }

func (s *Lines) now() int64 { return int64(time.Since(s.start)) }

// Over returns a way to dial whose connections are lines.
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

// Serves notes which process of the server is behind a connection. Waited leaves out a line of which that is not known.
// It does nothing where the connection runs over no line.
func Serves(conn *pgx.Conn, pid uint32) {
	c := conn.PgConn().Conn()
	if secure, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = secure.NetConn()
	}
	if l, ok := c.(*line); ok {
		l.pid.Store(pid)
	}
}

// Waiting are lines that are waited for, and since when.
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

// GiveUp closes the lines that the server does nothing for, or all where it is away, and counts them. The server has to
// have said twice of one wait that it does nothing for it. Called by one goroutine.
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
