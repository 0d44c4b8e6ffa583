package proxy

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

const (
	get     = "GET /ok HTTP/1.1\r\nHost: localhost\r\n\r\n"
	chunked = "POST /threads HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
	sized   = "POST /threads HTTP/1.1\r\nHost: localhost\r\nContent-Length: 33\r\n\r\nContent-Length: 1\r\n\r\nTransfer-Enc"
)

// answers sends bytes on one connection, piece by piece, and returns the statuses of the responses until the server
// closes it, or after want responses.
func (g *rig) answers(t *testing.T, text string, piece, want int) (statuses []int, closed bool) {
	t.Helper()
	conn, err := net.Dial("tcp", g.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	go func() {
		for len(text) > 0 {
			n := min(piece, len(text))
			if _, err := io.WriteString(conn, text[:n]); err != nil {
				return // refused before everything was sent
			}
			text = text[n:]
		}
	}()
	in := bufio.NewReader(conn)
	for len(statuses) < want {
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			return statuses, true
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		statuses = append(statuses, res.StatusCode)
		closed = res.Close
	}
	return statuses, closed
}

// TestTwoFramings checks that ambiguous framing is refused anywhere on a connection, regardless of how its bytes
// arrive, and that nothing after it is taken for a request. The last request is one that must not be answered (E8).
func TestTwoFramings(t *testing.T) {
	t.Parallel()
	g := start(t, nil, nil)
	head := "POST /threads HTTP/1.1\r\nHost: localhost\r\n"
	body := "\r\n5\r\nhello\r\n0\r\n\r\n"
	for _, tt := range []struct {
		name, request string
		status        int
	}{
		{"both", head + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n" + body, 400},
		{"both, length first", head + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n" + body, 400},
		{"both in other cases", head + "content-LENGTH: 5\r\ntransfer-encoding:chunked\r\n" + body, 400},
		{"both, length after long lines", head + "X: " + strings.Repeat("x", 5000) + "\r\nTransfer-Encoding: chunked\r\nY: " + strings.Repeat("y", 5000) + "\r\nContent-Length: 5\r\n" + body, 400},
		{"a length of zero", head + "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n" + body, 400},
		{"a folded length", head + "Transfer-Encoding: chunked\r\nContent-Length:\r\n 5\r\n" + body, 400},
		{"a length of many digits", head + "Content-Length: " + strings.Repeat("0", 2000) + "1\r\n\r\nx", 400},
		{"a coding in HTTP/1.0", "POST /threads HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n" + body, 400},
		{"a bare line feed in a field", head + "X: a\nContent-Length: 0\r\n\r\n", 400},
		{"a bare line feed after the request line", "GET /ok HTTP/1.1\nHost: localhost\r\n\r\n", 400},
		{"a bare line feed at the end", "GET /ok HTTP/1.1\r\nHost: localhost\r\n\n", 400},
		{"a bare line feed after a chunk's size", head + "Transfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n", 413},
		{"a chunk with an extension", head + "Transfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\n\r\n", 200},
		{"chunks", chunked, 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for before, first := range map[string]string{"alone": "", "behind others": get + sized + "\r\n" + get} {
				for _, piece := range []int{1 << 20, 7, 1} {
					others := strings.Count(first, "HTTP/1.1")
					got, closed := g.answers(t, first+tt.request+get, piece, others+2)
					if len(got) != others+1 || got[others] != tt.status || !closed {
						t.Errorf("%s, %d bytes at a time: %v, closed: %v; want %d at last", before, piece, got, closed, tt.status)
					}
				}
			}
		})
	}
}

// TestPlainRequestsAreServed checks that ordinary requests are served regardless of the content of their bodies (E8).
func TestPlainRequestsAreServed(t *testing.T) {
	t.Parallel()
	g := start(t, nil, nil)
	options := "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n"
	for _, piece := range []int{1 << 20, 11, 1} {
		got, closed := g.answers(t, get+sized+sized+"\r\n"+options+get+sized, piece, 6)
		if len(got) != 6 || got[0] != 200 || got[1] != 200 || got[2] != 200 || got[3] != 400 || got[4] != 200 || got[5] != 200 || closed {
			t.Errorf("%d bytes at a time: %v, closed: %v", piece, got, closed)
		}
	}
}

// FuzzHeads compares the requests seen on a connection with those that net/http parses: none is missed, and none with a
// transfer coding is taken for a plain one.
func FuzzHeads(f *testing.F) {
	for _, s := range []string{get + get, sized + get, chunked + get, get + strings.ReplaceAll(get, "\r", ""), "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n\r\n\r" + get} {
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, text []byte, piece uint8) {
		var h heads
		for rest := text; len(rest) > 0; {
			n := min(int(piece)+1, len(rest))
			h.take(rest[:n])
			rest = rest[n:]
		}
		in := bufio.NewReader(strings.NewReader(string(text)))
		for i := 1; ; i++ {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			if h.read < i {
				t.Fatalf("request %d (%s %s) is missed", i, r.Method, r.RequestURI)
			}
			got := h.next()
			if len(r.TransferEncoding) > 0 && !got.coded {
				t.Errorf("request %d has a coding that is not seen: %+v", i, got)
			}
			if !got.plain() {
				return // the last one that is served
			}
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				return
			}
		}
	})
}
