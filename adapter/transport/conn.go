package transport

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"
)

var (
	errLongHeader = errors.New("transport: the header of the answer is too long")
	errSwitching  = errors.New("transport: the peer switches protocols, which nobody asked for")
)

// conn is a connection on which one call at a time is made.
type conn struct {
	net.Conn
	address string
	raw     syscall.RawConn // nil: not to be had
	r       *bufio.Reader
	w       *bufio.Writer

	reused bool      // an earlier call was answered on it
	wrote  bool      // something of this call may have reached the peer
	heard  bool      // something of its answer has come
	left   int64     // how much its header may still take; below 0: any number
	unused time.Time // since when
}

func newConn(c net.Conn, address string, t *http.Transport) *conn {
	made := &conn{Conn: c, address: address}
	if sc, ok := c.(syscall.Conn); ok {
		made.raw, _ = sc.SyscallConn()
	}
	const usual = 4 << 10
	made.r = bufio.NewReaderSize(made, cmp.Or(t.ReadBufferSize, usual))
	made.w = bufio.NewWriterSize(made, cmp.Or(t.WriteBufferSize, usual))
	return made
}

func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.wrote = c.wrote || n > 0
	return n, err
}

func (c *conn) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, errLongHeader
	}
	if c.left > 0 && int64(len(p)) > c.left {
		p = p[:c.left]
	}
	n, err := c.Conn.Read(p)
	c.heard = c.heard || n > 0
	if c.left > 0 {
		c.left -= int64(n)
	}
	return n, err
}

// call writes a request and reads the answer's header. Interim answers (RFC 9110,
// section 15.2) are passed by, however many come while an agent thinks: all of them
// together are as long as a header may be.
func (c *conn) call(req *http.Request, header int64) (*http.Response, error) {
	c.wrote, c.heard, c.left = false, false, header
	if err := req.Write(c.w); err != nil {
		return nil, err
	}
	if err := c.w.Flush(); err != nil {
		return nil, err
	}
	for {
		res, err := http.ReadResponse(c.r, req)
		switch {
		case err != nil:
			return nil, err
		case res.StatusCode == http.StatusSwitchingProtocols:
			return nil, errSwitching
		case res.StatusCode >= 200:
			c.left = -1
			return res, nil
		}
	}
}

// mayRepeat tells of a failed call that the peer cannot have acted on it, or that it
// does not matter: the connection was an older one, which the peer may have closed
// meanwhile. The rules are those of http.Transport.
func (c *conn) mayRepeat(req *http.Request) bool {
	if !c.reused || !c.wrote {
		return c.reused
	}
	return !c.heard && !hasBody(req) && (req.Method == http.MethodGet || req.Method == http.MethodHead)
}

// body is what an answer carries. When all of it was read the connection is free for
// another call. Close may be called beside Read.
type body struct {
	io.ReadCloser
	d     *Direct
	c     *conn
	ctx   context.Context
	stop  func() bool // keeps the end of ctx from closing the connection
	last  bool        // the peer takes no further call on the connection
	ended atomic.Bool
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case err == io.EOF:
		b.end(true)
	case err != nil:
		b.end(false)
		err = causeOf(b.ctx, err)
	}
	return n, err
}

// Close gives up what was not read: reading it could take for ever.
func (b *body) Close() error {
	b.end(false)
	return nil
}

func (b *body) end(whole bool) {
	if b.ended.Swap(true) {
		return
	}
	if b.stop() && whole && !b.last && b.c.r.Buffered() == 0 {
		b.d.keep(b.c)
		return
	}
	_ = b.c.Conn.Close()
}
