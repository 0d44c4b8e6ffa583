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

// Visit is what the guards know of a request for one of Options.Pages, and where Options.Browsed of one that a key has
// come with.
type Visit struct {
	// URL is where the caller found the bridge, with no slash at its end. It is made of letters, digits and - . _ ~ : [
	// ] / alone, whatever the request's headers hold.
	URL string
	// Fault is why the request has no known caller and may use no agent: its key is missing, wrong or for something
	// else. nil: its key is good, or none is needed.
	Fault error
}

type visitKey struct{}

// VisitOf returns what is known of the visitor that ctx is of.
func VisitOf(ctx context.Context) Visit {
	v, _ := ctx.Value(visitKey{}).(Visit)
	return v
}

// visitor lets every caller see a page, which tells by the principal and the visit of its request what is shown. A
// wrong key is counted, and slowed down, as elsewhere.
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

// isPlainPrefix reports whether a path leads where it says: a browser would resolve "." and ".." within it.
func isPlainPrefix(prefix string) bool {
	return len(prefix) <= 256 && prefixForm.MatchString(prefix) && path.Clean(prefix) == prefix
}

// url is where the caller found the bridge: what it says itself, or what a trusted proxy says of it by
// X-Forwarded-Proto, -Host and -Prefix. What is no part of a plain URL is left out.
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

// forwarded is what the outermost proxy said.
func forwarded(r *http.Request, header string) string {
	first, _, _ := strings.Cut(r.Header.Get(header), ",")
	return strings.TrimSpace(first)
}

// ownAddress is where the request arrived.
func ownAddress(r *http.Request) string {
	if at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && isPlainHost(at.String()) {
		return at.String()
	}
	return "localhost"
}
