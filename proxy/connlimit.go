package proxy

import (
	"bytes"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

const codeOverloaded = "overloaded"

// spareFiles is the number of descriptors for uses other than clients' connections: the database, agents, webhooks and
// monitoring.
const spareFiles = 64

// connLimit counts the clients' connections, so that requests can be refused while there are still descriptors for the
// refusal.
type connLimit struct {
	open atomic.Int64
	most int64 // 0: no limit
}

// mostConnections leaves a quarter of the descriptors to other uses.
func mostConnections(files int64) int64 {
	if files <= 0 {
		return 0
	}
	return max(files-max(files/4, spareFiles), 1)
}

// watch is called at every change of a connection's state. net/http does not report the end of a hijacked connection,
// such as that of a WebSocket, so such a connection is counted until it is closed.
func (c *connLimit) watch(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		c.open.Add(1)
	case http.StateClosed:
		c.open.Add(-1)
	case http.StateHijacked:
		if f, ok := conn.(*framedConn); ok {
			f.hijacked(func() { c.open.Add(-1) })
		} else {
			c.open.Add(-1)
		}
	}
}

func (c *connLimit) full() bool { return c.most > 0 && c.open.Load() > c.most }

// acceptQuiet is the minimum interval between log lines about connections that cannot be accepted.
const acceptQuiet = 10 * time.Second

// problems receives the log of net/http, which reports up to two hundred times a second that it cannot accept
// connections. Only the first report of an interval is logged.
type problems struct {
	log *zap.Logger

	mu   sync.Mutex
	last time.Time
}

func (c *problems) Write(line []byte) (int, error) {
	text := string(bytes.TrimSpace(line))
	if !bytes.Contains(line, []byte("Accept error")) {
		c.log.Info(text)
		return len(line), nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.last) >= acceptQuiet {
		c.last = now
		c.log.Warn("could not accept connections; retrying. If file descriptors ran out, raise the limit (ulimit -n)", zap.String("cause", text))
	}
	return len(line), nil
}
