package transport_test

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
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/transport"
)

// peer is a server of raw bytes: each connection is served by a script.
type peer struct {
	url   string
	conns atomic.Int64 // accepted so far
}

// wire is one connection as a script sees it.
type wire struct {
	net.Conn
	r *bufio.Reader
}

// request reads a whole request and returns its body; ok is false when there is none.
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

// configured is a transport for one test.
func configured() *http.Transport {
	return &http.Transport{
		DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext, IdleConnTimeout: time.Minute, MaxIdleConnsPerHost: 16,
		DisableCompression: true, MaxResponseHeaderBytes: 64 << 10,
	}
}

// both are a Direct and the http.Transport it must not be told from.
func both(t *testing.T, test func(t *testing.T, rt http.RoundTripper)) {
	for name, make := range map[string]func() http.RoundTripper{
		"direct":         func() http.RoundTripper { return transport.NewDirect(configured()) },
		"http.Transport": func() http.RoundTripper { return configured() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rt := make()
			defer rt.(interface{ CloseIdleConnections() }).CloseIdleConnections()
			test(t, rt)
		})
	}
}

func call(t *testing.T, rt http.RoundTripper, method, url, body string) (status int, answer string, err error) {
	t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, r)
	if err != nil {
		t.Fatal(err)
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

// Answers in all the ways HTTP/1.1 has (RFC 9112, section 6) are read alike, and a
// connection serves as many calls as the peer lets it.
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
		{name: "after interim ones without end", answer: strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 4<<10), fails: true, once: true},
		{name: "with more than was asked for", answer: hi + "HTTP/1.1 200 OK\r\n\r\n", status: 200, body: "hi", once: true},
		{name: "too short", answer: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi", fails: true, once: true},
		{name: "that is none", answer: "SSH-2.0-OpenSSH_9.2\r\n\r\n", fails: true, once: true},
		{name: "with a header without end", answer: "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 80<<10) + "\r\n\r\n", fails: true, once: true},
		{name: "broken off in its header", answer: "HTTP/1.1 200 OK\r\nContent-", fails: true, once: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			both(t, func(t *testing.T, rt http.RoundTripper) {
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
		})
	}
}

// What a call says is what net/http would say.
func TestRequests(t *testing.T) {
	t.Parallel()
	var said [2]string
	for i, rt := range []http.RoundTripper{transport.NewDirect(configured()), configured()} {
		p := listen(t, func(w *wire, _ int64) {
			raw := make([]byte, 4096)
			n, _ := w.Read(raw)
			said[i] = string(raw[:n])
			w.say(hi)
		})
		req, _ := http.NewRequest(http.MethodPost, p.url+"/a%2Fb/c?d=e f", strings.NewReader(`{"a":1}`))
		req.Host, req.Header["X-Secret"] = "agent.example", []string{"s"}
		req.Header.Set("Content-Type", "application/json")
		res, err := rt.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	if said[0] != said[1] || !strings.Contains(said[0], `{"a":1}`) {
		t.Errorf("said %q, net/http says %q", said[0], said[1])
	}
}

// A server may close a connection that nobody uses at any time: the next call must
// not go into it.
func TestConnectionsThatThePeerHasClosedAreNotUsed(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, rt http.RoundTripper) {
		closed := make(chan struct{})
		p := listen(t, func(w *wire, n int64) {
			if _, ok := w.request(); ok {
				w.say(hi)
			}
			if n == 1 {
				_ = w.Conn.Close()
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
			t.Errorf("a POST was lost on a connection that is closed: %v", err)
		}
	})
}

// A connection that breaks while it is used: what may have been acted on is not sent
// again, what only asks is.
func TestBrokenConnections(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, body string
		seen         int // requests
		fails        bool
	}{
		{http.MethodPost, "x", 2, true},
		{http.MethodPost, "", 2, true},
		{http.MethodGet, "", 3, false},
	} {
		t.Run(c.method+" "+c.body, func(t *testing.T) {
			t.Parallel()
			both(t, func(t *testing.T, rt http.RoundTripper) {
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
				if _, _, err := call(t, rt, c.method, p.url, c.body); (err != nil) != c.fails {
					t.Errorf("the second call: %v", err)
				}
				if n := seen.Load(); n != int64(c.seen) {
					t.Errorf("the peer saw %d requests, want %d", n, c.seen)
				}
			})
		})
	}
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, rt http.RoundTripper) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		_, _, err = call(t, rt, http.MethodPost, "http://"+l.Addr().String(), "x")
		var op *net.OpError
		if !errors.As(err, &op) || op.Op != "dial" {
			t.Errorf("%v does not say that no connection was made", err)
		}
	})
}

// Whoever is not wanted any more is let go at once, in the header and in the body.
func TestCancelled(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{"waiting": "", "reading": "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			both(t, func(t *testing.T, rt http.RoundTripper) {
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
		})
	}
}

// Who has left before the call does not make it: nobody could tell any more what
// came of it.
func TestNothingIsSentForWhoHasLeft(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, rt http.RoundTripper) {
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
			if _, _, err := call(t, rt, http.MethodPost, p.url, "x"); err != nil { // there is a connection
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
	})
}

// A header that cannot be said as it is is refused, and not said in another way.
func TestInvalidHeaders(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, rt http.RoundTripper) {
		p := listen(t, func(w *wire, _ int64) { _, _ = w.request(); w.say(hi) })
		for name, value := range map[string]string{"X-Id": "a\nb", "X-Nul": "\x00", "X Space": "a", "": "a"} {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url, nil)
			req.Header[name] = []string{value}
			if res, err := rt.RoundTrip(req); err == nil {
				res.Body.Close()
				t.Errorf("%q: %q was said", name, value)
			}
		}
		if n := p.conns.Load(); n != 0 {
			t.Errorf("%d connections", n)
		}
	})
}

// Names of other scripts have a form of their own on the wire (RFC 5890).
func TestInternationalNames(t *testing.T) {
	t.Parallel()
	dialed := make(chan string, 2)
	by := func() *http.Transport {
		tr := configured()
		tr.DialContext = func(_ context.Context, _, address string) (net.Conn, error) {
			dialed <- address
			return nil, io.ErrClosedPipe
		}
		return tr
	}
	for _, rt := range []http.RoundTripper{transport.NewDirect(by()), by()} {
		_, _, _ = call(t, rt, http.MethodGet, "http://b\u00fccher.example/", "")
	}
	if ours, theirs := <-dialed, <-dialed; ours != theirs || ours != "xn--bcher-kva.example:80" {
		t.Errorf("dialed %q, net/http dials %q", ours, theirs)
	}
}

func TestTimeOut(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, rt http.RoundTripper) {
		p := listen(t, func(w *wire, _ int64) { _, _ = w.request(); _, _ = w.r.ReadByte() })
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, p.url, nil)
		if _, err := rt.RoundTrip(req); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

// A body may be closed from outside while somebody waits for more of it.
func TestBodyClosedBesideARead(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, rt http.RoundTripper) {
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
			t.Error("read on after Close")
		}
	})
}

// An answer that was not read to its end takes its connection with it.
func TestUnreadAnswersAreGivenUp(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, rt http.RoundTripper) {
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
	})
}

// Calls that are not plain go where all of HTTP is known.
func TestOtherCallsAreLeftToTheTransport(t *testing.T) {
	t.Parallel()
	var proxied atomic.Int64
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.IsAbs() {
			proxied.Add(1)
		}
	}))
	defer proxy.Close()
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n)
	})
	secure := httptest.NewTLSServer(echo)
	defer secure.Close()
	plain := httptest.NewServer(echo)
	defer plain.Close()
	by := configured()
	by.TLSClientConfig = secure.Client().Transport.(*http.Transport).TLSClientConfig
	by.Proxy = func(r *http.Request) (*url.URL, error) {
		if r.URL.Host == "elsewhere.example" {
			return url.Parse(proxy.URL)
		}
		return nil, nil
	}
	d := transport.NewDirect(by)
	defer d.CloseIdleConnections()
	if status, _, err := call(t, d, http.MethodGet, "http://elsewhere.example/x", ""); err != nil || status != 200 || proxied.Load() != 1 {
		t.Errorf("by a proxy: %d, %v", status, err)
	}
	if _, n, err := call(t, d, http.MethodPost, secure.URL, "four"); err != nil || n != "4" {
		t.Errorf("by https: %q, %v", n, err)
	}
	large := strings.Repeat("x", 3<<20)
	if _, n, err := call(t, d, http.MethodPost, plain.URL, large); err != nil || n != fmt.Sprint(len(large)) {
		t.Errorf("a large body: %q, %v", n, err)
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, plain.URL, io.MultiReader(strings.NewReader("of unknown length")))
	res, err := d.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if n, _ := io.ReadAll(res.Body); string(n) != "17" {
		t.Errorf("a body of unknown length: %q", n)
	}
}

// A peer that answers a large request before it has taken it is heard.
func TestAnEarlyAnswerIsHeard(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, rt http.RoundTripper) {
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
	})
}

func TestIdleConnections(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T, by *http.Transport) (*transport.Direct, *peer, chan struct{}) {
		gone := make(chan struct{}, 8)
		p := listen(t, func(w *wire, _ int64) {
			for _, ok := w.request(); ok; _, ok = w.request() {
				w.say(hi)
			}
			gone <- struct{}{}
		})
		d := transport.NewDirect(by)
		t.Cleanup(d.CloseIdleConnections)
		if _, _, err := call(t, d, http.MethodPost, p.url, "x"); err != nil {
			t.Fatal(err)
		}
		return d, p, gone
	}
	t.Run("are closed after their time", func(t *testing.T) {
		t.Parallel()
		by := configured()
		by.IdleConnTimeout = 20 * time.Millisecond
		_, _, gone := open(t, by)
		<-gone
	})
	t.Run("are closed on demand", func(t *testing.T) {
		t.Parallel()
		d, p, gone := open(t, configured())
		d.CloseIdleConnections()
		<-gone
		if _, _, err := call(t, d, http.MethodPost, p.url, "x"); err != nil || p.conns.Load() != 2 {
			t.Errorf("%d connections, %v", p.conns.Load(), err)
		}
	})
	t.Run("are not more than asked for", func(t *testing.T) {
		t.Parallel()
		by := configured()
		by.MaxIdleConnsPerHost = 1
		d, p, gone := open(t, by)
		var bodies []io.Reader
		for range 3 {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url, nil)
			res, err := d.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			bodies = append(bodies, res.Body)
		}
		if n := p.conns.Load(); n != 3 {
			t.Errorf("%d connections for three calls at a time", n)
		}
		for _, b := range bodies {
			_, _ = io.ReadAll(b)
		}
		<-gone
		<-gone
	})
}

// Many calls at a time, some of them given up: nobody reads what another was told.
func TestManyCalls(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		_, _ = w.Write(raw)
	}))
	defer srv.Close()
	d := transport.NewDirect(configured())
	defer d.CloseIdleConnections()
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
				if res, err := d.RoundTrip(req); err == nil {
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
