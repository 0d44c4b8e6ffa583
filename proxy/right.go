package proxy

import (
	"net/http"

	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
)

// needing is a handler that says what a request for it needs, as adapter.Operation does.
type needing interface{ Rights() []string }

// needed returns why the principal has not the rights that the request's route needs; nil: it has them. A route that
// does not say what it needs is closed to principals with rights by name.
func needed(r *http.Request) error {
	who := mapping.PrincipalOf(r.Context())
	route, says := mux.CurrentRoute(r).GetHandler().(needing)
	switch {
	case says:
		return who.Need(route.Rights()...)
	case who.Rights != nil:
		return mapping.Errorf(mapping.Forbidden, codeForbidden, "%q has rights by name, and none of them is for this path.", who.ID)
	}
	return nil
}
