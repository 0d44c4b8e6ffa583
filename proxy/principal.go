package proxy

import (
	"net/http"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/auth"
)

// open are the exact paths that need no key: they tell nothing but that the
// bridge is there.
var open = map[string]bool{"/healthz": true, "/readyz": true, "/ok": true}

// withPrincipal finds out who the request is made for. The identity comes from
// our own keys only, never from a header that a proxy could have set.
func (s *Server) withPrincipal(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if open[r.URL.Path] || s.opt.Public[r.URL.Path] != nil {
			next.ServeHTTP(w, r)
			return
		}
		who, err := s.keys.Authenticate(r)
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		auth.Strip(r.Header)
		if rec := recorderOf(r.Context()); rec != nil {
			rec.key = who.ID
		}
		next.ServeHTTP(w, r.WithContext(mapping.WithPrincipal(r.Context(), who)))
	})
}
