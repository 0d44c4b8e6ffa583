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
	maxHeader   = 1 << 20 // bytes of a response's header, including interim responses
	connBuffer  = 1 << 10 // per connection; small because there may be thousands, and larger data bypasses the buffer
	pingTime    = 15 * time.Second
	connsFloor  = 16 // minimum number of idle connections kept, even if the concurrency is lower
)

// newTransport returns the transport for calls to one agent. It uses HTTP/2 if the agent supports it, and the proxy
// from the environment. It closes connections after the given idle time. A changing call needs its permit
// (adapter.WithPermit) and is written only once. Only GET and HEAD are sent again if an idle connection breaks. Every
// call is counted, and kept if its context requests it. Only the context limits the time for a response.
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
		TLSClientConfig:        up.TLS.Clone(), // each transport adds its protocols
		TLSHandshakeTimeout:    dialTimeout,
		MaxIdleConns:           conns,
		MaxIdleConnsPerHost:    conns,
		IdleConnTimeout:        idle,
		MaxResponseHeaderBytes: maxHeader,
		ReadBufferSize:         connBuffer,
		WriteBufferSize:        connBuffer,
		DisableCompression:     true, // files are stored unchanged, and limits apply to the bytes on the wire
		ForceAttemptHTTP2:      true,
		// Without pings, an HTTP/2 connection that broke without an error would be used for call after call.
		HTTP2: &http.HTTP2Config{SendPingTimeout: pingTime, PingTimeout: pingTime},
	}
	if up.Through != nil {
		next = up.Through(next)
	}
	kept := &keeper{secrets: secrets, next: next}
	return &exchanger{meter: up.Meter, agent: up.Name, next: kept}
}

// conn is a connection that counts the bytes written to it.
type conn struct {
	net.Conn
	written atomic.Int64
}

func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.written.Add(int64(n))
	return n, err
}

// connOf returns the conn below TLS, or nil if the connection is of another type.
func connOf(c net.Conn) *conn {
	if t, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = t.NetConn()
	}
	own, _ := c.(*conn)
	return own
}
