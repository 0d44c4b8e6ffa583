package proxy

import (
	"net/http"

	"github.com/gorilla/mux"

	"github.com/apbridge/apbridge/proxy/guard"
)

// AdminRoutes are the routes of the admin listener. They need no key: a caller that reaches that listener may see
// everything that does not belong to a tenant.
type AdminRoutes struct {
	Owns  func(path string) bool
	Mount func(r *mux.Router)
}

// insideRoutes returns the handler for the further routes of the admin listener. Requests pass the guards that check
// the request itself and appear in both logs, like those of clients. They need no key.
func (s *Server) insideRoutes() http.Handler {
	if s.opt.AdminRoutes == nil {
		return http.NotFoundHandler()
	}
	var proxies trustedProxies
	f := s.refuser
	none := operations{}
	return &guarded{
		[]guard.Guard{requestID{}, &accessLog{f, none, proxies, &s.times, s.opt.Tracer, s.opt.RunIn}},
		recoverer{f},
		[]guard.Guard{bodyGuard{f, s.cfg.Limits, &s.times}, guard.Path(f), &auditGuard{f, auditor{proxies, s.opt.Audit}, none, s.opt.Does}},
		newRouter(f, none, s.opt.AdminRoutes.Mount),
	}
}
