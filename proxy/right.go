package proxy

import (
	"net/http"

	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
)

// needing is a handler that says what a request for it needs, as adapter.Operation does.
type needing interface{ Rights() []string }

// rightGuard refuses requests whose principal has not the rights that the route needs. It stands within the router,
// where the route is known. A route that does not say what it needs is closed to principals with rights by name.
type rightGuard struct{ refuser }

func (g rightGuard) Pass(w http.ResponseWriter, r *http.Request) (*http.Request, bool) {
	if err := g.permit(r); err != nil {
		g.metrics.AuthFailed("right")
		g.refuse(w, r, err)
		return nil, false
	}
	return r, true
}

func (rightGuard) permit(r *http.Request) error {
	who := mapping.PrincipalOf(r.Context())
	route, says := mux.CurrentRoute(r).GetHandler().(needing)
	switch {
	case says:
		return who.Need(route.Rights()...)
	case who.Rights != nil:
		return mapping.Errorf(mapping.Forbidden, codeRight, "%q has rights by name, and none of them is for this path.", who.ID)
	}
	return nil
}
