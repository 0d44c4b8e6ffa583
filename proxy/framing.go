package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/guard"
)

const codeFraming = "bad_framing"

// framingGuard refuses a request whose end other programs could find elsewhere (RFC 9112 section 6.1). It closes the
// connection after each chunked request, so that nothing after it is read as a request.
type framingGuard struct{ refuser }

func (g framingGuard) Pass(x *guard.Exchange) bool {
	h, ok := x.Request.Context().Value(headsKey{}).(*heads)
	if !ok { // not one of our connections
		return true
	}
	f := h.next()
	if f != (framing{}) {
		x.Writer.Header().Set("Connection", "close")
	}
	why := f.fault(x.Request)
	if why == "" {
		return true
	}
	g.refuse(x.Writer, x.Request, mapping.Errorf(mapping.Malformed, codeFraming, "The request is refused because it could be read in two ways: %s.", why))
	return false
}

// framing describes how the head of a request marks its end. It is zero for ordinary requests.
type framing struct {
	coded  bool // Transfer-Encoding
	length bool // Content-Length, only relevant together with another oddity
	unread bool // a Content-Length that is not a plain number
	bare   bool // a line ends without a carriage return
}

func (f framing) plain() bool { return !f.coded && !f.unread && !f.bare }

// fault returns why a request is refused, or "".
func (f framing) fault(r *http.Request) string {
	switch {
	case f.coded && f.length:
		return "it has Transfer-Encoding and Content-Length"
	case f.coded && !r.ProtoAtLeast(1, 1):
		return "it has Transfer-Encoding in HTTP/1.0"
	case f.unread:
		return "its Content-Length is not a plain number"
	case f.bare:
		return "a line of its head ends without a carriage return"
	}
	return ""
}

// framedListener inspects the heads of requests as they are read, because net/http removes Content-Length next to
// Transfer-Encoding before a handler can see it.
type framedListener struct{ net.Listener }

func (l framedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok && err == nil {
		return &framedConn{TCPConn: tcp}, nil
	}
	return c, err
}

type framedConn struct {
	*net.TCPConn
	heads heads
	left  atomic.Pointer[func()] // called when a hijacked connection is closed
}

// hijacked ends the inspection, because no further requests follow.
func (c *framedConn) hijacked(left func()) {
	c.left.Store(&left)
	c.heads.stop()
}

// Close closes the connection. It may be called again.
func (c *framedConn) Close() error {
	if left := c.left.Swap(nil); left != nil {
		(*left)()
	}
	return c.TCPConn.Close()
}

func (c *framedConn) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	c.heads.take(b[:n])
	return n, err
}

// framedTLSConn is a framedConn with TLS around it.
type framedTLSConn struct {
	*tls.Conn
	heads heads
}

func (c *framedTLSConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.heads.take(b[:n])
	return n, err
}

// framedTLS inspects the heads of requests if the client has negotiated HTTP/1.1. In HTTP/2 the end of a request is
// unambiguous.
func framedTLS(c *tls.Conn) net.Conn {
	if c.ConnectionState().NegotiatedProtocol == "h2" {
		return c
	}
	return &framedTLSConn{Conn: c}
}

type headsKey struct{}

// withHeads makes the heads of a connection available to its handlers.
func withHeads(ctx context.Context, c net.Conn) context.Context {
	switch framed := c.(type) {
	case *framedConn:
		return context.WithValue(ctx, headsKey{}, &framed.heads)
	case *framedTLSConn:
		return context.WithValue(ctx, headsKey{}, &framed.heads)
	}
	return ctx
}

// lineMost is the number of bytes of a line that are kept: enough for the inspected fields.
const lineMost = 1 << 10

// heads follows the heads of the requests on a connection up to the first that is not plain, which is the last one to
// be served. It receives the bytes that net/http reads. Handlers query it.
type heads struct {
	mu    sync.Mutex
	line  []byte // of the current line, at most lineMost
	tail  byte   // the last byte of the current line
	begun bool   // a request line was read, but not the end of its head
	head  framing
	body  int64 // bytes of the body that are still to come
	read  int   // complete heads
	asked int   // requests about which handlers have queried
	over  bool  // the last head was not plain: nothing more is inspected
}

// next returns the framing of the next request.
func (h *heads) next() framing {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked++
	if h.over && h.asked == h.read {
		return h.head
	}
	return framing{}
}

// stop ends the inspection.
func (h *heads) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over, h.line = true, nil
}

// take inspects bytes that were read from the connection.
func (h *heads) take(b []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(b) > 0 && !h.over {
		if h.body > 0 && !h.begun {
			n := min(h.body, int64(len(b)))
			h.body, b = h.body-n, b[n:]
			continue
		}
		piece, rest, ended := bytes.Cut(b, []byte{'\n'})
		h.line = append(h.line, piece[:min(len(piece), lineMost-len(h.line))]...)
		if len(piece) > 0 {
			h.tail = piece[len(piece)-1]
		}
		if ended {
			h.endLine()
			h.line, h.tail = h.line[:0], 0
		}
		b = rest
	}
}

// endLine processes a line. Like net/http, it ignores empty lines before a request.
func (h *heads) endLine() {
	line := bytes.TrimSuffix(h.line, []byte{'\r'})
	if len(line) == 0 && !h.begun {
		return
	}
	h.head.bare = h.head.bare || h.tail != '\r'
	switch {
	case !h.begun:
		h.begun = true
	case len(line) > 0:
		h.field(line)
	default:
		h.endHead()
	}
}

func (h *heads) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte{':'})
	switch {
	case bytes.EqualFold(name, []byte("Transfer-Encoding")):
		h.head.coded = true
	case bytes.EqualFold(name, []byte("Content-Length")):
		n, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
		h.head.length, h.body = true, n
		h.head.unread = h.head.unread || err != nil || n < 0 || len(line) == lineMost
	}
}

func (h *heads) endHead() {
	h.read++
	h.begun = false
	if h.head.plain() {
		h.head = framing{}
		return
	}
	h.over, h.line = true, nil
}
