package demo

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// transcript prints requests and responses as they happen. It is safe for concurrent use.
type transcript struct {
	mu    sync.Mutex
	out   io.Writer
	muted bool
}

// Limits of a printed body: lines, and runes per line.
const (
	shownLines = 12
	shownRunes = 150
)

func (t *transcript) say(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.muted {
		fmt.Fprintf(t.out, format, args...)
	}
}

func (t *transcript) mute(muted bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.muted = muted
}

func (t *transcript) title(head, text string) {
	t.say("\n%s\n%s\n%s\n\n", head, strings.Repeat("=", len(head)), text)
}

func (t *transcript) asked(from, to, method, path string, body []byte) {
	t.say("%s%s → %s  %s %s\n%s", indent(from), from, to, method, path, lines(from, body))
}

func (t *transcript) answered(from, to string, status int, body []byte) {
	t.say("%s%s ← %s  %d\n%s", indent(from), from, to, status, lines(from, body))
}

// indent indents the exchanges between the bridge and the agents.
func indent(from string) string {
	if from == "bridge" {
		return "        "
	}
	return "  "
}

// lines formats a body. The ids of an event stream are omitted.
func lines(from string, body []byte) string {
	var b strings.Builder
	n := 0
	for line := range strings.Lines(string(body)) {
		if line = strings.TrimRight(line, "\r\n"); line == "" || strings.HasPrefix(line, "id: ") {
			continue
		}
		if n++; n <= shownLines {
			fmt.Fprintf(&b, "%s    %s\n", indent(from), shorten(line))
		}
	}
	if n > shownLines {
		fmt.Fprintf(&b, "%s    … and %d more lines\n", indent(from), n-shownLines)
	}
	return b.String()
}

func shorten(line string) string {
	runes := []rune(line)
	if len(runes) <= shownRunes {
		return line
	}
	return string(runes[:shownRunes]) + "…"
}

// watch prints the exchanges with an agent without changing them.
func (t *transcript) watch(name string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, "the request broke off", http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		t.asked("bridge", name, r.Method, r.URL.RequestURI(), body)
		tee := &tee{ResponseWriter: w, status: http.StatusOK}
		h.ServeHTTP(tee, r)
		t.answered("bridge", name, tee.status, tee.body.Bytes())
	})
}

// tee keeps a copy of a response.
type tee struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (t *tee) WriteHeader(status int) {
	t.status = status
	t.ResponseWriter.WriteHeader(status)
}

func (t *tee) Write(b []byte) (int, error) {
	t.body.Write(b)
	return t.ResponseWriter.Write(b)
}

// Flush implements http.Flusher, so that an agent can stream.
func (t *tee) Flush() { _ = http.NewResponseController(t.ResponseWriter).Flush() }

// Unwrap returns the original writer for http.ResponseController.
func (t *tee) Unwrap() http.ResponseWriter { return t.ResponseWriter }
