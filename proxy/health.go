package proxy

import (
	"context"
	"errors"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
)

// readyTimeout bounds the asking for readiness: a database that does not
// answer is one that is not there.
const readyTimeout = 2 * time.Second

// opsHandlers are the exact paths for whoever runs the bridge.
func (s *Server) opsHandlers() map[string]http.Handler {
	ops := map[string]http.Handler{
		"/healthz": s.readOnly(http.HandlerFunc(s.healthz)),
		"/readyz":  s.readOnly(http.HandlerFunc(s.readyz)),
	}
	if s.opt.Metrics != nil {
		ops[pathMetrics] = s.readOnly(s.opt.Metrics.Handler())
	}
	for path, h := range s.opt.Public {
		ops[path] = s.readOnly(h)
	}
	return ops
}

func (s *Server) readOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			s.refuse(w, r, mapping.Errorf(mapping.NotAllowed, codeMethod, "This path takes GET."))
			return
		}
		next.ServeHTTP(w, r)
	})
}

type standing struct {
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

// healthz says that the process is alive; nothing else can make it fail.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, standing{Status: "ok"})
}

// readyz says whether requests should be sent here.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	if s.draining.Load() {
		writeJSON(w, http.StatusServiceUnavailable, standing{"not ready", "the bridge is shutting down"})
		return
	}
	if err := s.ready(r.Context()); err != nil {
		s.log.Warn("not ready", zap.Error(err))
		writeJSON(w, http.StatusServiceUnavailable, standing{"not ready", publicReason(err)})
		return
	}
	writeJSON(w, http.StatusOK, standing{Status: "ready"})
}

func (s *Server) ready(ctx context.Context) error {
	if s.opt.Ready == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return s.opt.Ready(ctx)
}

func publicReason(err error) string {
	var e *mapping.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return "the database does not answer; the log has the cause"
}

// fromPage reports whether a browser says that a page of another origin makes the
// request (Fetch Metadata section 2.3): a picture or a script needs no permission to be
// asked for, and no answer to cost. Nothing of a browser but an address that a person
// has typed, or a page of the listener itself, is let in.
func fromPage(r *http.Request) bool {
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "none" && site != "same-origin" {
			return true
		}
	}
	return len(r.Header.Values("Origin")) > 0
}

// newAdmin serves what shows the inside of the process; on loopback only, and
// with the same Host guard.
func (s *Server) newAdmin() *http.Server {
	m := http.NewServeMux()
	m.HandleFunc("/debug/pprof/", pprof.Index)
	m.HandleFunc("/debug/pprof/profile", pprof.Profile)
	m.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	m.HandleFunc("/debug/pprof/trace", pprof.Trace)
	for path, h := range s.ops {
		m.Handle(path, h)
	}
	guard := newHosts(s.cfg)
	guard.guarded = true
	return &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !guard.allow(r.Host) || fromPage(r) {
				s.refuse(w, r, mapping.Errorf(mapping.Forbidden, codeHost, "The admin listener is for this machine's own tools."))
				return
			}
			m.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: s.times.header,
		IdleTimeout:       s.times.idle,
		MaxHeaderBytes:    maxHeader,
	}
}
