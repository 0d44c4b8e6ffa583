package proxy

import (
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/auth"
)

// open are the exact paths that need no key: they tell nothing but that the
// bridge is there.
var open = map[string]bool{"/healthz": true, "/readyz": true, "/ok": true}

// pathMetrics tells of all tenants and agents.
const pathMetrics = "/metrics"

// principalGuard finds out who the request is made for. The identity comes from
// our own keys only, never from a header that a proxy could have set.
type principalGuard struct {
	refuser
	gate    *auth.Gate
	trusted trustedProxies
	public  map[string]http.Handler // paths that need no key
	pages   map[string]http.Handler // paths that need none and look at it
	store   func(path string) bool  // Options.Store
	secure  bool                    // the listener speaks TLS
	browsed func(path string) bool  // Options.Browsed
}

func (g principalGuard) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if open[r.URL.Path] || g.public[r.URL.Path] != nil {
			next.ServeHTTP(w, r)
			return
		}
		if g.pages[r.URL.Path] != nil {
			next.ServeHTTP(w, g.visitor(r))
			return
		}
		g.fromBrowser(w, r)
		pass, err := g.gate.Authenticate(r, g.trusted.client(r))
		if err != nil {
			g.unknown(w, r, err)
			return
		}
		w.Header().Del("WWW-Authenticate")
		auth.Strip(r.Header)
		if rec := tapOf(r.Context()); rec != nil {
			rec.key = pass.ID
		}
		if err := g.permit(pass.Principal, r.URL.Path); err != nil {
			g.metrics.AuthFailed("right")
			g.refuse(w, r, err)
			return
		}
		ctx, done := pass.Within(mapping.WithPrincipal(r.Context(), pass.Principal))
		defer done()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// unknown refuses a request whose key is missing or wrong.
func (g principalGuard) unknown(w http.ResponseWriter, r *http.Request, err error) {
	g.metrics.AuthFailed(auth.Reason(err))
	if slowed := (*auth.Slowed)(nil); errors.As(err, &slowed) {
		w.Header().Set("Retry-After", strconv.Itoa(slowed.Seconds()))
	}
	g.refuse(w, r, err)
}

// permit refuses a path that is not the principal's whatever it asks there. Metrics tell of all tenants and
// agents, so that a key which is confined in any way has to be given the right to them. What else
// a route needs is asked where it is known (rightGuard).
func (g principalGuard) permit(who mapping.Principal, path string) error {
	switch {
	case path == pathMetrics && !who.MayReadMetrics():
		return mapping.Errorf(mapping.Forbidden, codeRight,
			"Key %q may not read metrics, which tell of all tenants and agents. Use a key with rights: [metrics], or the admin listener.", who.ID)
	case slices.Contains(who.Rights, mapping.RightStore) && (g.store == nil || !g.store(path)):
		return mapping.Errorf(mapping.Forbidden, codeRight, "The token of a run opens the long-term store, and nothing else.")
	}
	return nil
}

const codeRight = "no_right"
