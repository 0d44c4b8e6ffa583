package proxy

import (
	"net/http"

	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
)

// needing is a handler with the rights that a request for it needs, such as adapter.Operation.
type needing interface{ Rights() []string }

// needed returns why the principal lacks rights for the request's route, or nil if it has them. A route without rights
// is closed to principals with named rights.
func needed(r *http.Request) error {
	who := mapping.PrincipalOf(r.Context())
	route, says := mux.CurrentRoute(r).GetHandler().(needing)
	switch {
	case says:
		return who.Need(route.Rights()...)
	case who.Rights != nil:
		return mapping.Errorf(mapping.Forbidden, codeForbidden, "%q has only certain rights, and none of them is for this path.", who.ID)
	}
	return nil
}
