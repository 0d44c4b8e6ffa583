package passthrough_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
)

// counted is a meter that reports each call when it is counted.
type counted chan string

func (c counted) UpstreamCall(agent, operation, outcome string, _ time.Duration) {
	c <- agent + " " + operation + " " + outcome
}

// cut breaks the connection of a request.
func cut(w http.ResponseWriter) {
	conn, _, _ := http.NewResponseController(w).Hijack()
	conn.Close()
}

// outcomes responds with different ends of a call, by the path of the request.
var outcomes = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/gone":
		w.WriteHeader(http.StatusNotFound)
	case "/elsewhere":
		http.Redirect(w, r, "/gone", http.StatusSeeOther)
	case "/failed":
		w.WriteHeader(http.StatusInternalServerError)
	case "/cut":
		cut(w)
	case "/half":
		w.Header().Set("Content-Length", "10")
		_, _ = io.WriteString(w, "half")
		_ = http.NewResponseController(w).Flush()
		cut(w)
	case "/hangs":
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	case "/switches":
		conn, _, _ := http.NewResponseController(w).Hijack()
		fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: own\r\n\r\n")
		_, _ = io.Copy(io.Discard, conn)
		conn.Close()
	}
})

// TestOutcomesOfCalls checks that forwarded requests are counted like the calls of backends, and that the
// caller gets a status.
func TestOutcomesOfCalls(t *testing.T) {
	t.Parallel()
	agent := httptest.NewServer(outcomes)
	t.Cleanup(agent.Close)
	for path, want := range map[string]struct {
		outcome string
		status  int
		says    string
	}{
		"/": {"ok", 200, ""}, "/gone": {"refused", 404, ""}, "/elsewhere": {"refused", 303, ""}, "/failed": {"error", 500, ""},
		"/cut": {"broken", 502, "broke off"}, "/half": {"broken", 200, "half"}, "/hangs": {"timeout", 504, "step_timeout"},
		"/switches": {"refused", 502, "broke off"}, "/away": {"unreachable", 502, "nothing is listening there"},
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			c, calls := config.DefaultAgent(), make(counted, 2)
			if c.URL = agent.URL; path == "/away" {
				c.URL = "http://127.0.0.1:1"
			}
			if path == "/hangs" {
				c.StepTimeout = 50 * time.Millisecond
			}
			srv := serveCounted(t, adapter.Upstream{Name: "legacy", Config: c, Meter: calls})
			client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			res, err := client.Do(request(t, "POST", srv.URL+"/agents/legacy/upstream"+path, "body"))
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			said, _ := io.ReadAll(res.Body)
			if got := <-calls; got != "legacy passthrough "+want.outcome || res.StatusCode != want.status || !strings.Contains(string(said), want.says) {
				t.Errorf("counted %q, answered %d %s; want %+v", got, res.StatusCode, said, want)
			}
		})
	}
}

// TestCallersThatLeave checks that a caller's disconnect is not the agent's failure.
func TestCallersThatLeave(t *testing.T) {
	t.Parallel()
	came, calls, c := make(chan bool), make(counted, 1), config.DefaultAgent()
	agent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		came <- true
		<-r.Context().Done()
	}))
	t.Cleanup(agent.Close)
	c.URL = agent.URL
	srv := serveCounted(t, adapter.Upstream{Name: "legacy", Config: c, Meter: calls})
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-came
		leave()
	}()
	if res, err := http.DefaultClient.Do(request(t, "GET", srv.URL+"/agents/legacy/upstream/x", "").WithContext(ctx)); err == nil {
		res.Body.Close()
		t.Fatalf("answered %d", res.StatusCode)
	}
	if got := <-calls; got != "legacy passthrough stopped" {
		t.Errorf("counted %q", got)
	}
}

// TestSlowUploadPassedThrough checks that a slow or broken client body is not reported as the agent's failure.
func TestSlowUploadPassedThrough(t *testing.T) {
	t.Parallel()
	agent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	t.Cleanup(agent.Close)
	for err, want := range map[error]struct {
		status int
		says   string
	}{
		mapping.Errorf(mapping.TooSlow, "body_too_slow", "The upload was too slow."):             {408, "The upload was too slow."},
		mapping.Errorf(mapping.TooLarge, "body_too_large", "The body is longer than 100 bytes."): {413, "longer than 100 bytes"},
		io.ErrUnexpectedEOF: {400, "could not be read to its end"},
	} {
		calls, c := make(counted, 1), config.DefaultAgent()
		c.URL = agent.URL
		srv := serveCounted(t, adapter.Upstream{Name: "legacy", Config: c, Meter: calls})
		r := httptest.NewRequest("POST", "/agents/legacy/upstream/x", io.MultiReader(strings.NewReader("half"), iotest.ErrReader(err)))
		w := httptest.NewRecorder()
		srv.Config.Handler.ServeHTTP(w, r)
		if got := <-calls; got != "legacy passthrough stopped" || w.Code != want.status || !strings.Contains(w.Body.String(), want.says) {
			t.Errorf("%v: counted %q, answered %d %s", err, got, w.Code, w.Body)
		}
	}
}

// TestRefusedStreamsAreNotFailures covers a response that exceeds the number of streams and that the bridge ends
// itself.
func TestRefusedStreamsAreNotFailures(t *testing.T) {
	t.Parallel()
	calls, c := make(counted, 1), config.DefaultAgent()
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(agent.Close)
	c.URL = agent.URL
	p := proxyTo(t, adapter.Upstream{Name: "legacy", Config: c, Meter: calls})
	full := adapter.WithStreams(t.Context(), func() (func(), error) {
		return nil, mapping.Errorf(mapping.Limited, "limit_streams", "There are too many streams.")
	})
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequestWithContext(full, "GET", "/agents/legacy/upstream/x", nil))
	if got := <-calls; got != "legacy passthrough stopped" || w.Code != 429 {
		t.Errorf("counted %q, answered %d %s", got, w.Code, w.Body)
	}
}
