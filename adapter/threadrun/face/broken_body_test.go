package face

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestBodyThatBreaksOff checks that a request with a broken body has no effect. It gets an error response, because the
// client may still be reading.
func TestBodyThatBreaksOff(t *testing.T) {
	t.Parallel()
	for name, framing := range map[string]string{
		"Content-Length":                  "Content-Length: 100\r\n\r\n{}",
		"Content-Length, nothing of it":   "Content-Length: 100\r\n\r\n",
		"chunks without the last one":     "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
		"a chunk that is shorter than it": "Transfer-Encoding: chunked\r\n\r\n9\r\n{}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := newFake().serve(t)
			conn, err := net.Dial("tcp", strings.TrimPrefix(srv.URL, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, "POST /threads HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+framing); err != nil {
				t.Fatal(err)
			}
			if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			body, _ := io.ReadAll(res.Body)
			if res.StatusCode/100 != 4 || !strings.Contains(string(body), "could not be read to its end") {
				t.Errorf("answered %d %s", res.StatusCode, body)
			}
		})
	}
}
