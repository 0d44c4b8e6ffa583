package adapter

import (
	"net/http"

	"github.com/apbridge/apbridge/mapping"
)

// AddHop adds to a call of an agent the header that lists the bridges on its way, so that a bridge that is its own
// agent can detect it.
func AddHop(r *http.Request, own string) {
	if own != "" {
		r.Header.Set(mapping.HopsHeader, mapping.HopsTo(r.Context(), own))
	}
}
