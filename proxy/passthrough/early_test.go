package passthrough_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
)

// TestResponseBeforeTheEndOfTheBody checks that the connection is closed in order after an early response of the agent
// or the bridge. The rest of the body is not read as a request, and nothing panics.
func TestResponseBeforeTheEndOfTheBody(t *testing.T) {
	t.Parallel()
	agent := adaptertest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Length", "5")
		fmt.Fprint(w, "early")
	}))
	c := config.DefaultAgent()
	c.URL = agent.URL
	p := proxyTo(t, adapter.Upstream{Name: "legacy", Config: c})
	counted := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.ServeHTTP(w, r.WithContext(adapter.WithStreams(r.Context(), func() (func(), error) {
			return nil, mapping.Errorf(mapping.Limited, "streams", "too many")
		})))
	})
	for accept, status := range map[string]int{"text/plain": http.StatusOK, "text/event-stream": http.StatusTooManyRequests} {
		t.Run(accept, func(t *testing.T) {
			t.Parallel()
			var said bytes.Buffer
			srv := httptest.NewUnstartedServer(counted)
			srv.Config.ErrorLog = log.New(&said, "", 0)
			srv.Start()
			conn, err := net.Dial("tcp", strings.TrimPrefix(srv.URL, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(adaptertest.Patience))
			in := bufio.NewReader(conn)
			fmt.Fprintf(conn, "POST /agents/legacy/upstream/x HTTP/1.1\r\nHost: bridge\r\nAccept: %s\r\nContent-Length: 10\r\n\r\nhello", accept)
			res, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(res.Body)
			if err != nil || res.StatusCode != status || !res.Close {
				t.Errorf("%d %q, %v, closed: %v", res.StatusCode, text, err, res.Close)
			}
			fmt.Fprint(conn, "world")
			if rest, err := io.ReadAll(in); err != nil || len(rest) > 0 {
				t.Errorf("after the answer %q, %v", rest, err)
			}
			srv.Close()
			if strings.Contains(said.String(), "panic") {
				t.Errorf("the server says %s", &said)
			}
		})
	}
}
