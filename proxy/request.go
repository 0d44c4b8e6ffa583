package proxy

import (
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/failpoint"
	"github.com/apbridge/apbridge/proxy/metrics"
	"github.com/google/uuid"
	"github.com/gorilla/mux"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

const headerRequestID = "X-Request-Id"

// withRequestID gives every request an id, the client's own if it is a sane
// one. Handlers find it in the request's header.
func (s *Server) withRequestID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(headerRequestID)
		if !saneID(id) {
			id = uuid.NewString()
		}
		r.Header[headerRequestID] = []string{id}
		w.Header().Set(headerRequestID, id)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
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

// withRecord writes the access log and counts. It notes no bodies, no queries
// and no headers: any of them may hold what is nobody's business.
func (s *Server) withRecord(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &responseTap{ResponseWriter: w, control: http.NewResponseController(w), patience: s.times.write, route: unmatched}
		start := time.Now()
		// Deferred: an aborted answer is counted too.
		defer func() {
			rec.extend()
			failpoint.Hit(failpoint.ReplyWritten)
			s.record(rec, r, time.Since(start))
		}()
		next.ServeHTTP(rec, r.WithContext(withTap(r.Context(), rec)))
	})
}

func (s *Server) record(rec *responseTap, r *http.Request, took time.Duration) {
	dialect := s.faceOf(r.URL.Path).Name
	level := zapcore.InfoLevel
	if _, ok := s.ops[r.URL.Path]; ok {
		dialect, rec.route, level = "ops", r.URL.Path, zapcore.DebugLevel
	}
	s.opt.Metrics.Requested(metrics.Request{
		Dialect: dialect, Route: rec.route, Method: r.Method, Status: rec.code(), Duration: took,
	})
	if ce := s.log.Check(level, "request"); ce != nil {
		ce.Write(
			zap.String("request_id", r.Header.Get(headerRequestID)),
			zap.String("method", r.Method),
			zap.String("path", r.URL.Path),
			zap.String("route", rec.route),
			zap.Int("status", rec.code()),
			zap.Int64("bytes", rec.bytes),
			zap.Duration("took", took),
			zap.String("from", s.trusted.client(r)),
			zap.String("key", rec.key),
		)
	}
}

// withRecover turns a bug into a 500 and keeps the process. What a panic holds
// may be a client's data, so only Go's own messages are logged.
func (s *Server) withRecover(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch v := recover(); v {
			case nil:
			case http.ErrAbortHandler:
				panic(v)
			default:
				s.recovered(w, r, v)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

func (s *Server) recovered(w http.ResponseWriter, r *http.Request, v any) {
	s.opt.Metrics.Panicked()
	what := fmt.Sprintf("a %T", v)
	if e, ok := v.(runtime.Error); ok {
		what = e.Error()
	}
	s.log.Error("panic in a request",
		zap.String("request_id", r.Header.Get(headerRequestID)), zap.String("panic", what), zap.ByteString("stack", debug.Stack()))
	if rec := tapOf(r.Context()); rec != nil && rec.status != 0 {
		panic(http.ErrAbortHandler) // an answer has begun: cut it, so that it is not taken as whole
	}
	s.refuse(w, r, mapping.Classify(fmt.Errorf("panic")))
}

// route sends the request to its handler.
func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	if h, ok := s.ops[r.URL.Path]; ok {
		h.ServeHTTP(w, r)
		return
	}
	s.router.ServeHTTP(w, r)
}

// newRouter has no path cleaning, which would answer 301 and turn a POST into
// a GET; withPath refuses what it would clean. Variables are matched decoded,
// which is unambiguous because encoded slashes are refused too.
func (s *Server) newRouter() *mux.Router {
	r := mux.NewRouter().SkipClean(true)
	r.Use(noteRoute)
	if s.opt.Mount != nil {
		s.opt.Mount(r)
	}
	r.NotFoundHandler = http.HandlerFunc(s.notFound)
	r.MethodNotAllowedHandler = http.HandlerFunc(s.methodNotAllowed)
	return r
}

// noteRoute tells the tap which template matched; only inside of the
// router is that known.
func noteRoute(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := tapOf(r.Context())
		if template, err := mux.CurrentRoute(r).GetPathTemplate(); err == nil && rec != nil {
			rec.route = template
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) notFound(w http.ResponseWriter, r *http.Request) {
	s.refuse(w, r, mapping.Errorf(mapping.NotFound, mapping.CodeRouteNotFound, "There is nothing at this path."))
}

const codeMethod = "method_not_allowed"

// methodNotAllowed names the methods of the path (RFC 9110 section 15.5.6).
func (s *Server) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	for _, m := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		other := r.Clone(r.Context())
		other.Method = m
		var match mux.RouteMatch
		if s.router.Match(other, &match) && match.MatchErr == nil {
			w.Header().Add("Allow", m)
		}
	}
	if r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	s.refuse(w, r, mapping.Errorf(mapping.NotAllowed, codeMethod, "This path does not take %s; the Allow header says what it takes.", r.Method))
}
