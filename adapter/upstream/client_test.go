package upstream_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

const secret = "canary-7f3a91c2"

// clientOf returns a client of the agent at a URL, with a secret in its headers.
func clientOf(t *testing.T, root string, change ...func(*adapter.Upstream, *upstream.Options)) *upstream.Client {
	t.Helper()
	up := adapter.Upstream{Name: "agent", Config: config.Agent{URL: root, Headers: map[string]config.Secret{"Authorization": "Bearer " + secret}}}
	opt := upstream.Options{Root: root, Limit: 1 << 10}
	for _, f := range change {
		f(&up, &opt)
	}
	c := upstream.New(up, opt)
	t.Cleanup(c.CloseIdle)
	return c
}

func later(_ *adapter.Upstream, opt *upstream.Options) { opt.Later = true }

// nowhere returns a URL where nothing listens.
func nowhere(t *testing.T) string {
	t.Helper()
	return "http://" + adaptertest.Nowhere(t)
}

// calls records the calls reported to the metrics.
type calls struct {
	mu  sync.Mutex
	all []string
}

func (m *calls) UpstreamCall(agent, operation, outcome string, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if took <= 0 {
		outcome += " in no time"
	}
	m.all = append(m.all, agent+" "+operation+" "+outcome)
}

func (m *calls) list() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.all)
}

// faults lists agents that each fail in one way, with the expected results.
var faults = map[string]struct {
	script           func(w *wire, n int64)
	kind             upstream.Kind
	status           int
	slow             bool
	outcome          string
	asked, told, due int // the expected number of attempts of a read, a change, and a change with Options.Later
}{
	"breaks off before the answer": {kind: upstream.Broken, outcome: "broken", asked: 3, told: 1, due: 1,
		script: func(w *wire, _ int64) { _, _ = w.request() }},
	"breaks off in the answer": {kind: upstream.Broken, outcome: "broken", asked: 3, told: 1, due: 1,
		script: func(w *wire, _ int64) { _, _ = w.request(); w.say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi") }},
	"speaks something else": {kind: upstream.Broken, outcome: "broken", asked: 3, told: 1, due: 1,
		script: func(w *wire, _ int64) { _, _ = w.request(); w.say("SSH-2.0-OpenSSH_9.2\r\n\r\n") }},
	"is slow to answer": {kind: upstream.Broken, slow: true, outcome: "timeout", asked: 1, told: 1, due: 1,
		script: func(w *wire, _ int64) { _, _ = w.request(); _, _ = w.r.ReadByte() }},
	"is slow in its answer": {kind: upstream.Broken, slow: true, outcome: "timeout", asked: 1, told: 1, due: 1,
		script: func(w *wire, _ int64) { _, _ = w.request(); w.say("HTTP/1.1 200 OK\r\n\r\nhi"); _, _ = w.r.ReadByte() }},
	"says too much": {kind: upstream.BadAnswer, status: 200, outcome: "ok", asked: 1, told: 1, due: 1,
		script: saying("200 OK", "", strings.Repeat("x", 2<<10))},
	"says too much in pieces": {kind: upstream.BadAnswer, status: 200, outcome: "ok", asked: 1, told: 1, due: 1,
		script: func(w *wire, _ int64) {
			_, _ = w.request()
			w.say("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + strings.Repeat("x", 2<<10))
		}},
	"refuses":                 {kind: upstream.Refused, status: 422, outcome: "refused", asked: 1, told: 1, due: 1, script: saying("422 No", "", "no")},
	"refuses, and breaks":     {kind: upstream.Refused, status: 404, outcome: "broken", asked: 1, told: 1, due: 1, script: func(w *wire, _ int64) { _, _ = w.request(); w.say("HTTP/1.1 404 No\r\nContent-Length: 9\r\n\r\nno") }},
	"sends elsewhere":         {kind: upstream.Refused, status: 307, outcome: "refused", asked: 1, told: 1, due: 1, script: saying("307 There", "Location: /there\r\n", "")},
	"has an error":            {kind: upstream.Refused, status: 500, outcome: "error", asked: 1, told: 1, due: 1, script: saying("500 Oh", "", "oh")},
	"is busy":                 {kind: upstream.Refused, status: 429, outcome: "refused", asked: 3, told: 1, due: 3, script: saying("429 Busy", "", "")},
	"starts":                  {kind: upstream.Refused, status: 503, outcome: "error", asked: 3, told: 1, due: 1, script: saying("503 Soon", "", "")},
	"starts, and says so":     {kind: upstream.Refused, status: 503, outcome: "error", asked: 3, told: 1, due: 3, script: saying("503 Soon", "Retry-After: 1\r\n", "")},
	"is behind a gateway":     {kind: upstream.Refused, status: 502, outcome: "error", asked: 3, told: 1, due: 1, script: saying("502 Gateway", "", "")},
	"is far behind one":       {kind: upstream.Refused, status: 504, outcome: "error", asked: 3, told: 1, due: 1, script: saying("504 Gateway", "", "")},
	"is behind Cloudflare":    {kind: upstream.Refused, status: 524, outcome: "error", asked: 3, told: 1, due: 1, script: saying("524 Timeout", "", "")},
	"refuses at great length": {kind: upstream.Refused, status: 400, outcome: "refused", asked: 1, told: 1, due: 1, script: saying("400 No", "", strings.Repeat("x", 1<<20))},
}

// saying sends the same response to every request.
func saying(status, header, body string) func(w *wire, n int64) {
	return func(w *wire, _ int64) {
		for _, ok := w.request(); ok; _, ok = w.request() {
			w.say(fmt.Sprintf("HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s", status, header, len(body), body))
		}
	}
}

// TestFailures checks the kind of each failure and that every attempt is counted. A call is only repeated if the agent
// did nothing or the call changes nothing.
func TestFailures(t *testing.T) {
	t.Parallel()
	for name, f := range faults {
		for way, c := range map[string]struct {
			call *upstream.Call
			set  func(*adapter.Upstream, *upstream.Options)
			op   string
			want int
		}{
			"GET":          {&upstream.Call{Method: http.MethodGet}, later, "read", f.asked},
			"asking POST":  {&upstream.Call{Method: http.MethodPost, Body: new(rawjson.Pieces).Literal("{}"), ReadOnly: true}, later, "read", f.asked},
			"POST":         {&upstream.Call{Method: http.MethodPost, Body: new(rawjson.Pieces).Literal("{}")}, func(*adapter.Upstream, *upstream.Options) {}, "write", f.told},
			"POST, later":  {&upstream.Call{Method: http.MethodPost, Operation: upstream.OpRun}, later, "run", f.due},
			"DELETE":       {&upstream.Call{Method: http.MethodDelete}, func(*adapter.Upstream, *upstream.Options) {}, "write", f.told},
			"a sent file":  {&upstream.Call{Method: http.MethodPost, Stream: &upstream.Stream{Reader: strings.NewReader("file"), Size: 4}}, later, "write", 1},
			"opened later": {&upstream.Call{Method: http.MethodPost}, later, "write", -1},
		} {
			if c.want < 0 && f.kind != upstream.Refused {
				continue // the caller reads an opened response, so only refusals fail here
			}
			t.Run(name+"/"+way, func(t *testing.T) {
				t.Parallel()
				p := listen(t, f.script)
				meter := &calls{}
				to := clientOf(t, p.url, c.set, func(up *adapter.Upstream, _ *upstream.Options) { up.Meter = meter })
				c.call.Time = time.Minute
				if f.slow {
					c.call.Time = time.Second
				}
				var err error
				if c.want < 0 {
					c.want = f.due
					_, err = to.Open(t.Context(), c.call)
				} else {
					_, err = to.Do(t.Context(), c.call)
				}
				got := upstream.Of(err)
				if got == nil || got.Kind != f.kind || got.Status != f.status || got.Slow != f.slow {
					t.Fatalf("%+v, %v", got, err)
				}
				if f.kind == upstream.Refused && (upstream.Status(err) != f.status || len(got.Body) > 64<<10) {
					t.Errorf("status %d with %d bytes of the body", upstream.Status(err), len(got.Body))
				}
				attempts := meter.list()
				for _, line := range attempts {
					if line != "agent "+c.op+" "+f.outcome {
						t.Errorf("counted as %q, want %s %s", line, c.op, f.outcome)
					}
				}
				// net/http repeats a GET on a new connection within an attempt.
				if len(attempts) != c.want {
					t.Errorf("%d attempts, want %d", len(attempts), c.want)
				}
			})
		}
	}
}

// Without a connection nothing was sent, so every call is repeated.
func TestNotReached(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(nil)
	defer plain.Close()
	for name, url := range map[string]string{
		"nobody": nowhere(t), "no TLS": "https" + strings.TrimPrefix(plain.URL, "http"), "no such name": "https://agent.invalid",
	} {
		meter := &calls{}
		to := clientOf(t, url, func(up *adapter.Upstream, _ *upstream.Options) { up.Meter = meter })
		_, err := to.Do(t.Context(), &upstream.Call{Method: http.MethodPost, Operation: upstream.OpStep})
		if !upstream.Is(err, upstream.NotReached) || !upstream.Untouched(err) {
			t.Errorf("%s: %v", name, err)
		}
		if got := meter.list(); !slices.Equal(got, slices.Repeat([]string{"agent step unreachable"}, upstream.Tries)) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// If the caller gives up, the call is stopped with the caller's reason and not repeated.
func TestStopped(t *testing.T) {
	t.Parallel()
	why := errors.New("cancelled")
	asked := make(chan struct{}, 3)
	p := listen(t, func(w *wire, _ int64) {
		_, _ = w.request()
		asked <- struct{}{}
		_, _ = w.r.ReadByte()
	})
	meter := &calls{}
	to := clientOf(t, p.url, func(up *adapter.Upstream, _ *upstream.Options) { up.Meter = meter })
	ctx, stop := context.WithCancelCause(t.Context())
	go func() {
		<-asked
		stop(why)
	}()
	_, err := to.Do(ctx, &upstream.Call{Method: http.MethodGet})
	if !upstream.Is(err, upstream.Stopped) || !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	if got := meter.list(); !slices.Equal(got, []string{"agent read stopped"}) {
		t.Errorf("%v", got)
	}
}

// TestNoSecretInAFailure checks that no error contains a URL's password or a configured header, even if the agent
// repeats them.
func TestNoSecretInAFailure(t *testing.T) {
	t.Parallel()
	const password = "pass-5d81"
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, pass, ok := r.BasicAuth(); ok {
			t.Errorf("%s:%s was sent instead of the configured header", user, pass)
		}
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, r.Header)
	}))
	defer echo.Close()
	for _, url := range []string{nowhere(t), echo.URL} {
		url = strings.Replace(url, "http://", "http://me:"+password+"@", 1)
		to := clientOf(t, url)
		_, err := to.Do(t.Context(), &upstream.Call{Method: http.MethodPost, Path: "/x"})
		f := upstream.Of(err)
		if f == nil {
			t.Fatalf("no failure: %v", err)
		}
		for _, text := range []string{err.Error(), to.Redact(string(f.Body)), to.Redact("password " + password)} {
			if strings.Contains(text, secret) || strings.Contains(text, password) {
				t.Errorf("%s", text)
			}
		}
		if f.Kind == upstream.Refused && !strings.Contains(string(f.Body), secret) {
			t.Errorf("the header was not sent: %s", f.Body)
		}
	}
}

// Redirects are not followed and cookies are not sent back.
func TestNoRedirectAndNoCookie(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := r.Cookie("c"); err == nil {
			t.Error("a cookie was kept")
		}
		http.SetCookie(w, &http.Cookie{Name: "c", Value: "v"})
		w.Header().Set("Location", other.URL)
		w.WriteHeader(http.StatusFound)
	}))
	defer srv.Close()
	to := clientOf(t, srv.URL)
	for range 2 {
		if _, err := to.Do(t.Context(), &upstream.Call{Method: http.MethodGet}); upstream.Status(err) != http.StatusFound {
			t.Errorf("%v", err)
		}
	}
	if elsewhere.Load() != 0 {
		t.Error("the redirect was followed")
	}
}

// A call uses its path below the root, the agent's headers, its own headers, and a body of known length.
func TestRequestsOfCalls(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		h := r.Header
		fmt.Fprintf(w, "%s %s|%s|%s|%s|%s|%s|%d %s", r.Method, r.RequestURI, h.Get("Authorization"), h.Get("Accept"), h.Get("Content-Type"),
			h.Get("User-Agent"), h.Get("Last-Event-ID"), r.ContentLength, raw)
	}))
	defer srv.Close()
	to := clientOf(t, srv.URL+"/base/", func(up *adapter.Upstream, _ *upstream.Options) { up.UserAgent = "apbridge/1" })
	own := "|Bearer " + secret + "|"
	for _, c := range []struct {
		call *upstream.Call
		want string
	}{
		{&upstream.Call{Method: "GET", Path: "/a%2Fb?c=d"}, "GET /base/a%2Fb?c=d" + own + "application/json||apbridge/1||0 "},
		{&upstream.Call{Method: "GET", Path: "/e", Accept: "text/event-stream", Header: map[string]string{"Last-Event-ID": "7"}}, "GET /base/e" + own + "text/event-stream||apbridge/1|7|0 "},
		{&upstream.Call{Method: "POST", Path: "/p"}, "POST /base/p" + own + "application/json||apbridge/1||0 "},
		{&upstream.Call{Method: "POST", Path: "/p", Type: "application/json", Body: new(rawjson.Pieces).Literal("{}")}, "POST /base/p" + own + "application/json|application/json|apbridge/1||2 {}"},
		{&upstream.Call{Method: "POST", Path: "/p", Type: "text/x", Stream: &upstream.Stream{Reader: strings.NewReader("file"), Size: 4}}, "POST /base/p" + own + "application/json|text/x|apbridge/1||4 file"},
		{&upstream.Call{Method: "DELETE", Path: "/p"}, "DELETE /base/p" + own + "application/json||apbridge/1||0 "},
	} {
		ans, err := to.Do(t.Context(), c.call)
		if err != nil {
			t.Fatal(err)
		}
		if string(ans.Body) != c.want {
			t.Errorf("sent %s\nwant %s", ans.Body, c.want)
		}
	}
}

// After an error response, connections are not reused, because some servers drop them.
func TestNoConnectionAfterAnError(t *testing.T) {
	t.Parallel()
	p := listen(t, saying("500 Oh", "", "oh"))
	to := clientOf(t, p.url)
	for n := range int64(3) {
		_, _ = to.Do(t.Context(), &upstream.Call{Method: http.MethodPost})
		if p.conns.Load() != n+1 {
			t.Fatalf("%d connections after %d errors", p.conns.Load(), n+1)
		}
	}
}

// The duration of a stream is the whole time it was open.
func TestAnOpenedAnswerIsCountedWhenItEnds(t *testing.T) {
	t.Parallel()
	more := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "one")
		w.(http.Flusher).Flush()
		<-more
	}))
	defer srv.Close()
	meter := &calls{}
	to := clientOf(t, srv.URL, func(up *adapter.Upstream, _ *upstream.Options) { up.Meter = meter })
	res, err := to.OpenOnce(t.Context(), &upstream.Call{Method: http.MethodGet, Operation: upstream.OpFollow})
	if err != nil {
		t.Fatal(err)
	}
	if got := meter.list(); len(got) != 0 {
		t.Errorf("counted before the stream ended: %v", got)
	}
	close(more)
	raw, err := to.Read(t.Context(), res)
	_ = res.Body.Close()
	if got := meter.list(); err != nil || string(raw) != "one" || !slices.Equal(got, []string{"agent follow ok"}) {
		t.Errorf("%q, %v, %v", raw, err, got)
	}
}
