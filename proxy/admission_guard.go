package proxy

import (
	"net/http"
	"strconv"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/guard"
)

// admissionGuard refuses requests while the bridge shuts down or has more connections than it can serve. The bridge's
// own operational paths, such as health and metrics, are always admitted.
type admissionGuard struct {
	refuser
	ops         operations
	connections connLimit
	requests    admission
	grace       time.Duration // of a shutdown
}

func (g *admissionGuard) Pass(x *guard.Exchange) bool {
	switch {
	case g.ops.own(x.Request.URL.Path):
		return true
	case g.connections.full():
		g.tooMany(x.Writer, x.Request)
		return false
	case !g.requests.enter():
		g.closed(x.Writer, x.Request)
		return false
	}
	g.metrics.InFlight(1)
	x.AtEnd(g.left)
	return true
}

// left is called when an admitted request has been answered.
func (g *admissionGuard) left() {
	g.metrics.InFlight(-1)
	g.requests.leave()
}

// closed refuses a request during shutdown. The next process may be running when the grace period is over.
func (g *admissionGuard) closed(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Retry-After", strconv.Itoa(int(g.grace.Seconds())+1))
	g.refuse(w, r, mapping.Errorf(mapping.Unavailable, mapping.CodeShutdown, "The bridge is shutting down. Try again in a moment."))
}

// tooMany refuses a request and closes its connection.
func (g *admissionGuard) tooMany(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Connection", "close")
	w.Header().Set("Retry-After", "1")
	g.refuse(w, r, mapping.Errorf(mapping.Unavailable, codeOverloaded,
		"The bridge has more connections open than the %d it can serve with its file descriptors. Close some, or try again in a moment.", g.connections.most))
}
