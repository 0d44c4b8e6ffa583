package proxy

import (
	"bufio"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/mux"
)

// long is JSON that is long enough to be compressed.
var long = `{"text":"` + strings.Repeat("the same words again ", 200) + `"}`

func compressedRoutes(r *mux.Router) {
	write := func(path, kind, body string, headers ...string) {
		r.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			for i := 0; i+1 < len(headers); i += 2 {
				w.Header().Set(headers[i], headers[i+1])
			}
			_, _ = io.WriteString(w, body)
		})
	}
	write("/long", "application/json", long)
	write("/charset", "application/json; charset=utf-8", long)
	write("/short", "application/json", `{"text":"a few words"}`)
	write("/1023", "application/json", long[:1023])
	write("/1024", "application/json", long[:1024])
	write("/page", "text/html; charset=utf-8", long)
	write("/picture", "image/svg+xml", long)
	write("/unnamed", "", long)
	write("/encoded", "application/json", "words, as they are said to be", "Content-Encoding", "br")
	write("/encoded-long", "application/json", long, "Content-Encoding", "br")
	r.HandleFunc("/flushed", func(w http.ResponseWriter, _ *http.Request) { // before any content
		w.Header().Set("Content-Type", "application/json")
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, long)
	})
	r.HandleFunc("/changed", func(w http.ResponseWriter, _ *http.Request) { // too late
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, long[:2000])
		w.Header().Set("Cache-Control", "no-transform")
		_, _ = io.WriteString(w, long[2000:])
	})
	r.HandleFunc("/hinted", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, long)
	})
	write("/events", "text/event-stream", "data: "+long+"\n\n")
	write("/file", "application/json", long, "Content-Disposition", `attachment; filename="a.json"`)
	write("/whole", "application/json", long, "Cache-Control", "no-transform")
}

func TestJSONIsCompressedIfAccepted(t *testing.T) {
	t.Parallel()
	g := start(t, nil, compressedRoutes)
	for _, tt := range []struct{ name, path, accept, want string }{
		{"gzip", "/long", "gzip, deflate", "gzip"},
		{"charset", "/charset", "gzip", "gzip"},
		{"several", "/long", "br, deflate, gzip, zstd", "gzip"},
		{"any coding", "/long", "*", "gzip"},
		{"any coding but gzip", "/long", "*, gzip;q=0", ""},
		{"nothing is requested", "/long", "", ""},
		{"identity", "/long", "identity", ""},
		{"gzip is refused", "/long", "gzip;q=0", ""},
		{"all is refused", "/long", "gzip;q=0, *;q=0.0", ""},
		{"with a weight", "/long", "br;q=0.8, gzip;q=0.5", "gzip"},
		{"another case", "/long", "GZIP", "gzip"},
		{"a byte too short", "/1023", "gzip", ""},
		{"just long enough", "/1024", "gzip", "gzip"},
		{"a page", "/page", "gzip", "gzip"},
		{"another type", "/picture", "gzip", ""},
		{"no type", "/unnamed", "gzip", ""},
		{"after a hint", "/hinted", "gzip", "gzip"},
		{"flushed before any content", "/flushed", "gzip", ""},
		{"a head that changes after it was sent", "/changed", "gzip", "gzip"},
		{"already encoded", "/encoded", "gzip", "br"},
		{"already encoded, and long", "/encoded-long", "gzip", "br"},
		{"an unknown coding", "/long", "br", ""},
		{"short", "/short", "gzip", ""},
		{"event stream", "/events", "gzip", ""},
		{"a file", "/file", "gzip", ""},
		{"not to be transformed", "/whole", "gzip", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := g.do(t, "GET", tt.path, "", "Accept-Encoding", tt.accept)
			if coding := got.header.Get("Content-Encoding"); got.status != 200 || coding != tt.want {
				t.Fatalf("got %d with coding %q, want %q", got.status, coding, tt.want)
			}
			if text := decoded(t, got); !strings.Contains(text, "words") || tt.want != "" && tt.want != "br" && !strings.HasPrefix(long, text) {
				t.Errorf("got %q", text)
			}
			if vary := got.header.Values("Vary"); !strings.Contains(strings.Join(vary, ","), "Accept-Encoding") {
				t.Errorf("Vary is %q: a cache would mix up codings", vary)
			}
		})
	}
}

// The response to HEAD does not describe a body, which is not sent.
func TestHeadIsNotCompressed(t *testing.T) {
	t.Parallel()
	g := start(t, nil, compressedRoutes)
	got := g.do(t, "HEAD", "/long", "", "Accept-Encoding", "gzip")
	if got.status != 200 || got.header.Get("Content-Encoding") != "" || got.body != "" || !strings.Contains(strings.Join(got.header.Values("Vary"), ","), "Accept-Encoding") {
		t.Errorf("got %d, %v, %q", got.status, got.header, got.body)
	}
}

// A head that is flushed before any content keeps its status, and the writer its deadlines.
func TestAHeadIsFlushedAsItIs(t *testing.T) {
	t.Parallel()
	g := start(t, nil, func(r *mux.Router) {
		r.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusAccepted)
			w.(http.Flusher).Flush()
			if err := http.NewResponseController(w).SetWriteDeadline(time.Time{}); err != nil {
				t.Error(err)
			}
			_, _ = io.WriteString(w, long)
		})
	})
	for _, accept := range []string{"gzip", "identity"} {
		got := g.do(t, "GET", "/", "", "Accept-Encoding", accept)
		if got.status != http.StatusAccepted || got.body != long {
			t.Errorf("%s: %d, %v, %.40q", accept, got.status, got.header, got.body)
		}
	}
}

// flushes counts how often written data is sent.
type flushes struct {
	*httptest.ResponseRecorder
	n int
}

func (f *flushes) Flush() { f.n++ }

// The head of a stream and each of its events is sent once.
func TestAStreamIsFlushedOnce(t *testing.T) {
	t.Parallel()
	packing := &compression{http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		for range 3 {
			_ = http.NewResponseController(w).Flush()
			_, _ = io.WriteString(w, "data: 1\n\n")
		}
	})}
	for _, accept := range []string{"gzip", "identity"} {
		w := &flushes{ResponseRecorder: httptest.NewRecorder()}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept-Encoding", accept)
		packing.ServeHTTP(w, r)
		if w.n != 3 {
			t.Errorf("%s: head and two events were sent %d times", accept, w.n)
		}
	}
}

// A hijacked connection is handed over unchanged.
func TestUpgradesAreNotCompressed(t *testing.T) {
	t.Parallel()
	g := start(t, nil, func(r *mux.Router) {
		r.HandleFunc("/socket", func(w http.ResponseWriter, _ *http.Request) {
			if _, packed := w.(*gzipResponse); packed {
				t.Error("the response would be compressed")
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, long)
		})
	})
	got := g.do(t, "GET", "/socket", "", "Accept-Encoding", "gzip", "Connection", "Upgrade", "Upgrade", "WebSocket")
	if got.status != 200 || got.header.Get("Content-Encoding") != "" {
		t.Errorf("got %d, %v", got.status, got.header)
	}
}

func decoded(t *testing.T, r reply) string {
	t.Helper()
	body := io.Reader(strings.NewReader(r.body))
	switch r.header.Get("Content-Encoding") {
	case "gzip":
		if len(r.body) >= len(long) {
			t.Error("it is not shorter than before")
		}
		z, err := gzip.NewReader(body)
		if err != nil {
			t.Fatal(err)
		}
		body = z
	}
	text, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A stream's head is sent before its first event, regardless of the codings that the client accepts.
func TestHeadOfAStreamIsNotHeldBack(t *testing.T) {
	t.Parallel()
	seen := make(chan struct{})
	g := start(t, nil, func(r *mux.Router) {
		r.HandleFunc("/events", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			select {
			case <-seen:
			case <-r.Context().Done():
				t.Error("the client has not seen the head")
			}
			_, _ = io.WriteString(w, "data: 1\n\n")
		})
	})
	req, _ := http.NewRequestWithContext(t.Context(), "GET", g.url+"/events", nil)
	req.Header.Set("Accept-Encoding", "gzip")
	res, err := (&http.Transport{}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	close(seen)
	if line, err := bufio.NewReader(res.Body).ReadString('\n'); line != "data: 1\n" {
		t.Errorf("got %q, %v", line, err)
	}
}

// Flushed pieces of JSON arrive, as in a response that is kept alive by spaces.
func TestFlushedPiecesOfJSONArrive(t *testing.T) {
	t.Parallel()
	seen := make(chan struct{})
	g := start(t, nil, func(r *mux.Router) {
		r.HandleFunc("/wait", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "\n")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-seen:
			case <-r.Context().Done():
				t.Error("the client has not seen the first piece")
			}
			_, _ = io.WriteString(w, long)
		})
	})
	req, _ := http.NewRequestWithContext(t.Context(), "GET", g.url+"/wait", nil)
	req.Header.Set("Accept-Encoding", "gzip")
	res, err := (&http.Transport{}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	z, err := gzip.NewReader(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 1)
	if _, err := io.ReadFull(z, first); err != nil || first[0] != '\n' {
		t.Fatalf("got %q, %v", first, err)
	}
	close(seen)
	if rest, err := io.ReadAll(z); string(rest) != long {
		t.Errorf("got %q, %v", rest, err)
	}
}

// A response that breaks off is not mistaken for complete.
func TestCompressedAnswerThatBreaksOff(t *testing.T) {
	t.Parallel()
	g := start(t, nil, func(r *mux.Router) {
		r.HandleFunc("/broken", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, long)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		})
	})
	for _, accept := range []string{"gzip", "identity"} {
		req, _ := http.NewRequest("GET", g.url+"/broken", nil)
		req.Header.Set("Accept-Encoding", accept)
		res, err := (&http.Transport{}).RoundTrip(req)
		if err != nil {
			continue // it broke before its head
		}
		if _, err := io.ReadAll(res.Body); err == nil {
			t.Errorf("%s: it was read to an end", accept)
		}
		res.Body.Close()
	}
}
