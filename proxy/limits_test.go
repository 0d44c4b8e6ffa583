package proxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
)

// trickle is a connection on which a piece of a body comes every pause.
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

// TestE17SlowUpload: an upload has no end in time of its own, but a least rate.
func TestE17SlowUpload(t *testing.T) {
	t.Parallel()
	const kib = 1 << 10
	for name, c := range map[string]struct {
		rate   int64
		body   trickle
		work   time.Duration // of the bridge, between two reads
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

// TestE17SlowUploadCredit: bytes that came quickly do not pay for an endless rest.
func TestE17SlowUploadCredit(t *testing.T) {
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

// TestE17SlowUploadIsAnswered: a real connection that dribbles is told why it ends.
func TestE17SlowUploadIsAnswered(t *testing.T) {
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

// A client that sends on although its body is refused, and wants the connection closed, reads why.
func TestRefusedBodyIsAnswered(t *testing.T) {
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

// A refused body that never comes does not hold its connection.
func TestRefusedBodyIsNotAwaited(t *testing.T) {
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
