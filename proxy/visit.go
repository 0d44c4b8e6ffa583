package proxy

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/auth"
)

// Visit describes a request for one of Options.Pages or, if it has a valid key, of Options.Browsed.
type Visit struct {
	// URL is the address at which the caller reached the bridge, without a trailing slash. It contains only letters,
	// digits and - . _ ~ : [ ] /, regardless of the request's headers.
	URL string
	// Fault is the reason why the request has no known caller and may use no agent: its key is missing, wrong or for
	// another purpose. It is nil if the key is valid, or if none is needed.
	Fault error
}

type visitKey struct{}

// VisitOf returns the visit of the request with ctx.
func VisitOf(ctx context.Context) Visit {
	v, _ := ctx.Value(visitKey{}).(Visit)
	return v
}

// visitor shows a page to every caller. The contents depend on the principal and the visit of the request. A wrong key
// is counted and slowed down, as elsewhere.
func (g *principalGuard) visitor(r *http.Request) *http.Request {
	pass, err := g.gate.Authenticate(r, g.trusted.client(r))
	who := pass.Principal
	switch {
	case err == nil:
		err = cmp.Or(g.permit(who, r.URL.Path), who.Need(mapping.RightRead))
	case auth.Reason(err) != "missing": // a key is not needed
		g.failed(r, who, auth.Reason(err), err)
	}
	if rec := tapOf(r.Context()); rec != nil {
		rec.key = who.ID
	}
	if err != nil {
		who = mapping.Principal{Agents: []string{}}
	}
	auth.Strip(r.Header)
	ctx := context.WithValue(r.Context(), visitKey{}, Visit{g.trusted.url(r, g.secure), err})
	return r.WithContext(mapping.WithPrincipal(ctx, who))
}

var (
	// hostForm is the form of a URL's host, a name or an address, with or without a port.
	hostForm = regexp.MustCompile(`^(?:\w(?:[\w-]*\w)?(?:\.\w(?:[\w-]*\w)?)*\.?|\[[0-9A-Fa-f:.]{2,45}\])(?::([0-9]{1,5}))?$`)
	// prefixForm is the form of a path without a slash at its end.
	prefixForm = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)+$`)
)

func isPlainHost(host string) bool {
	m := hostForm.FindStringSubmatch(host)
	if m == nil || len(host) > 260 {
		return false
	}
	_, err := strconv.ParseUint(m[1], 10, 16)
	return m[1] == "" || err == nil
}

// isPlainPrefix reports whether a path has a single meaning: a browser would resolve "." and ".." within it.
func isPlainPrefix(prefix string) bool {
	return len(prefix) <= 256 && prefixForm.MatchString(prefix) && path.Clean(prefix) == prefix
}

// url returns the address at which the caller reached the bridge, according to the request itself or to
// X-Forwarded-Proto, -Host and -Prefix of a trusted proxy. It ignores parts that do not belong in a plain URL.
func (p trustedProxies) url(r *http.Request, secure bool) string {
	scheme, host, prefix := "http", r.Host, ""
	if secure {
		scheme = "https"
	}
	if peer, _, err := net.SplitHostPort(r.RemoteAddr); err == nil && p.trusts(peer) {
		if said := forwarded(r, "X-Forwarded-Proto"); said == "http" || said == "https" {
			scheme = said
		}
		if said := forwarded(r, "X-Forwarded-Host"); isPlainHost(said) {
			host = said
		}
		if said := strings.TrimRight(forwarded(r, "X-Forwarded-Prefix"), "/"); isPlainPrefix(said) {
			prefix = said
		}
	}
	if !isPlainHost(host) {
		host = ownAddress(r)
	}
	return scheme + "://" + host + prefix
}

// URLOf returns where the client of a request found the bridge, without a slash at the end.
func (s *Server) URLOf(r *http.Request) string {
	now := s.now.Load()
	return now.proxies.url(r, now.cfg.TLS.On())
}

// forwarded returns the value from the outermost proxy.
func forwarded(r *http.Request, header string) string {
	first, _, _ := strings.Cut(r.Header.Get(header), ",")
	return strings.TrimSpace(first)
}

// ownAddress returns the address where the request arrived.
func ownAddress(r *http.Request) string {
	if at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && isPlainHost(at.String()) {
		return at.String()
	}
	return "localhost"
}
