package proxy

import (
	"cmp"
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/failpoint"
	"github.com/apbridge/apbridge/proxy/guard"
	"github.com/apbridge/apbridge/proxy/metrics"
	"github.com/apbridge/apbridge/proxy/trace"
	"github.com/google/uuid"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

const headerRequestID = "X-Request-Id"

// requestID gives every request an id: the client's own if it is valid. Handlers find it in the request's header. Work
// for the request finds it in the context, with its place in a trace.
type requestID struct{}

func (requestID) Pass(x *guard.Exchange) bool {
	r := x.Request
	id := r.Header.Get(headerRequestID)
	if !saneID(id) {
		id = uuid.NewString()
	}
	r.Header[headerRequestID] = []string{id}
	x.Writer.Header().Set(headerRequestID, id)
	x.Writer.Header().Set("X-Content-Type-Options", "nosniff")
	ctx := mapping.WithRequestID(r.Context(), id)
	x.Request = r.WithContext(mapping.WithTrace(ctx, traceOf(r.Header)))
	return true
}

// traceOf returns the trace in the headers of a request.
func traceOf(h http.Header) mapping.Trace {
	parents := h.Values(mapping.TraceParentHeader)
	if len(parents) != 1 {
		return mapping.Trace{}
	}
	return mapping.ReadTrace(parents[0], strings.Join(h.Values(mapping.TraceStateHeader), ","))
}

func saneID(id string) bool {
	if id == "" || len(id) > 128 {
		return false
	}
	for _, c := range []byte(id) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.') {
			return false
		}
	}
	return true
}

// accessLog writes the access log and counts requests. It logs no bodies, queries or headers, because any of them may
// contain private data.
type accessLog struct {
	refuser
	ops     operations
	trusted trustedProxies
	times   *times
	tracer  *trace.Tracer
	runIn   func(path string) string // nil if no path names a run
}

func (l *accessLog) Pass(x *guard.Exchange) bool {
	w, r := x.Writer, x.Request
	rec := &responseTap{ResponseWriter: w, control: http.NewResponseController(w), patience: l.times.write, metrics: l.metrics, route: unmatched}
	start := time.Now()
	var span *trace.Request
	if !l.ops.own(r.URL.Path) {
		r, span = l.tracer.Request(r)
	}
	x.AtEnd(func() {
		rec.extend()
		rec.ended()
		failpoint.Hit(failpoint.ReplyWritten)
		l.write(rec, r, span, time.Since(start))
	})
	x.Writer, x.Request = rec, r.WithContext(withTap(r.Context(), rec))
	return true
}

func (l *accessLog) write(rec *responseTap, r *http.Request, span *trace.Request, took time.Duration) {
	dialect := l.faceOf(r.URL.Path).Name
	level := zapcore.InfoLevel
	if l.ops.own(r.URL.Path) {
		dialect, rec.route, level = "ops", r.URL.Path, zapcore.DebugLevel
	}
	l.metrics.Requested(metrics.Request{
		Dialect: dialect, Route: rec.route, Method: r.Method, Status: rec.code(), Duration: took,
	})
	run := l.runOf(rec.Header(), r.URL.Path)
	span.End(r.Method, trace.Answer{Route: matched(rec.route), Status: rec.code(), Key: rec.key, Run: run})
	if ce := l.log.Check(level, "request"); ce != nil {
		ce.Write(
			zap.String("request_id", r.Header.Get(headerRequestID)),
			zap.String("method", r.Method),
			zap.String("path", r.URL.Path),
			zap.String("route", rec.route),
			zap.Int("status", rec.code()),
			zap.Int64("bytes", rec.bytes),
			zap.Duration("took", took),
			zap.String("from", l.trusted.client(r)),
			zap.String("key", rec.key),
			zap.String("run", run),
			zap.String("trace_id", mapping.TraceOf(r.Context()).ID()),
		)
	}
}

// matched returns the template of a route, or "" if none matched.
func matched(route string) string {
	if route == unmatched {
		return ""
	}
	return route
}

// runOf returns the run of a request: the one that it created, according to the response, or the one in its path, or
// "".
func (l *accessLog) runOf(answer http.Header, path string) string {
	if l.runIn == nil {
		return ""
	}
	return cmp.Or(l.runIn(answer.Get("Content-Location")), l.runIn(path))
}

// recoverer turns a panic into a 500 and keeps the process running. A panic's value may contain a client's data, so
// only Go's own messages are logged.
type recoverer struct{ refuser }

// rescue must be deferred directly, since recover only works then.
func (p *recoverer) rescue(x *guard.Exchange) {
	switch v := recover(); v {
	case nil:
	case http.ErrAbortHandler:
		panic(v)
	default:
		p.recovered(x.Writer, x.Request, v)
	}
}

func (p *recoverer) recovered(w http.ResponseWriter, r *http.Request, v any) {
	p.metrics.Panicked()
	what := fmt.Sprintf("a %T", v)
	if e, ok := v.(runtime.Error); ok {
		what = e.Error()
	}
	p.log.Error("panic while serving a request",
		zap.String("request_id", r.Header.Get(headerRequestID)), zap.String("panic", what), zap.ByteString("stack", debug.Stack()))
	if rec := tapOf(r.Context()); rec != nil && rec.status != 0 {
		panic(http.ErrAbortHandler) // a response has begun: cut it, so that it is not taken for complete
	}
	p.refuse(w, r, mapping.Classify(fmt.Errorf("panic")))
}
