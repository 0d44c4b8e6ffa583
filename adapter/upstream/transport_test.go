package upstream_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/config"
)

// peer is a server of raw bytes: a script serves each connection.
type peer struct {
	url   string
	conns atomic.Int64 // accepted so far
}

// wire is the connection that a script serves.
type wire struct {
	net.Conn
	r *bufio.Reader
}

// request reads a complete request and returns its body. ok is false if the connection ended.
func (w *wire) request() (body string, ok bool) {
	req, err := http.ReadRequest(w.r)
	if err != nil {
		return "", false
	}
	raw, _ := io.ReadAll(req.Body)
	return string(raw), true
}

func (w *wire) say(text string) { _, _ = io.WriteString(w, text) }

func listen(t *testing.T, script func(w *wire, n int64)) *peer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{url: "http://" + l.Addr().String()}
	var open sync.WaitGroup
	open.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n := p.conns.Add(1)
			open.Go(func() {
				defer c.Close()
				stop := context.AfterFunc(t.Context(), func() { c.Close() })
				defer stop()
				script(&wire{c, bufio.NewReader(c)}, n)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		open.Wait()
	})
	return p
}

// transport returns the transport for the agent of one test.
func transport(t testing.TB, idle time.Duration) http.RoundTripper {
	rt := upstream.NewTransport(adapter.Upstream{Name: "agent"}, nil, idle)
	t.Cleanup(rt.(interface{ CloseIdleConnections() }).CloseIdleConnections)
	return rt
}

func call(t *testing.T, rt http.RoundTripper, method, url, body string, header ...string) (status int, answer string, err error) {
	t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, r)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header) && header[i+1] != ""; i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := rt.RoundTrip(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	return res.StatusCode, string(raw), err
}

const hi = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

// Responses in all forms of HTTP/1.1 (RFC 9112, section 6) are read, and a connection serves as many calls as the peer
// allows.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, answer string
		method       string
		status       int
		body         string
		fails        bool
		once         bool // the connection serves one call
	}{
		{name: "of known length", answer: hi, status: 200, body: "hi"},
		{name: "in chunks", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nh\r\n1\r\ni\r\n0\r\n\r\n", status: 200, body: "hi"},
		{name: "to the end of the connection", answer: "HTTP/1.1 200 OK\r\n\r\nhi", status: 200, body: "hi", once: true},
		{name: "of HTTP/1.0", answer: "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", status: 200, body: "hi", once: true},
		{name: "the last one", answer: "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi", status: 200, body: "hi", once: true},
		{name: "without a body", answer: "HTTP/1.1 204 No Content\r\n\r\n", status: 204},
		{name: "empty", answer: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", status: 200},
		{name: "to HEAD", method: http.MethodHead, answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", status: 200},
		{name: "after interim ones", answer: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + hi, status: 200, body: "hi"},
		{name: "after many that only say that the peer is at it", answer: strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 100) + hi, status: 200, body: "hi"},
		{name: "after interim ones without end", answer: strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 64<<10), fails: true, once: true},
		{name: "with more than was asked for", answer: hi + "HTTP/1.1 200 OK\r\n\r\n", status: 200, body: "hi", once: true},
		{name: "too short", answer: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi", fails: true, once: true},
		{name: "that is none", answer: "SSH-2.0-OpenSSH_9.2\r\n\r\n", fails: true, once: true},
		{name: "with a header without end", answer: "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 2<<20) + "\r\n\r\n", fails: true, once: true},
		{name: "broken off in its header", answer: "HTTP/1.1 200 OK\r\nContent-", fails: true, once: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rt := transport(t, time.Minute)
			p := listen(t, func(w *wire, _ int64) {
				for _, ok := w.request(); ok; _, ok = w.request() {
					if w.say(c.answer); c.once {
						return
					}
				}
			})
			method := c.method
			if method == "" {
				method = http.MethodPost
			}
			for range 3 {
				status, body, err := call(t, rt, method, p.url, "")
				if (err != nil) != c.fails || !c.fails && (status != c.status || body != c.body) {
					t.Fatalf("%d %q, %v", status, body, err)
				}
			}
			want := int64(1)
			if c.once {
				want = 3
			}
			if n := p.conns.Load(); n != want {
				t.Errorf("%d connections, want %d", n, want)
			}
		})
	}
}

// A server may close an idle connection at any time. Once this side has noticed, the connection must not be used for
// another call.
func TestConnectionsThatThePeerHasClosedAreNotUsed(t *testing.T) {
	t.Parallel()
	rt := transport(t, time.Minute)
	closed := make(chan struct{})
	p := listen(t, func(w *wire, n int64) {
		if _, ok := w.request(); ok {
			w.say(hi)
		}
		if n == 1 {
			_ = w.Conn.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, w.Conn) // until the client has closed it too
			close(closed)
			return
		}
		_, _ = w.request()
	})
	if _, _, err := call(t, rt, http.MethodPost, p.url, "one"); err != nil {
		t.Fatal(err)
	}
	<-closed
	if _, _, err := call(t, rt, http.MethodPost, p.url, "two"); err != nil {
		t.Errorf("a POST was lost on a closed connection: %v", err)
	}
}

// If a connection breaks during a call, a read is sent again. A call on which the agent may have acted is not.
func TestBrokenConnections(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, body, key string
		seen              int // requests
		fails             bool
	}{
		{http.MethodPost, "x", "", 2, true},
		{http.MethodPost, "", "", 2, true},
		{http.MethodPost, "x", "k", 2, true}, // net/http on its own would send it again
		{http.MethodPost, "", "k", 2, true},
		{http.MethodDelete, "", "k", 2, true},
		{http.MethodGet, "", "", 3, false},
	} {
		t.Run(c.method+" "+c.body+c.key, func(t *testing.T) {
			t.Parallel()
			rt := transport(t, time.Minute)
			var seen atomic.Int64
			p := listen(t, func(w *wire, _ int64) {
				for _, ok := w.request(); ok; _, ok = w.request() {
					if seen.Add(1) == 2 {
						return // the second call, on the connection of the first
					}
					w.say(hi)
				}
			})
			if _, _, err := call(t, rt, c.method, p.url, c.body); err != nil {
				t.Fatal(err)
			}
			if _, _, err := call(t, rt, c.method, p.url, c.body, "Idempotency-Key", c.key); (err != nil) != c.fails {
				t.Errorf("the second call: %v", err)
			}
			if n := seen.Load(); n != int64(c.seen) {
				t.Errorf("the peer saw %d requests, want %d", n, c.seen)
			}
		})
	}
}

func TestNoServerThere(t *testing.T) {
	t.Parallel()
	rt := transport(t, time.Minute)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	_, _, err = call(t, rt, http.MethodPost, "http://"+l.Addr().String(), "x")
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "dial" {
		t.Errorf("the error does not show that no connection was made: %v", err)
	}
}

// A cancelled call ends at once, both while waiting for the header and while reading the body.
func TestCancelled(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{"waiting": "", "reading": "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rt := transport(t, time.Minute)
			asked, gone := make(chan struct{}), make(chan struct{})
			p := listen(t, func(w *wire, _ int64) {
				_, _ = w.request()
				w.say(answer)
				close(asked)
				_, _ = w.r.ReadByte() // until the other side closes
				close(gone)
			})
			ctx, cancel := context.WithCancel(t.Context())
			req, _ := http.NewRequestWithContext(ctx, http.MethodPost, p.url, strings.NewReader("x"))
			done := make(chan error, 1)
			go func() {
				res, err := rt.RoundTrip(req)
				if err == nil {
					_, err = io.ReadAll(res.Body)
					res.Body.Close()
				}
				done <- err
			}()
			<-asked
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			<-gone
		})
	}
}

// A call whose caller has already gone is not made, because nobody would receive the result.
func TestNothingIsSentForACancelledCaller(t *testing.T) {
	t.Parallel()
	rt := transport(t, time.Minute)
	var seen atomic.Int64
	p := listen(t, func(w *wire, _ int64) {
		for _, ok := w.request(); ok; _, ok = w.request() {
			seen.Add(1)
			w.say(hi)
		}
	})
	why := errors.New("not wanted any more")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	for range 20 {
		if _, _, err := call(t, rt, http.MethodPost, p.url, "x"); err != nil { // opens a connection
			t.Fatal(err)
		}
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, p.url, strings.NewReader("y"))
		if _, err := rt.RoundTrip(req); !errors.Is(err, why) {
			t.Fatalf("got %v", err)
		}
	}
	if _, _, err := call(t, rt, http.MethodPost, p.url, "x"); err != nil || seen.Load() != 21 {
		t.Errorf("the peer saw %d requests, want 21; %v", seen.Load(), err)
	}
}

// A header that cannot be sent unchanged is refused.
func TestInvalidHeaders(t *testing.T) {
	t.Parallel()
	rt := transport(t, time.Minute)
	p := listen(t, func(w *wire, _ int64) { _, _ = w.request(); w.say(hi) })
	for name, value := range map[string]string{"X-Id": "a\nb", "X-Nul": "\x00", "X Space": "a", "": "a"} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url, nil)
		req.Header[name] = []string{value}
		if res, err := rt.RoundTrip(req); err == nil {
			res.Body.Close()
			t.Errorf("%q: %q was sent", name, value)
		}
	}
	if n := p.conns.Load(); n != 0 {
		t.Errorf("%d connections", n)
	}
}

func TestTimeOut(t *testing.T) {
	t.Parallel()
	rt := transport(t, time.Minute)
	p := listen(t, func(w *wire, _ int64) { _, _ = w.request(); _, _ = w.r.ReadByte() })
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, p.url, nil)
	if _, err := rt.RoundTrip(req); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// A body may be closed while a reader waits for more data.
func TestBodyClosedDuringARead(t *testing.T) {
	t.Parallel()
	rt := transport(t, time.Minute)
	p := listen(t, func(w *wire, _ int64) {
		_, _ = w.request()
		w.say("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
		_, _ = w.r.ReadByte()
	})
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url, nil)
	res, err := rt.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 9)
	if _, err := io.ReadFull(res.Body, first); err != nil || string(first) != "data: 1\n\n" {
		t.Fatalf("%q, %v", first, err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := res.Body.Read(first)
		done <- err
	}()
	res.Body.Close()
	if err := <-done; err == nil {
		t.Error("a read succeeded after Close")
	}
}

// Closing a response that was not read to its end closes its connection.
func TestUnreadResponsesCloseTheirConnection(t *testing.T) {
	t.Parallel()
	rt := transport(t, time.Minute)
	gone := make(chan struct{}, 2)
	p := listen(t, func(w *wire, _ int64) {
		_, _ = w.request()
		w.say("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
		_, _ = w.r.ReadByte()
		gone <- struct{}{}
	})
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url, nil)
	res, err := rt.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	<-gone
}

// The proxy from the environment is used for agents on other hosts.
func TestProxyFromTheEnvironment(t *testing.T) {
	t.Parallel()
	if status, via, err := call(t, transport(t, time.Minute), http.MethodPost, "http://agent.example/x", "four"); err != nil || status != 200 || via != "proxied http://agent.example/x" {
		t.Errorf("%d %q, %v", status, via, err)
	}
}

// Agents that support HTTP/2 are called over HTTP/2, others over HTTP/1.1.
func TestProtocols(t *testing.T) {
	t.Parallel()
	for _, want := range []string{"HTTP/1.1", "HTTP/2.0"} {
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n, _ := io.Copy(io.Discard, r.Body)
			fmt.Fprint(w, r.Proto, " ", n)
		}))
		srv.EnableHTTP2 = want == "HTTP/2.0"
		srv.StartTLS()
		defer srv.Close()
		rt := transport(t, time.Minute)
		for _, size := range []int{0, 4, 3 << 20} {
			if _, said, err := call(t, rt, http.MethodPost, srv.URL, strings.Repeat("x", size)); err != nil || said != fmt.Sprint(want, " ", size) {
				t.Errorf("%s: %q, %v", want, said, err)
			}
		}
	}
}

// Compressed bodies are not decompressed, because limits apply to the bytes that the agent sends.
func TestNothingIsDecompressed(t *testing.T) {
	t.Parallel()
	p := listen(t, func(w *wire, _ int64) {
		req, err := http.ReadRequest(w.r)
		if err != nil {
			return
		}
		text := "accepts " + req.Header.Get("Accept-Encoding")
		w.say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", len(text), text))
	})
	if _, said, err := call(t, transport(t, time.Minute), http.MethodGet, p.url, ""); err != nil || said != "accepts " {
		t.Errorf("%q, %v", said, err)
	}
}

// If a peer responds to a large request before reading all of it, the response is received.
func TestEarlyResponsesAreReceived(t *testing.T) {
	t.Parallel()
	rt := transport(t, time.Minute)
	p := listen(t, func(w *wire, _ int64) {
		_, _ = w.r.Peek(1000)
		w.say("HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
		_, _ = io.Copy(io.Discard, w.r)
	})
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url, bytes.NewReader(make([]byte, 64<<20)))
	if res, err := rt.RoundTrip(req); err == nil {
		defer res.Body.Close()
		if res.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("status %d", res.StatusCode)
		}
	} else {
		t.Error(err)
	}
}

func TestIdleConnections(t *testing.T) {
	t.Parallel()
	serve := func(t *testing.T) (*peer, chan struct{}) {
		gone := make(chan struct{}, 64)
		return listen(t, func(w *wire, _ int64) {
			for _, ok := w.request(); ok; _, ok = w.request() {
				w.say(hi)
			}
			gone <- struct{}{}
		}), gone
	}
	t.Run("are closed after their time", func(t *testing.T) {
		t.Parallel()
		p, gone := serve(t)
		if _, _, err := call(t, transport(t, 20*time.Millisecond), http.MethodPost, p.url, "x"); err != nil {
			t.Fatal(err)
		}
		<-gone
	})
	t.Run("are closed on demand", func(t *testing.T) {
		t.Parallel()
		p, gone := serve(t)
		rt := transport(t, time.Minute)
		for range 2 {
			if _, _, err := call(t, rt, http.MethodPost, p.url, "x"); err != nil {
				t.Fatal(err)
			}
			rt.(interface{ CloseIdleConnections() }).CloseIdleConnections()
			<-gone
		}
	})
	t.Run("are as many as runs of the agent", func(t *testing.T) {
		t.Parallel()
		const runs = 24
		p, gone := serve(t)
		rt := upstream.NewTransport(adapter.Upstream{Config: config.Agent{Concurrency: runs}}, nil, time.Minute)
		t.Cleanup(rt.(interface{ CloseIdleConnections() }).CloseIdleConnections)
		together := func(n int) {
			var bodies []io.ReadCloser
			for range n {
				req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url, nil)
				res, err := rt.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				bodies = append(bodies, res.Body)
			}
			for _, b := range bodies {
				_, _ = io.ReadAll(b)
				_ = b.Close()
			}
		}
		together(runs)
		together(runs)
		if n := p.conns.Load(); n != runs {
			t.Errorf("%d connections for %d runs", n, runs)
		}
		together(runs + 1)
		<-gone // one more than is kept
	})
}

// With many concurrent calls, some of them cancelled, no caller reads the response of another.
func TestManyCalls(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		_, _ = w.Write(raw)
	}))
	defer srv.Close()
	rt := transport(t, time.Minute)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for n := range 100 {
				ctx, cancel := context.WithCancel(t.Context())
				if n%7 == 0 {
					time.AfterFunc(time.Duration(n)*10*time.Microsecond, cancel)
				}
				want := fmt.Sprintf("call %d of %d", n, i)
				req, _ := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL, strings.NewReader(want))
				if res, err := rt.RoundTrip(req); err == nil {
					got, err := io.ReadAll(res.Body)
					if err == nil && string(got) != want {
						t.Errorf("got %q, want %q", got, want)
					}
					res.Body.Close()
				} else if n%7 != 0 {
					t.Error(err)
				}
				cancel()
			}
		})
	}
	all.Wait()
}
