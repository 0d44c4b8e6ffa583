package proxy

import (
	"net/http"
	"strconv"
	"time"

	"github.com/apbridge/apbridge/mapping"
)

// door refuses requests while the bridge shuts down, or has more connections than it can serve. Those that watch it are
// let in always.
type door struct {
	refuser
	ops         operations
	connections connLimit
	admission   admission
	grace       time.Duration // of a shutdown
}

func (d *door) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.ops.own(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		if d.connections.full() {
			d.tooMany(w, r)
			return
		}
		if !d.admission.enter() {
			d.closed(w, r)
			return
		}
		defer d.admission.leave()
		d.metrics.InFlight(1)
		defer d.metrics.InFlight(-1)
		next.ServeHTTP(w, r)
	})
}

// closed refuses a request while the bridge stops.
func (d *door) closed(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Retry-After", strconv.Itoa(d.retryAfter()))
	d.refuse(w, r, mapping.Errorf(mapping.Unavailable, mapping.CodeShutdown, "The bridge is shutting down. Try again in a moment."))
}

// retryAfter is in seconds: when the next process may be there.
func (d *door) retryAfter() int { return int(d.grace.Seconds()) + 1 }

// tooMany refuses a request and gives its connection up.
func (d *door) tooMany(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Connection", "close")
	w.Header().Set("Retry-After", "1")
	d.refuse(w, r, mapping.Errorf(mapping.Unavailable, codeOverloaded,
		"The bridge has more connections open than the %d it can serve with its file descriptors. Close some, or try again in a moment.", d.connections.most))
}
