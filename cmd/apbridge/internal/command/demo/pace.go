package demo

import (
	"bytes"
	"net/http"
	"strings"
	"time"
)

// thinking is the time that an example agent takes for a step or a node, like an agent with a model.
const thinking = 350 * time.Millisecond

// paced delays an example agent before each step and before each message of a stream.
func paced(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/steps") {
			time.Sleep(thinking)
		}
		h.ServeHTTP(&pacedWriter{w}, r)
	})
}

// pacedWriter is the response of a paced agent. Agents write each frame of a stream at once.
type pacedWriter struct{ http.ResponseWriter }

func (w *pacedWriter) Write(b []byte) (int, error) {
	if bytes.HasPrefix(b, []byte("event: messages\n")) {
		_ = http.NewResponseController(w.ResponseWriter).Flush() // the frames before it
		time.Sleep(thinking)
	}
	return w.ResponseWriter.Write(b)
}
