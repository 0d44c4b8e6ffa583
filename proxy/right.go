package proxy

import (
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
)

// needed returns why the principal lacks rights for the request's route, or nil if it has them. A route without rights
// is closed to principals with named rights.
func needed(r *http.Request) error {
	who := mapping.PrincipalOf(r.Context())
	route, named := mux.CurrentRoute(r).GetHandler().(adapter.Operation)
	switch {
	case named:
		return who.Need(route.Needs...)
	case who.Rights != nil:
		return mapping.Errorf(mapping.Forbidden, codeForbidden, "%q has only certain rights, and none of them is for this path.", who.ID)
	}
	return nil
}
