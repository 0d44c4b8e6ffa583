package proxy

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/auth"
	"github.com/apbridge/apbridge/proxy/guard"
)

// probes are paths that need no key, as do those that faces name (Face.Open).
var probes = map[string]bool{"/healthz": true, "/readyz": true}

// pathMetrics tells of all tenants and agents.
const pathMetrics = "/metrics"

// principalGuard finds the principal that the request is made for. The identity comes from our own keys only, never
// from a header that a proxy could have set.
type principalGuard struct {
	refuser
	auditor
	gate    *auth.Gate
	public  map[string]http.Handler // paths that need no key
	pages   map[string]http.Handler // paths that need none and look at it
	store   func(path string) bool  // Options.Store
	secure  bool                    // the listener speaks TLS
	browsed func(path string) bool  // Options.Browsed
}

func (g *principalGuard) Pass(x *guard.Exchange) bool {
	path := x.Request.URL.Path
	switch {
	case g.open(path) || g.public[path] != nil:
		return true
	case g.pages[path] != nil:
		x.Request = g.visitor(x.Request)
		return true
	}
	return g.known(x)
}

// known gives the request its principal, until that is not good any more. A request without a known caller is refused.
func (g *principalGuard) known(x *guard.Exchange) bool {
	w, r := x.Writer, x.Request
	g.fromBrowser(w, r)
	pass, err := g.gate.Authenticate(r, g.trusted.client(r))
	if err != nil {
		g.unknown(w, r, err)
		return false
	}
	w.Header().Del("WWW-Authenticate")
	auth.Strip(r.Header)
	if rec := tapOf(r.Context()); rec != nil {
		rec.key = pass.ID
	}
	if err := g.permit(pass.Principal, r.URL.Path); err != nil {
		g.failed(r, pass.Principal, "right", err)
		g.refuse(w, r, err)
		return false
	}
	ctx, done := pass.Within(mapping.WithPrincipal(g.found(r), pass.Principal))
	x.AtEnd(done)
	x.Request = r.WithContext(ctx)
	return true
}

// found is the request's context, on the paths that people open in a browser with where they found the bridge.
func (g *principalGuard) found(r *http.Request) context.Context {
	if g.browsed == nil || !g.browsed(r.URL.Path) {
		return r.Context()
	}
	return context.WithValue(r.Context(), visitKey{}, Visit{URL: g.trusted.url(r, g.secure)})
}

// unknown refuses a request whose key is missing or wrong.
func (g *principalGuard) unknown(w http.ResponseWriter, r *http.Request, err error) {
	g.failed(r, mapping.Principal{}, auth.Reason(err), err)
	if slowed := (*auth.Slowed)(nil); errors.As(err, &slowed) {
		w.Header().Set("Retry-After", strconv.Itoa(slowed.Seconds()))
	}
	g.refuse(w, r, err)
}

// failed counts a request that is refused for its key, and writes its line in the audit log.
func (g *principalGuard) failed(r *http.Request, who mapping.Principal, reason string, err error) {
	g.metrics.AuthFailed(reason)
	e := mapping.Classify(err)
	g.attempted(r, who, adapter.Status(e.Class), e.Code)
}

// permit refuses a path that is not the principal's whatever it asks there. Metrics tell of all tenants and agents, so
// that a key which is confined in any way has to be given the right to them. What else a route needs is asked where it
// is known (atRoute).
func (g *principalGuard) permit(who mapping.Principal, path string) error {
	switch {
	case path == pathMetrics && !who.MayReadMetrics():
		return mapping.Errorf(mapping.Forbidden, codeForbidden,
			"Key %q may not read metrics, which tell of all tenants and agents. Use a key with rights: [metrics], or the admin listener.", who.ID)
	case slices.Contains(who.Rights, mapping.RightStore) && (g.store == nil || !g.store(path)):
		return mapping.Errorf(mapping.Forbidden, codeForbidden, "The token of a run opens the long-term store, and nothing else.")
	}
	return nil
}

const codeForbidden = "forbidden"
