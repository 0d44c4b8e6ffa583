package passthrough

import (
	"errors"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
)

// rewrite turns our request into the one for the agent. Headers of a single connection (RFC 9110 section 7.6.1) and the
// caller's forwarding headers have already been removed.
func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	out := r.Out.URL
	out.RawPath = strings.TrimPrefix(out.EscapedPath(), p.prefix)
	out.Path = strings.TrimPrefix(out.Path, p.prefix)
	if plain, err := url.PathUnescape(out.RawPath); err != nil || plain != out.Path {
		out.RawPath = "" // the prefix itself was escaped
	}
	r.SetURL(p.target)
	withhold(r.Out.Header, p.own)
	r.Out.Trailer = nil // some agents read them as headers
}

// errSwitched means that the agent switched protocols without a request for it.
var errSwitched = errors.New("the agent switched protocols without being asked")

func (p *Proxy) modify(res *http.Response) error {
	if res.StatusCode == http.StatusSwitchingProtocols {
		return errSwitched
	}
	c := callOf(res.Request.Context())
	if isStream(res.Header.Get("Content-Type")) {
		if err := c.count(); err != nil {
			c.end(err)
			return err
		}
	}
	confine(res.Header)
	c.closing(res.Header)
	for _, name := range []string{"Location", "Content-Location"} {
		if v := res.Header.Get(name); v != "" {
			res.Header.Set(name, p.ours(v))
		}
	}
	return nil
}

// ours translates an agent's reference to itself for our callers. Other references remain unchanged.
func (p *Proxy) ours(ref string) string {
	u, err := url.Parse(ref)
	if err != nil || u.Host != "" && (u.Host != p.target.Host || u.Scheme != "" && u.Scheme != p.target.Scheme) {
		return ref
	}
	if u.Host == "" && !strings.HasPrefix(u.Path, "/") {
		return ref
	}
	rest, ok := strings.CutPrefix(u.EscapedPath(), p.target.EscapedPath())
	if !ok || rest != "" && rest[0] != '/' {
		return ref
	}
	u.Scheme, u.Host, u.User = "", "", nil
	u.Path, u.RawPath = p.prefix+strings.TrimPrefix(u.Path, p.target.Path), p.prefix+rest
	return u.String()
}
