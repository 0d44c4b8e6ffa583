package upstream

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping/credential"
)

const (
	dialTimeout = 10 * time.Second
	maxHeader   = 1 << 20 // bytes of an answer's header, interim answers included
	connBuffer  = 1 << 10 // of a connection; there may be thousands, and what is larger goes past it
	pingTime    = 15 * time.Second
	connsFloor  = 16 // unused connections that are kept whatever the concurrency is
)

// newTransport makes the calls of one agent, over HTTP/2 where the agent speaks it, by the proxy that the environment
// names. A connection that is unused for idle is closed. A call that may change something needs its permit
// (adapter.WithPermit) and is written once: only GET and HEAD are sent again when an older connection breaks. Every
// call is counted, and kept where its context asks for that. How long an answer may take is for the context of the
// call.
func newTransport(up adapter.Upstream, secrets credential.Set, idle time.Duration) http.RoundTripper {
	conns := max(up.Config.Concurrency, connsFloor)
	dialer := &net.Dialer{Timeout: dialTimeout}
	var next http.RoundTripper = &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &conn{Conn: c}, nil
		},
		TLSClientConfig:        up.TLS.Clone(), // each transport adds the protocols that it speaks
		TLSHandshakeTimeout:    dialTimeout,
		MaxIdleConns:           conns,
		MaxIdleConnsPerHost:    conns,
		IdleConnTimeout:        idle,
		MaxResponseHeaderBytes: maxHeader,
		ReadBufferSize:         connBuffer,
		WriteBufferSize:        connBuffer,
		DisableCompression:     true, // an agent's files are stored as they are, and a limit on bytes means these
		ForceAttemptHTTP2:      true,
		// A connection of HTTP/2 that has died in silence would be used for call after call.
		HTTP2: &http.HTTP2Config{SendPingTimeout: pingTime, PingTimeout: pingTime},
	}
	if up.Through != nil {
		next = up.Through(next)
	}
	kept := &keeper{secrets: secrets, next: next}
	return &exchanger{meter: up.Meter, agent: up.Name, next: kept}
}

// conn is a connection that counts what was written to it.
type conn struct {
	net.Conn
	written atomic.Int64
}

func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.written.Add(int64(n))
	return n, err
}

// connOf finds the connection below TLS; nil: it is not one of ours.
func connOf(c net.Conn) *conn {
	if t, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = t.NetConn()
	}
	own, _ := c.(*conn)
	return own
}
