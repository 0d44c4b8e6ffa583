package proxy

import (
	"bufio"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gorilla/mux"
	"github.com/klauspost/compress/zstd"
)

// long is JSON that is worth compressing.
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
	write("/events", "text/event-stream", "data: "+long+"\n\n")
	write("/file", "application/json", long, "Content-Disposition", `attachment; filename="a.json"`)
	write("/whole", "application/json", long, "Cache-Control", "no-transform")
}

func TestJSONIsCompressedWhereItIsAskedFor(t *testing.T) {
	t.Parallel()
	g := start(t, nil, compressedRoutes)
	for _, tt := range []struct{ name, path, accept, want string }{
		{"gzip", "/long", "gzip, deflate", "gzip"},
		{"charset", "/charset", "gzip", "gzip"},
		{"zstd", "/long", "zstd", "zstd"},
		{"both", "/long", "gzip, deflate, br, zstd", "zstd"},
		{"nothing is asked for", "/long", "", ""},
		{"identity", "/long", "identity", ""},
		{"gzip is refused", "/long", "gzip;q=0", ""},
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
			if text := decoded(t, got); !strings.Contains(text, "words") || tt.want != "" && text != long {
				t.Errorf("got %q", text)
			}
			if vary := got.header.Values("Vary"); !strings.Contains(strings.Join(vary, ","), "Accept-Encoding") {
				t.Errorf("Vary is %q: a cache would mix up codings", vary)
			}
		})
	}
}

func decoded(t *testing.T, r reply) string {
	t.Helper()
	body := io.Reader(strings.NewReader(r.body))
	switch r.header.Get("Content-Encoding") {
	case "gzip":
		if len(r.body) >= len(long) {
			t.Error("it is no shorter than it was")
		}
		z, err := gzip.NewReader(body)
		if err != nil {
			t.Fatal(err)
		}
		body = z
	case "zstd":
		z, err := zstd.NewReader(body)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		body = z
	}
	text, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A stream's head leaves before its first event, whatever the client takes.
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

// Pieces of JSON that are flushed arrive, as in an answer that is kept alive by spaces.
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

// An answer that breaks off in the middle is not taken for a whole one.
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
	for _, accept := range []string{"gzip", "zstd", "identity"} {
		req, _ := http.NewRequest("GET", g.url+"/broken", nil)
		req.Header.Set("Accept-Encoding", accept)
		res, err := (&http.Transport{}).RoundTrip(req)
		if err != nil {
			continue // broken before its head
		}
		if _, err := io.ReadAll(res.Body); err == nil {
			t.Errorf("%s: it was read to an end", accept)
		}
		res.Body.Close()
	}
}
