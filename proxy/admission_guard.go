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
	admission   admission
	grace       time.Duration // of a shutdown
}

func (d *admissionGuard) Pass(x *guard.Exchange) bool {
	switch {
	case d.ops.own(x.Request.URL.Path):
		return true
	case d.connections.full():
		d.tooMany(x.Writer, x.Request)
		return false
	case !d.admission.enter():
		d.closed(x.Writer, x.Request)
		return false
	}
	d.metrics.InFlight(1)
	x.AtEnd(d.left)
	return true
}

// left is called when an admitted request has been answered.
func (d *admissionGuard) left() {
	d.metrics.InFlight(-1)
	d.admission.leave()
}

// closed refuses a request during shutdown.
func (d *admissionGuard) closed(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Retry-After", strconv.Itoa(d.retryAfter()))
	d.refuse(w, r, mapping.Errorf(mapping.Unavailable, mapping.CodeShutdown, "The bridge is shutting down. Try again in a moment."))
}

// retryAfter returns the seconds after which the next process may be running.
func (d *admissionGuard) retryAfter() int { return int(d.grace.Seconds()) + 1 }

// tooMany refuses a request and closes its connection.
func (d *admissionGuard) tooMany(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Connection", "close")
	w.Header().Set("Retry-After", "1")
	d.refuse(w, r, mapping.Errorf(mapping.Unavailable, codeOverloaded,
		"The bridge has more connections open than the %d it can serve with its file descriptors. Close some, or try again in a moment.", d.connections.most))
}
