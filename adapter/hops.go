package adapter

import (
	"net/http"

	"github.com/apbridge/apbridge/mapping"
)

// AddHop adds the header that lists the bridges on the way of a call to an agent, so that a bridge can detect that it
// is calling itself.
func AddHop(r *http.Request, own string) {
	if own != "" {
		r.Header.Set(mapping.HopsHeader, mapping.HopsTo(r.Context(), own))
	}
}
