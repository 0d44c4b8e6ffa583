package proxy

import (
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/body"
	"github.com/apbridge/apbridge/config"
	"github.com/gorilla/mux"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

func stringField(key, value string) zapcore.Field { return zap.String(key, value) }

func TestRequestID(t *testing.T) {
	t.Parallel()
	g := start(t, nil, nil)
	if got := g.do(t, "GET", "/ok", "", "X-Request-Id", "abc-1.2_3").header.Get("X-Request-Id"); got != "abc-1.2_3" {
		t.Errorf("a sane id became %q", got)
	}
	for _, bad := range []string{"", "a b", "a\tb", "ä", strings.Repeat("a", 129), "<script>"} {
		if got := g.do(t, "GET", "/ok", "", "X-Request-Id", bad).header.Get("X-Request-Id"); got == bad || len(got) != 36 {
			t.Errorf("%q became %q", bad, got)
		}
	}
}

func TestPanicsBecomeResponses(t *testing.T) {
	t.Parallel()
	g := start(t, nil, func(r *mux.Router) {
		r.HandleFunc("/ap/v1/panic", func(http.ResponseWriter, *http.Request) { panic("canary") })
		r.HandleFunc("/late", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(200)
			_ = http.NewResponseController(w).Flush()
			_ = r.URL.Path[len(r.URL.Path)]
		})
	})
	got := g.do(t, "GET", "/ap/v1/panic", "")
	if got.status != 500 || !strings.HasPrefix(got.body, `{"message":`) {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if strings.Contains(got.body, "canary") {
		t.Error("the panic is shown")
	}
	res, err := http.Get(g.url + "/late")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.ReadAll(res.Body); err == nil {
		t.Error("a broken response looks complete")
	}
	for _, entry := range g.logs.FilterMessage("panic while serving a request").All() {
		if strings.Contains(entry.ContextMap()["panic"].(string), "canary") {
			t.Error("the panic's value is in the log")
		}
	}
	if n := g.logs.FilterMessage("panic while serving a request").Len(); n != 2 {
		t.Errorf("%d panics logged", n)
	}
	if body := g.do(t, "GET", "/metrics", "").body; !strings.Contains(body, "apbridge_panics_total 2") {
		t.Error("panics are not counted")
	}
}

func TestQueriesAreNotLogged(t *testing.T) {
	t.Parallel()
	g := start(t, nil, nil)
	g.do(t, "POST", "/threads?token=canary", "canary")
	g.do(t, "GET", "/threads/t?x-api-key=canary", "", "Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Protocol", "apbridge, x-api-key.canary")
	for _, entry := range g.logs.All() {
		for k, v := range entry.ContextMap() {
			if s, ok := v.(string); ok && strings.Contains(s, "canary") {
				t.Errorf("%s contains %s", k, s)
			}
		}
	}
}

func TestMetricsNameTheTemplate(t *testing.T) {
	t.Parallel()
	g := start(t, nil, nil)
	g.do(t, "GET", "/threads/secret-id", "")
	g.do(t, "GET", "/nowhere/secret-id", "")
	g.do(t, "POST", "/ap/v1/agent/tasks", "{}")
	body := g.do(t, "GET", "/metrics", "").body
	for _, want := range []string{
		`apbridge_requests_total{dialect="none",method="GET",route="/threads/{thread_id}",status="2xx"} 1`,
		`apbridge_requests_total{dialect="none",method="GET",route="unmatched",status="4xx"} 1`,
		`apbridge_requests_total{dialect="taskstep",method="POST",route="/ap/v1/agent/tasks",status="2xx"} 1`,
		`apbridge_requests_in_flight 0`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no line %s", want)
		}
	}
	if strings.Contains(body, "secret-id") {
		t.Error("an id is in the metrics")
	}
}

func TestBodyLimit(t *testing.T) {
	t.Parallel()
	g := start(t, func(c *config.Config, _ *Options) { c.Limits.Artifact = 1 << 20 }, nil)
	big := strings.Repeat("x", 1001)
	if got := g.do(t, "POST", "/threads", big[1:]); got.status != 200 {
		t.Errorf("at the limit: %d", got.status)
	}
	got := g.do(t, "POST", "/threads", big)
	if got.status != http.StatusRequestEntityTooLarge || got.code(t) != "body_too_large" || !strings.Contains(got.body, body.TooLarge(1000).Message) {
		t.Errorf("over the limit: %d %s", got.status, got.body)
	}
	if got := g.do(t, "POST", "/ap/v1/agent/tasks", big); got.status != 413 || !strings.HasPrefix(got.body, `{"message":`) {
		t.Errorf("over the limit: %d %s", got.status, got.body)
	}
	chunked := "POST /threads HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" + big + "\r\n0\r\n\r\n"
	if got := g.raw(t, chunked); got.status != 413 {
		t.Errorf("chunked: %d %s", got.status, got.body)
	}
	multipart := []string{"Content-Type", "multipart/form-data; boundary=b"}
	if got := g.do(t, "POST", "/threads", big, multipart...); got.status != 200 {
		t.Errorf("an upload: %d %s", got.status, got.body)
	}
	form := "POST /threads HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 3000000\r\n\r\n"
	if got := g.raw(t, form); got.status != 413 || !strings.Contains(got.body, body.UploadTooLarge(1<<20).Message) {
		t.Errorf("an upload over all limits: %d %s", got.status, got.body)
	}
	announced := "POST /threads HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n"
	if got := g.raw(t, announced); got.status != 413 || !got.closes {
		t.Errorf("announced: %d %v", got.status, got.header)
	}
	header := "GET /ok HTTP/1.1\r\nHost: localhost\r\nX-Big: " + strings.Repeat("x", 80<<10) + "\r\n\r\n"
	if got := g.raw(t, header); got.status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("header: %d", got.status)
	}
}

// hurried are time limits that are short enough for a test and long enough for a request on a busy machine.
var hurried = times{
	header: time.Second, read: time.Second, body: 2 * time.Second,
	write: time.Minute, idle: time.Second, winding: time.Second,
}

func hurry(t *testing.T, change func(*config.Config, *Options), mount func(*mux.Router)) *rig {
	t.Helper()
	g := prepare(t, change, mount)
	g.times = hurried
	g.http = g.newHTTP()
	return g.run(t)
}

// TestSlowloris opens connections that stop in the middle of a request and checks that they are closed while others are
// served.
func TestSlowloris(t *testing.T) {
	t.Parallel()
	g := hurry(t, nil, nil)
	for name, half := range map[string]string{
		"nothing": "",
		"header":  "GET /ok HTTP/1.1\r\nHost: local",
		"body":    "POST /threads HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc",
		"unread":  "POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc",
		"idle":    "GET /ok HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		conn, err := net.Dial("tcp", g.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, half); err != nil {
			t.Fatal(err)
		}
		if got := g.do(t, "GET", "/ok", ""); got.status != 200 {
			t.Errorf("others at the same time: %d", got.status)
		}
		if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(conn); err != nil {
			t.Errorf("%s: not closed: %v", name, err)
		}
	}
}

// TestBodyDeadlineDoesNotEndTheRequest checks that a handler may take longer than the body's deadline once the body is
// read.
func TestBodyDeadlineDoesNotEndTheRequest(t *testing.T) {
	t.Parallel()
	g := hurry(t, nil, func(r *mux.Router) {
		r.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadAll(r.Body); err != nil {
				t.Error(err)
			}
			select {
			case <-r.Context().Done():
				t.Error("the context ended")
			case <-time.After(2 * hurried.read):
			}
			_, _ = io.WriteString(w, "done")
		})
	})
	if got := g.do(t, "POST", "/slow", `{"a":1}`); got.body != "done" {
		t.Errorf("got %d %s", got.status, got.body)
	}
}

// TestSlowReaderIsCutOff checks that a stream to a client that reads nothing ends.
func TestSlowReaderIsCutOff(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	g := prepare(t, nil, func(r *mux.Router) {
		r.HandleFunc("/stream", func(w http.ResponseWriter, _ *http.Request) {
			piece := make([]byte, 1<<20)
			for {
				if _, err := w.Write(piece); err != nil {
					ended <- err
					return
				}
			}
		})
	})
	g.times.write = 100 * time.Millisecond
	g.http = g.newHTTP()
	g.run(t)
	conn, err := net.Dial("tcp", g.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the stream continues")
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	var fault error
	g := start(t, func(_ *config.Config, o *Options) { o.Ready = func(context.Context) error { return fault } }, nil)
	if got := g.do(t, "GET", "/healthz", ""); got.status != 200 || got.body != `{"status":"ok"}`+"\n" {
		t.Errorf("healthz: %d %s", got.status, got.body)
	}
	if got := g.do(t, "GET", "/readyz", ""); got.status != 200 || got.body != `{"status":"ready"}`+"\n" {
		t.Errorf("readyz: %d %s", got.status, got.body)
	}
	fault = strconv.ErrRange
	got := g.do(t, "GET", "/readyz", "")
	if got.status != 503 || strings.Contains(got.body, "range") || !strings.Contains(got.body, "database") {
		t.Errorf("readyz: %d %s", got.status, got.body)
	}
	if got := g.do(t, "GET", "/healthz", ""); got.status != 200 {
		t.Errorf("healthz: %d", got.status)
	}
}

func TestAdminListener(t *testing.T) {
	t.Parallel()
	g := start(t, func(c *config.Config, _ *Options) { c.Admin = "127.0.0.1:0" }, nil)
	g.url = "http://" + g.on.admin.Addr().String()
	for path, want := range map[string]int{"/debug/pprof/goroutine?debug=1": 200, "/metrics": 200, "/healthz": 200, "/threads/t": 404} {
		if got := g.do(t, "GET", path, ""); got.status != want {
			t.Errorf("%s: %d", path, got.status)
		}
	}
	if got := g.do(t, "GET", "/metrics", "", "Host", "evil.com"); got.status != 403 {
		t.Errorf("foreign host: %d", got.status)
	}
}

// TestPagesDoNotReachTheAdminListener checks that a page in a browser cannot make the admin listener work, even though
// it could not read the response (E25).
func TestPagesDoNotReachTheAdminListener(t *testing.T) {
	t.Parallel()
	g := start(t, func(c *config.Config, _ *Options) { c.Admin = "127.0.0.1:0" }, nil)
	g.url = "http://" + g.on.admin.Addr().String()
	for _, tt := range []struct {
		name    string
		headers []string
		want    int
	}{
		{"a tool", nil, 200},
		{"a typed address", []string{"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate"}, 200},
		{"a link on its own page", []string{"Sec-Fetch-Site", "same-origin"}, 200},
		{"a picture on a page", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"}, 403},
		{"a picture on a page of another port", []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "no-cors"}, 403},
		{"a link on a page", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 403},
		{"sent twice", []string{"Sec-Fetch-Site", "none", "Sec-Fetch-Site", "cross-site"}, 403},
		{"a page's own call", []string{"Origin", "http://evil.com"}, 403},
		{"a null origin", []string{"Origin", "null"}, 403},
	} {
		for _, path := range []string{"/debug/pprof/symbol", "/metrics"} {
			if got := g.do(t, "GET", path, "", tt.headers...); got.status != tt.want {
				t.Errorf("%s, %s: %d, want %d", tt.name, path, got.status, tt.want)
			}
		}
	}
}
