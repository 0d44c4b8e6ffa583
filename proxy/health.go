package proxy

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
)

// readyTimeout limits the check of readiness: a database that does not answer counts as unavailable.
const readyTimeout = 2 * time.Second

// operations are the exact paths for operators and monitoring.
type operations struct {
	*standing
	handlers map[string]http.Handler
}

// own reports whether the path is one of them.
func (o operations) own(path string) bool { return o.handlers[path] != nil }

func newOperations(f refuser, opt Options) operations {
	s := &standing{refuser: f, ready: opt.Ready}
	handlers := map[string]http.Handler{
		"/healthz": s.readOnly(http.HandlerFunc(s.healthz)),
		"/readyz":  s.readOnly(http.HandlerFunc(s.readyz)),
	}
	if opt.Metrics != nil {
		handlers[pathMetrics] = s.readOnly(opt.Metrics.Handler())
	}
	for _, paths := range []map[string]http.Handler{opt.Public, opt.Pages} {
		for path, h := range paths {
			handlers[path] = s.readOnly(h)
		}
	}
	return operations{s, handlers}
}

func (s *standing) readOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			s.refuse(w, r, mapping.Errorf(mapping.NotAllowed, codeMethod, "This path accepts only GET."))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// standing determines whether the bridge is alive and ready.
type standing struct {
	refuser
	ready    func(context.Context) error // as in Options
	draining atomic.Bool
}

type health struct {
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

// healthz reports that the process is alive. Nothing else can make it fail.
func (s *standing) healthz(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, health{Status: "ok"})
}

// readyz reports whether requests should be sent here.
func (s *standing) readyz(w http.ResponseWriter, r *http.Request) {
	if s.draining.Load() {
		writeJSON(w, http.StatusServiceUnavailable, health{"not ready", "the bridge is shutting down"})
		return
	}
	if err := s.askReady(r.Context()); err != nil {
		s.log.Warn("not ready", zap.Error(err))
		writeJSON(w, http.StatusServiceUnavailable, health{"not ready", publicReason(err)})
		return
	}
	writeJSON(w, http.StatusOK, health{Status: "ready"})
}

func (s *standing) askReady(ctx context.Context) error {
	if s.ready == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return s.ready(ctx)
}

func publicReason(err error) string {
	var e *mapping.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return "the database does not respond; see the log for the cause"
}
