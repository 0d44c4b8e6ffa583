package adapter

import (
	"net/http"

	"github.com/apbridge/apbridge/mapping"
)

// AddHop says on a call to an agent through which bridges it has come, so that a bridge
// that is set before itself can tell.
func AddHop(r *http.Request, own string) {
	if own != "" {
		r.Header.Set(mapping.HopsHeader, mapping.HopsTo(r.Context(), own))
	}
}
