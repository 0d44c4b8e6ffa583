package proxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
)

// trickle is a connection on which a piece of a body arrives after every pause.
type trickle struct {
	http.ResponseWriter
	pieces   int
	piece    int
	pause    time.Duration
	deadline time.Time
}

func (c *trickle) SetReadDeadline(at time.Time) error {
	c.deadline = at
	return nil
}

func (c *trickle) Read(p []byte) (int, error) {
	if c.pieces == 0 {
		return 0, io.EOF
	}
	if wait := time.Until(c.deadline); wait < c.pause {
		time.Sleep(wait)
		return 0, os.ErrDeadlineExceeded
	}
	time.Sleep(c.pause)
	c.pieces--
	return c.piece, nil
}

func (c *trickle) Close() error { return nil }

// TestSlowUpload checks that an upload has no time limit, but a minimum rate.
func TestSlowUpload(t *testing.T) {
	t.Parallel()
	const kib = 1 << 10
	for name, c := range map[string]struct {
		rate   int64
		body   trickle
		work   time.Duration // the bridge's time between two reads
		passes bool
		within time.Duration
	}{
		"36 bytes in 6 minutes":        {kib, trickle{pieces: 36, piece: 1, pause: 10 * time.Second}, 0, false, 31 * time.Second},
		"a byte a second":              {kib, trickle{pieces: 3600, piece: 1, pause: time.Second}, 0, false, 31 * time.Second},
		"half the rate":                {kib, trickle{pieces: 3600, piece: kib / 2, pause: time.Second}, 0, false, 70 * time.Second},
		"the rate, for an hour":        {kib, trickle{pieces: 3600, piece: kib, pause: time.Second}, 0, true, time.Hour},
		"a piece at the last moment":   {kib, trickle{pieces: 100, piece: 32 * kib, pause: 29 * time.Second}, 0, true, time.Hour},
		"nothing for half a minute":    {kib, trickle{pieces: 2, piece: 1 << 20, pause: 31 * time.Second}, 0, false, 31 * time.Second},
		"a bridge that takes its time": {kib, trickle{pieces: 100, piece: kib, pause: 100 * time.Millisecond}, time.Minute, true, 2 * time.Hour},
		"any rate":                     {0, trickle{pieces: 3600, piece: 1, pause: 10 * time.Second}, 0, true, 11 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				body, began := c.body, time.Now()
				p := &pacedBody{ReadCloser: &body, control: http.NewResponseController(&body), patience: usualTimes.read, left: usualTimes.read, rate: c.rate}
				var err error
				for err == nil {
					_, err = p.Read(make([]byte, 1<<20))
					time.Sleep(c.work)
				}
				if passed := errors.Is(err, io.EOF); passed != c.passes || time.Since(began) > c.within {
					t.Errorf("after %s: %v", time.Since(began), err)
				}
				if !c.passes && mapping.Classify(err).Class != mapping.TooSlow {
					t.Errorf("%v is %s", err, mapping.Classify(err).Class)
				}
			})
		})
	}
}

// TestSlowUploadCredit checks that a fast beginning does not permit an endless pause.
func TestSlowUploadCredit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		body := &trickle{pieces: 1, piece: 1 << 30, pause: time.Millisecond}
		p := &pacedBody{ReadCloser: body, control: http.NewResponseController(body), patience: usualTimes.read, left: usualTimes.read, rate: 1 << 10}
		if _, err := p.Read(nil); err != nil {
			t.Fatal(err)
		}
		*body = trickle{pieces: 3600, piece: 1, pause: time.Second}
		began := time.Now()
		for {
			if _, err := p.Read(nil); err != nil {
				break
			}
		}
		if d := time.Since(began); d > 31*time.Second {
			t.Errorf("the rest took %s", d)
		}
	})
}

// TestSlowUploadGetsAResponse checks over a real connection that a slow upload gets the reason why it ends.
func TestSlowUploadGetsAResponse(t *testing.T) {
	t.Parallel()
	g := hurry(t, func(c *config.Config, _ *Options) { c.Limits.UploadRate = 1 << 20 }, func(r *mux.Router) {
		r.HandleFunc("/upload", func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadAll(r.Body); err != nil {
				http.Error(w, mapping.Classify(err).Code, http.StatusRequestTimeout)
			}
		})
	})
	conn, err := net.Dial("tcp", g.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, err := io.WriteString(conn, "POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 1000000\r\n\r\n")
		for tick := time.NewTicker(5 * time.Millisecond); err == nil; <-tick.C {
			_, err = io.WriteString(conn, "x")
		}
	}()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, res); got.status != http.StatusRequestTimeout || got.body != codeTooSlow+"\n" {
		t.Errorf("got %d %s", got.status, got.body)
	}
}

// A client that continues to send a refused body, and requests the connection to be closed, receives the reason.
func TestRefusedBodyGetsAResponse(t *testing.T) {
	t.Parallel()
	g := start(t, nil, nil)
	for range 5 {
		conn, err := net.Dial("tcp", g.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		const length = 8 << 20
		if _, err := fmt.Fprintf(conn, "POST /threads HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", length); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write(make([]byte, length)); err != nil {
			t.Fatalf("the body was cut off: %v", err)
		}
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, res); got.status != http.StatusRequestEntityTooLarge || got.code(t) != "body_too_large" {
			t.Errorf("answered %d %s", got.status, got.body)
		}
	}
}

// A refused body that never arrives does not keep its connection open.
func TestRefusalDoesNotWaitForTheBody(t *testing.T) {
	t.Parallel()
	g := start(t, nil, nil)
	conn, err := net.Dial("tcp", g.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST /threads HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if all, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(all), "HTTP/1.1 413") {
		t.Errorf("%q, %v", all, err)
	}
}

// TestRefusalReachesASendingClient checks that the refusal arrives, since most clients send all of a body before
// they read the response. A connection that is closed with unread bytes is reset, and the response is lost.
func TestRefusalReachesASendingClient(t *testing.T) {
	t.Parallel()
	const size = 12 << 20
	g := prepare(t, func(c *config.Config, _ *Options) {
		c.Limits.Body, c.Limits.RequestMemory = 16<<20, 1<<20
		c.Auth.Keys = []config.Key{{ID: "alice", Key: aliceKey}}
	}, func(r *mux.Router) {
		r.HandleFunc("/busy", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.CopyN(io.Discard, r.Body, 4<<10)
			http.Error(w, "busy", http.StatusConflict)
		})
	})
	g.times.memory = 50 * time.Millisecond
	g.run(t)
	for _, tt := range []struct {
		name, path, key, length string
		status                  int
	}{
		{"no room for the body", "/threads", aliceKey, "Content-Length: " + strconv.Itoa(size), 503},
		{"no room for a body of unknown length", "/threads", aliceKey, "Transfer-Encoding: chunked", 503},
		{"a wrong key", "/threads", "wrong", "Content-Length: " + strconv.Itoa(size), 401},
		{"a handler that stops reading", "/busy", aliceKey, "Content-Length: " + strconv.Itoa(size), 409},
		{"too long", "/threads", aliceKey, "Content-Length: " + strconv.Itoa(17<<20), 413},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", g.Addr())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(time.Minute))
			_, err = io.WriteString(conn, "POST "+tt.path+" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nX-Api-Key: "+tt.key+"\r\n"+tt.length+"\r\n\r\n")
			piece := []byte(strings.Repeat("x", 64<<10))
			for n := 0; n < size && err == nil; n += len(piece) {
				if strings.HasSuffix(tt.length, "chunked") {
					_, err = fmt.Fprintf(conn, "%x\r\n%s\r\n", len(piece), piece)
				} else {
					_, err = conn.Write(piece)
				}
			}
			if err == nil && strings.HasSuffix(tt.length, "chunked") {
				_, err = io.WriteString(conn, "0\r\n\r\n")
			}
			if err != nil {
				t.Errorf("while the body was sent: %v", err)
			}
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatalf("no answer: %v", err)
			}
			defer res.Body.Close()
			if body, err := io.ReadAll(res.Body); res.StatusCode != tt.status || err != nil {
				t.Errorf("%s %s %v", res.Status, body, err)
			}
		})
	}
}
