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

// probes are paths that need no key, in addition to those of faces (Face.Open).
var probes = map[string]bool{"/healthz": true, "/readyz": true}

// pathMetrics shows metrics of all tenants and agents.
const pathMetrics = "/metrics"

// principalGuard determines the principal of a request. The identity comes only from our own keys, never from a header
// that a proxy could have set.
type principalGuard struct {
	refuser
	auditor
	gate    *auth.Gate
	public  map[string]http.Handler // paths that need no key
	pages   map[string]http.Handler // paths that need no key but use one that is sent
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

// known sets the request's principal and ends its context when the key is no longer valid. It refuses a request without
// a known caller.
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

// found returns the request's context. On paths that people open in a browser, it contains the URL at which they
// reached the bridge.
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

// failed counts a request that is refused because of its key, and writes its line to the audit log.
func (g *principalGuard) failed(r *http.Request, who mapping.Principal, reason string, err error) {
	g.metrics.AuthFailed(reason)
	e := mapping.Classify(err)
	g.attempted(r, who, adapter.Status(e.Class), e.Code)
}

// permit refuses a path that the principal may not use for any operation. Metrics reveal all tenants and agents, so a
// key with any restriction needs the right to read them. The other rights for a route are checked when it is known
// (atRoute).
func (g *principalGuard) permit(who mapping.Principal, path string) error {
	switch {
	case path == pathMetrics && !who.MayReadMetrics():
		return mapping.Errorf(mapping.Forbidden, codeForbidden,
			"Key %q may not read metrics, which cover all tenants and agents. Use a key with rights: [metrics], or the admin listener.", who.ID)
	case slices.Contains(who.Rights, mapping.RightStore) && (g.store == nil || !g.store(path)):
		return mapping.Errorf(mapping.Forbidden, codeForbidden, "The token of a run gives access only to the long-term store.")
	}
	return nil
}

const codeForbidden = "forbidden"
