package proxy

import (
	"net/http"
	"net/http/pprof"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/guard"
)

// fromPage reports whether a browser sends the request for a page of another origin (Fetch Metadata section 2.3). Such
// a page may load a picture or a script without permission, and the request has a cost even if it cannot read the
// response. From a browser, only requests for a typed address and those from pages of the listener itself are accepted.
func fromPage(r *http.Request) bool {
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "none" && site != "same-origin" {
			return true
		}
	}
	origins := r.Header.Values("Origin")
	return len(origins) > 1 || len(origins) == 1 && !guard.SameOrigin(origins[0], r.Host)
}

// newAdmin returns the server for internals of the process. It listens on loopback only and uses the same Host guard.
func (s *Server) newAdmin() *http.Server {
	m := http.NewServeMux()
	m.HandleFunc("/debug/pprof/", pprof.Index)
	m.HandleFunc("/debug/pprof/profile", pprof.Profile)
	m.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	m.HandleFunc("/debug/pprof/trace", pprof.Trace)
	for path, h := range s.ops.handlers {
		m.Handle(path, h)
	}
	for path, h := range s.inside {
		m.Handle(path, h)
	}
	return &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			names := guard.NewHosts(s.now.Load().cfg)
			names.Guarded = true
			if !names.Allow(r.Host) || fromPage(r) {
				s.refuse(w, r, mapping.Errorf(mapping.Forbidden, guard.CodeHost, "The admin listener is only for tools on this machine."))
				return
			}
			if in := s.opt.AdminRoutes; in != nil && in.Owns(r.URL.Path) {
				s.within.ServeHTTP(w, r)
				return
			}
			m.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: s.times.header,
		IdleTimeout:       s.times.idle,
		MaxHeaderBytes:    maxHeader,
	}
}

// Administer adds a path to the admin listener. It must be called before Run.
func (s *Server) Administer(path string, h http.Handler) { s.inside[path] = h }
