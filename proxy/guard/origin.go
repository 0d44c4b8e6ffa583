package guard

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
)

const codeOrigin = "origin_not_allowed"

// exposed are the headers that pages may read.
const exposed = "Accept-Ranges, Allow, Content-Disposition, Content-Location, Content-Range, ETag, Location, Preference-Applied, " +
	"Retry-After, WWW-Authenticate, X-Apbridge-Ignored, X-Apbridge-Unsupported, X-Pagination-Next, X-Pagination-Total, X-Request-Id"

const maxRequestedHeaders = 2048

// origins are the allowed pages, in addition to the bridge's own.
type origins struct {
	any      bool // "*"
	loopback bool // every page that this machine serves to itself
	listed   map[string]bool
}

func newOrigins(list []string) origins {
	o := origins{listed: map[string]bool{}}
	for _, origin := range list {
		switch origin {
		case "*":
			o.any = true
		case config.LoopbackOrigins:
			o.loopback = true
		default:
			o.listed[origin] = true
		}
	}
	return o
}

// allow reports whether an Origin header is allowed. "null" never is.
func (o origins) allow(origin string) bool {
	return o.listed[origin] || o.any && origin != "null" || o.loopback && ofLoopback(origin)
}

// ofLoopback reports whether a page comes from a server on the same machine as its browser.
func ofLoopback(origin string) bool {
	host, ok := pageHost(origin)
	if !ok {
		return false
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// pageHost returns the host of a web origin in the form of browsers: scheme://host[:port], in lower case.
func pageHost(origin string) (host string, ok bool) {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || origin != strings.ToLower(u.Scheme+"://"+u.Host) {
		return "", false
	}
	return u.Hostname(), true
}

// originGuard refuses requests of foreign pages, and lists for browsers the pages that may read responses (the CORS
// protocol, Fetch standard section 3.2). Cookies and other ambient credentials are never allowed.
type originGuard struct {
	refuser   Refuser
	origins   origins
	strangers *UnknownOrigins
}

// Origin returns a guard that refuses pages that are not allowed, and records them in met.
func Origin(f Refuser, allowed []string, met *UnknownOrigins) Guard {
	return originGuard{f, newOrigins(allowed), met}
}

func (g originGuard) Pass(x *Exchange) bool {
	w, r := x.Writer, x.Request
	w.Header().Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if !g.allowed(r, origin) {
		g.strangers.meet(origin)
		g.refuser.Refuse(w, r, mapping.Errorf(mapping.Forbidden, codeOrigin,
			"Web pages from this origin may not use the bridge. If they should, add the origin to cors.origins in its configuration, or start it with --cors-origin."))
		return false
	}
	if origin == "" {
		return true
	}
	g.share(w.Header(), origin)
	if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
		preflight(w, r)
		return false
	}
	return true
}

// allowed reports whether the origin of a request is allowed.
func (g originGuard) allowed(r *http.Request, origin string) bool {
	switch {
	case len(r.Header.Values("Origin")) > 1:
		return false
	case origin != "":
		return g.origins.allow(origin) || SameOrigin(origin, r.Host)
	}
	return !g.origins.foreign(r)
}

// SameOrigin reports whether an origin has the host. The scheme is not compared: TLS may end in front of the bridge.
func SameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, host)
}

// foreign checks browsers' headers in requests without Origin (Fetch Metadata). A page of another site may link here.
// It must not change anything, and must not load anything as a picture, a script or a frame: it could not read the
// response, but the bridge would do the work. Listed pages and the bridge's own, according to Referer, may do all of
// this.
func (o origins) foreign(r *http.Request) bool {
	if r.Header.Get("Sec-Fetch-Site") != "cross-site" {
		return false
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return true
	}
	if r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" {
		return false
	}
	page, err := url.Parse(r.Header.Get("Referer"))
	if err != nil || page.Host == "" {
		return true
	}
	from := page.Scheme + "://" + page.Host
	return !o.allow(from) && !SameOrigin(from, r.Host)
}

func (g originGuard) share(h http.Header, origin string) {
	if g.origins.any {
		origin = "*"
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", exposed)
}

// preflight allows the requested headers. The SDKs have many, and "*" would not include Authorization.
func preflight(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Add("Vary", "Access-Control-Request-Headers")
	h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE, OPTIONS")
	h.Set("Access-Control-Max-Age", "600")
	if asked := r.Header.Get("Access-Control-Request-Headers"); asked != "" && len(asked) <= maxRequestedHeaders {
		h.Set("Access-Control-Allow-Headers", asked)
	}
	if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
		h.Set("Access-Control-Allow-Private-Network", "true")
	}
	w.WriteHeader(http.StatusNoContent)
}
