package proxy

import "net/http"

// challenge makes a browser ask its user for a name and a password, which is the key (RFC 7617 section 2).
const challenge = `Basic realm="apbridge: any name, and the API key as the password", charset="UTF-8"`

// fromBrowser accepts the password of HTTP Basic authentication as a key on paths that people open in a browser with a
// key, because a browser cannot send any other header by itself. Elsewhere Basic is ignored, so that pages of other
// origins cannot use a key that the browser has stored.
func (g *principalGuard) fromBrowser(w http.ResponseWriter, r *http.Request) {
	if g.browsed == nil || !g.browsed(r.URL.Path) {
		return
	}
	w.Header().Set("WWW-Authenticate", challenge)
	if _, key, ok := r.BasicAuth(); ok && key != "" && len(r.Header.Values("Authorization")) == 1 {
		r.Header.Set("Authorization", "Bearer "+key)
	}
}
