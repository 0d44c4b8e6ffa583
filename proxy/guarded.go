package proxy

import (
	"net/http"

	"github.com/apbridge/apbridge/proxy/guard"
)

// guarded passes requests through guards before they reach a handler. The first guards see every request and its
// outcome, even if a later guard or the handler panics.
type guarded struct {
	see       []guard.Guard
	recoverer recoverer
	guards    []guard.Guard
	next      http.Handler
}

func (g *guarded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	seen := &guard.Exchange{Writer: w, Request: r}
	defer seen.End()
	if !seen.Pass(g.see) {
		return
	}
	x := &guard.Exchange{Writer: seen.Writer, Request: seen.Request}
	defer g.recoverer.rescue(seen)
	defer x.End()
	if x.Pass(g.guards) {
		g.next.ServeHTTP(x.Writer, x.Request)
	}
}
