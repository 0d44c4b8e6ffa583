package proxy

import "net/http"

// challenge is for a browser, which asks its user for a name and a password: the key (RFC 7617 section 2).
const challenge = `Basic realm="apbridge: any name, and the API key as the password", charset="UTF-8"`

// fromBrowser has the password of HTTP Basic authentication stand for a key on the paths of pages that people open with
// a key: a browser sends no other header by itself. Elsewhere Basic means nothing, so that a key that a browser has
// kept opens nothing that a page of another's could have it ask for.
func (g *principalGuard) fromBrowser(w http.ResponseWriter, r *http.Request) {
	if g.browsed == nil || !g.browsed(r.URL.Path) {
		return
	}
	w.Header().Set("WWW-Authenticate", challenge)
	if _, key, ok := r.BasicAuth(); ok && key != "" && len(r.Header.Values("Authorization")) == 1 {
		r.Header.Set("Authorization", "Bearer "+key)
	}
}
