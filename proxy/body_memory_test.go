package proxy

import (
	"io"
	"math"
	"net"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
)

// holding responds to POST /held when the test permits it. By then the body has been read, and its memory is still
// reserved.
type holding struct{ read, may chan struct{} }

func newHolding() *holding { return &holding{make(chan struct{}, 16), make(chan struct{})} }

func (h *holding) mount(r *mux.Router) {
	r.HandleFunc("/held", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		h.read <- struct{}{}
		<-h.may
	}).Methods("POST")
}

// TestBodiesTogether checks that the memory of all bodies is bounded. Bodies beyond it wait, are refused after a while,
// and are accepted again when there is room. Small, streamed and operational requests are always served (D5).
// TestBodiesTogetherInWords checks the responses in each dialect.
func TestBodiesTogether(t *testing.T) {
	t.Parallel()
	held := newHolding()
	g := prepare(t, func(c *config.Config, _ *Options) { c.Limits.Body, c.Limits.RequestMemory = 64<<10, 128<<10 }, held.mount)
	g.times.memory = 500 * time.Millisecond
	g.run(t)
	large := strings.Repeat("x", 60<<10)
	done := make(chan reply, 2)
	for range 2 {
		go func() { done <- g.do(t, "POST", "/held", large) }()
		<-held.read
	}
	if got := g.do(t, "POST", "/threads", large); got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, "limits.request_memory") {
		t.Errorf("while there is no room: %d %s", got.status, got.body)
	}
	for what, got := range map[string]reply{
		"a small body":      g.do(t, "POST", "/threads", "{}"),
		"no body":           g.do(t, "GET", "/ok", ""),
		"a body of a guard": g.do(t, "GET", "/readyz", ""),
		"an upload":         g.do(t, "POST", "/ap/v1/agent/tasks", large, "Content-Type", "multipart/form-data; boundary=x"),
	} {
		if got.status != http.StatusOK {
			t.Errorf("%s while there is no room: %d %s", what, got.status, got.body)
		}
	}
	close(held.may)
	for range 2 {
		if got := <-done; got.status != http.StatusOK {
			t.Errorf("one that held its room: %d %s", got.status, got.body)
		}
	}
	if got := g.do(t, "POST", "/threads", large); got.status != http.StatusOK {
		t.Errorf("with room again: %d %s", got.status, got.body)
	}
}

// TestMessagesTogetherWithBodies checks that data on a connection that outlives its request counts with the bodies, and
// that the memory limit applies there, too (D5).
func TestMessagesTogetherWithBodies(t *testing.T) {
	t.Parallel()
	held, large := newHolding(), strings.Repeat("x", 60<<10)
	g := prepare(t, func(c *config.Config, _ *Options) { c.Limits.Body, c.Limits.RequestMemory = 64<<10, 128<<10 }, func(r *mux.Router) {
		r.HandleFunc("/socket", func(w http.ResponseWriter, r *http.Request) {
			message := adapter.MemoryBudgetOf(r.Context()).Count(r.Context(), strings.NewReader(large))
			defer message.Close()
			if _, err := io.Copy(io.Discard, message); err != nil {
				http.Error(w, err.Error(), adapter.Status(mapping.Classify(err).Class))
				return
			}
			held.read <- struct{}{}
			<-held.may
		}).Methods("GET")
	})
	g.times.memory = 500 * time.Millisecond
	g.run(t)
	done := make(chan reply, 2)
	socket := func() reply { return g.do(t, "GET", "/socket", "", "Connection", "Upgrade", "Upgrade", "websocket") }
	for range 2 {
		go func() { done <- socket() }()
		<-held.read
	}
	for what, got := range map[string]reply{"a body": g.do(t, "POST", "/threads", large), "a message": socket()} {
		if got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, "limits.request_memory") {
			t.Errorf("%s while there is no room: %d %s", what, got.status, got.body)
		}
	}
	close(held.may)
	for range 2 {
		if got := <-done; got.status != http.StatusOK {
			t.Errorf("one that held its room: %d %s", got.status, got.body)
		}
	}
	if got := g.do(t, "POST", "/threads", large); got.status != http.StatusOK {
		t.Errorf("with room again: %d %s", got.status, got.body)
	}
}

// TestAnnouncedBodiesReserveNoMemory checks that announced bodies that do not arrive reserve no memory, so that clients
// that send little or nothing do not block others (D5).
func TestAnnouncedBodiesReserveNoMemory(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{}, 16)
	g := prepare(t, func(c *config.Config, _ *Options) { c.Limits.Body, c.Limits.RequestMemory = 64<<10, 128<<10 }, func(r *mux.Router) {
		r.HandleFunc("/announced", func(_ http.ResponseWriter, r *http.Request) {
			begun <- struct{}{}
			_, _ = io.Copy(io.Discard, r.Body)
		}).Methods("POST")
	})
	g.times.memory = time.Minute // no request waits that long
	g.run(t)
	for _, framing := range []string{"Content-Length: 65536\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"} {
		for range 8 {
			conn, err := net.Dial("tcp", g.Addr())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, "POST /announced HTTP/1.1\r\nHost: 127.0.0.1\r\n"+framing); err != nil {
				t.Fatal(err)
			}
			select {
			case <-begun:
			case <-time.After(time.Minute):
				t.Fatal("a body that was only announced blocks others")
			}
		}
	}
	if got := g.do(t, "POST", "/threads", strings.Repeat("x", 60<<10)); got.status != http.StatusOK {
		t.Errorf("next to bodies that never arrive: %d %s", got.status, got.body)
	}
}

// TestBodiesOfUnknownLength checks that a body of unknown length counts with the bytes that have arrived, and no longer
// after its client disconnects (D5).
func TestBodiesOfUnknownLength(t *testing.T) {
	t.Parallel()
	held := newHolding()
	defer close(held.may)
	g := prepare(t, func(c *config.Config, _ *Options) { c.Limits.Body, c.Limits.RequestMemory = 64<<10, 128<<10 }, held.mount)
	g.times.memory = time.Minute // no request waits that long
	g.run(t)
	chunked := func(body io.Reader) *http.Request {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url+"/held", io.MultiReader(body)) // of a type whose length net/http does not know
		if err != nil {
			t.Fatal(err)
		}
		return req
	}
	for range 3 {
		go func() {
			res, err := http.DefaultClient.Do(chunked(strings.NewReader(strings.Repeat("x", 20<<10))))
			if err == nil {
				res.Body.Close()
			}
		}()
		<-held.read // the third fits, since these take 20 kB each of 128 kB
	}
	broken, begun := io.Pipe()
	go func() {
		_, _ = begun.Write([]byte("x"))
		_ = begun.CloseWithError(io.ErrUnexpectedEOF)
	}()
	if res, err := http.DefaultClient.Do(chunked(broken)); err == nil {
		res.Body.Close()
	}
}

// endings reports that a POST to the end of a talk cancels the talk.
func endings(method, route, _ string) (adapter.Effect, bool) {
	if method == "POST" && route == "/talks/{talk}/end" {
		return adapter.Effect{Verb: mapping.Cancelled, Kind: "talk"}, true
	}
	return adapter.Effect{Verb: mapping.Created}, true
}

// TestNearTheMemoryLimit checks that new work is refused near GOMEMLIMIT, while operational requests, reads and
// cancellations are served (D5). It is not parallel because the limit belongs to the whole process.
func TestNearTheMemoryLimit(t *testing.T) {
	runtime.GC()
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(int64(now.HeapAlloc) + 64<<20))
	g := start(t, func(_ *config.Config, o *Options) { o.Does = endings }, func(r *mux.Router) {
		r.HandleFunc("/talks/{talk}/end", answer).Methods("POST")
		r.HandleFunc("/talks/{talk}/end", answer).Methods("PUT")
	})
	debug.SetMemoryLimit(math.MaxInt64) // so that the collector does not run needlessly
	if got := g.do(t, "POST", "/threads", "{}"); got.status != http.StatusOK {
		t.Fatalf("with memory left: %d %s", got.status, got.body)
	}
	ballast := make([]byte, 128<<20)
	runtime.GC()
	for path, says := range map[string]string{"/threads": `"code":"overloaded"`, "/ap/v1/agent/tasks": `{"message":"The bridge is near`} {
		if got := g.do(t, "POST", path, "{}"); got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" || !strings.Contains(got.body, says) {
			t.Errorf("POST %s: %d %s %v", path, got.status, got.body, got.header)
		}
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/ok", "/threads/t"} {
		if got := g.do(t, "GET", path, ""); got.status != http.StatusOK {
			t.Errorf("GET %s: %d %s", path, got.status, got.body)
		}
	}
	for method, status := range map[string]int{"POST": http.StatusOK, "PUT": http.StatusServiceUnavailable, "PATCH": http.StatusServiceUnavailable} {
		if got := g.do(t, method, "/talks/t/end", ""); got.status != status {
			t.Errorf("%s of what a POST ends: %d %s", method, got.status, got.body)
		}
	}
	runtime.KeepAlive(ballast)
	ballast = nil
	// The collector does not run by itself, as in a process that refuses all work.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for end := time.Now().Add(time.Minute); ; {
		got := g.do(t, "POST", "/threads", "{}")
		if got.status == http.StatusOK {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("with memory again: %d %s", got.status, got.body)
		}
	}
}

// A key may take at most half of limits.request_memory and a tenant three quarters, for bodies and for messages of
// WebSockets, so that others are served. A single caller may take all.
func TestOtherKeysCanStillSendBodies(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 60<<10)
	ids := []string{"a1", "a2", "a3", "b1"}
	auth := func(n int) config.Auth {
		var a config.Auth
		for _, id := range ids[:n] {
			a.Keys = append(a.Keys, config.Key{ID: id, Key: config.Secret("key-0123456789-" + id), Tenant: id[:1]})
		}
		return a
	}
	for name, tt := range map[string]struct {
		auth  config.Auth
		hold  []string // the keys of requests that take 60 kB of 256 kB each
		ask   string
		says  string // of the refusal; "" means that the request is served
		where string
	}{
		"a key takes half":                     {auth(4), []string{"a1", "a1"}, "a1", `key "a1"`, "/threads"},
		"another key of its tenant":            {auth(4), []string{"a1", "a1"}, "a2", "", "/threads"},
		"a tenant takes three quarters":        {auth(4), []string{"a1", "a1", "a2"}, "a2", `tenant "a"`, "/threads"},
		"another tenant":                       {auth(4), []string{"a1", "a1", "a2"}, "b1", "", "/threads"},
		"a message of a key with half":         {auth(4), []string{"a1", "a1"}, "a1", `key "a1"`, "/socket"},
		"a message of another tenant":          {auth(4), []string{"a1", "a1", "a2"}, "b1", "", "/socket"},
		"keys of one tenant take all":          {auth(3), []string{"a1", "a1", "a2", "a2"}, "a3", "use all of this bridge", "/threads"},
		"a single key takes three quarters":    {auth(1), []string{"a1", "a1", "a1"}, "a1", "", "/threads"},
		"callers without keys share the whole": {config.Auth{}, []string{"", "", ""}, "", "", "/threads"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			held := newHolding()
			g := prepare(t, func(c *config.Config, _ *Options) {
				c.Limits.Body, c.Limits.RequestMemory, c.Auth = 64<<10, 256<<10, tt.auth
			}, func(r *mux.Router) {
				held.mount(r)
				r.HandleFunc("/socket", func(w http.ResponseWriter, r *http.Request) {
					message := adapter.MemoryBudgetOf(r.Context()).Count(r.Context(), strings.NewReader(large))
					defer message.Close()
					if _, err := io.Copy(io.Discard, message); err != nil {
						http.Error(w, err.Error(), adapter.Status(mapping.Classify(err).Class))
					}
				}).Methods("GET")
			})
			g.times.memory = 200 * time.Millisecond
			g.run(t)
			done := make(chan reply, len(tt.hold))
			for _, id := range tt.hold {
				go func() { done <- g.do(t, "POST", "/held", large, "X-Api-Key", "key-0123456789-"+id) }()
				<-held.read
			}
			var got reply
			if tt.where == "/socket" {
				got = g.do(t, "GET", "/socket", "", "X-Api-Key", "key-0123456789-"+tt.ask, "Connection", "Upgrade", "Upgrade", "websocket")
			} else {
				got = g.do(t, "POST", tt.where, large, "X-Api-Key", "key-0123456789-"+tt.ask)
			}
			if tt.says == "" && got.status != http.StatusOK || tt.says != "" && (got.status < 400 || !strings.Contains(got.body, tt.says)) {
				t.Errorf("%d %s", got.status, got.body)
			}
			close(held.may)
			for range tt.hold {
				<-done
			}
			if got := g.do(t, "POST", "/threads", large, "X-Api-Key", "key-0123456789-"+tt.ask); got.status != http.StatusOK {
				t.Errorf("once there is room again: %d %s", got.status, got.body)
			}
		})
	}
}
