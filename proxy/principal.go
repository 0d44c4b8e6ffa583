package proxy

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/auth"
)

// open are the exact paths that need no key: they tell nothing but that the
// bridge is there.
var open = map[string]bool{"/healthz": true, "/readyz": true, "/ok": true}

// pathMetrics tells of all tenants and agents.
const pathMetrics = "/metrics"

// withPrincipal finds out who the request is made for. The identity comes from
// our own keys only, never from a header that a proxy could have set.
func (s *Server) withPrincipal(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if open[r.URL.Path] || s.opt.Public[r.URL.Path] != nil {
			next.ServeHTTP(w, r)
			return
		}
		who, err := s.gate.Authenticate(r, s.trusted.client(r))
		if err != nil {
			s.unknown(w, r, err)
			return
		}
		auth.Strip(r.Header)
		if rec := tapOf(r.Context()); rec != nil {
			rec.key = who.ID
		}
		if err := permit(who, r.URL.Path); err != nil {
			s.opt.Metrics.AuthFailed("right")
			s.refuse(w, r, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(mapping.WithPrincipal(r.Context(), who)))
	})
}

// unknown refuses a request whose key is missing or wrong.
func (s *Server) unknown(w http.ResponseWriter, r *http.Request, err error) {
	s.opt.Metrics.AuthFailed(auth.Reason(err))
	if slowed := (*auth.Slowed)(nil); errors.As(err, &slowed) {
		w.Header().Set("Retry-After", strconv.Itoa(slowed.Seconds()))
	}
	s.refuse(w, r, err)
}

// permit refuses a path that the key has no right to. Metrics tell of all tenants and
// agents, so that a key which is confined in any way has to be given the right to them;
// a key that is given rights has those alone.
func permit(who mapping.Principal, path string) error {
	switch metrics := path == pathMetrics; {
	case metrics && !who.MayReadMetrics():
		return mapping.Errorf(mapping.Forbidden, codeRight,
			"Key %q may not read metrics, which tell of all tenants and agents. Use a key with rights: [metrics], or the admin listener.", who.ID)
	case !metrics && who.Rights != nil:
		return mapping.Errorf(mapping.Forbidden, codeRight, "Key %q may read /metrics, and nothing else (auth.keys[].rights).", who.ID)
	}
	return nil
}

const codeRight = "no_right"
