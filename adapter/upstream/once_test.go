package upstream_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"golang.org/x/net/http2"
)

// resetting is an HTTP/2 server that aborts every call with an error.
func resetting(t *testing.T, code http2.ErrCode) (url string, seen *atomic.Int64) {
	t.Helper()
	with := httptest.NewTLSServer(nil)
	certificates := with.TLS.Certificates
	with.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: certificates, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	seen = &atomic.Int64{}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go resetCalls(c, code, seen)
		}
	}()
	return "https://" + l.Addr().String(), seen
}

func resetCalls(c net.Conn, code http2.ErrCode, seen *atomic.Int64) {
	defer c.Close()
	r := bufio.NewReader(c)
	if _, err := io.ReadFull(r, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	framer := http2.NewFramer(c, r)
	_ = framer.WriteSettings()
	for {
		f, err := framer.ReadFrame()
		if err != nil {
			return
		}
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				_ = framer.WriteSettingsAck()
			}
		case *http2.HeadersFrame:
			seen.Add(1)
			_ = framer.WriteRSTStream(f.StreamID, code)
		}
	}
}

// TestNothingIsWrittenTwiceOverHTTP2 checks that a changing call is sent once, even if the server aborts it with an
// error that net/http retries.
func TestNothingIsWrittenTwiceOverHTTP2(t *testing.T) {
	t.Parallel()
	for _, code := range []http2.ErrCode{http2.ErrCodeProtocol, http2.ErrCodeRefusedStream} {
		for _, body := range []string{"", "x"} {
			url, seen := resetting(t, code)
			if _, _, err := call(t, transport(t, time.Minute), http.MethodPost, url, body); err == nil || seen.Load() != 1 {
				t.Errorf("%v, body %q: the server saw the call %d times; %v", code, body, seen.Load(), err)
			}
		}
	}
}

// TestNoCallWithoutAPermit checks that no part of a call is written if its lease ends while it gets a connection.
func TestNoCallWithoutAPermit(t *testing.T) {
	t.Parallel()
	var posts atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			posts.Add(1)
		}
	}))
	defer srv.Close()
	over := errors.New("the lease is over")
	rt := transport(t, time.Minute)
	for _, granted := range []int64{0, 1} {
		if _, _, err := call(t, rt, http.MethodGet, srv.URL, ""); err != nil { // an idle connection
			t.Fatal(err)
		}
		ctx, end := context.WithCancelCause(t.Context())
		var asked atomic.Int64
		ctx = adapter.WithPermit(ctx, func() error {
			if asked.Add(1) > granted {
				end(over)
				return over
			}
			return nil
		})
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL, nil)
		if res, err := rt.RoundTrip(req); err == nil {
			res.Body.Close()
			t.Errorf("the call was made although only %d permits were granted", granted)
		}
	}
	if posts.Load() != 0 {
		t.Errorf("%d calls arrived without a permit", posts.Load())
	}
}
