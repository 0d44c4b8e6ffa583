package proxy

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/apbridge/apbridge/mapping/failpoint"
	"github.com/apbridge/apbridge/proxy/metrics"
)

const unmatched = "unmatched"

// responseTap records the response and gives each piece of it a deadline. There is no deadline for the whole, since
// streams are long. Handlers reach the connection through Unwrap.
type responseTap struct {
	http.ResponseWriter
	control  *http.ResponseController
	patience time.Duration
	extended time.Time
	metrics  *metrics.Metrics

	status int
	stream string // name of its transport in metrics, or "" if it is not a stream
	bytes  int64
	route  string            // template that matched
	key    string            // id of the caller's key
	cause  string            // code of the error with which a guard refused the request
	vars   map[string]string // of the template
	begun  func()            // called once the response begins; may be nil
}

func (r *responseTap) WriteHeader(status int) {
	if r.status == 0 && (status >= http.StatusOK || status == http.StatusSwitchingProtocols) { // not another 1xx
		failpoint.Hit(failpoint.ReplyBegun)
		r.begin(status)
	}
	r.ResponseWriter.WriteHeader(status)
}

// begin records the start of a response. Its header shows whether it is a stream.
func (r *responseTap) begin(status int) {
	r.status = status
	if r.begun != nil {
		r.begun()
	}
	switch {
	case status == http.StatusSwitchingProtocols:
		r.stream = metrics.StreamWebSocket
	case strings.HasPrefix(r.Header().Get("Content-Type"), "text/event-stream"):
		r.stream = metrics.StreamSSE
	default:
		return
	}
	r.metrics.Streams(r.stream, 1)
}

// ended is called once, when the handler has returned.
func (r *responseTap) ended() {
	if r.stream != "" {
		r.metrics.Streams(r.stream, -1)
	}
}

func (r *responseTap) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.begin(http.StatusOK)
	}
	r.extend()
	n, err := r.ResponseWriter.Write(b)
	r.bytes += int64(n)
	return n, err
}

// Flush lets handlers assert http.Flusher.
func (r *responseTap) Flush() { _ = r.FlushError() }

// FlushError is called by http.ResponseController.
func (r *responseTap) FlushError() error {
	if r.status == 0 {
		r.begin(http.StatusOK)
	}
	r.extend()
	return r.control.Flush()
}

// Unwrap gives http.ResponseController access to the connection.
func (r *responseTap) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// extend extends the write deadline, but not at every piece: the clock and the timer would cost more than the rest of a
// small write. It is also called when the handler has returned, for buffered data.
func (r *responseTap) extend() {
	now := time.Now()
	if now.Sub(r.extended) < r.patience/10 {
		return
	}
	r.extended = now
	_ = r.control.SetWriteDeadline(now.Add(r.patience)) // not supported by every writer
}

func (r *responseTap) code() int {
	if r.status == 0 {
		return http.StatusOK
	}
	return r.status
}

type tapKey struct{}

func withTap(ctx context.Context, r *responseTap) context.Context {
	return context.WithValue(ctx, tapKey{}, r)
}

func tapOf(ctx context.Context) *responseTap {
	r, _ := ctx.Value(tapKey{}).(*responseTap)
	return r
}
