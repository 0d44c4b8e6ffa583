package proxy

import (
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
)

// routeEffect tells what a request will do, before the router has it. It has the routes tried once more, so that it is
// for the few requests of which that must be known.
type routeEffect struct {
	routes *mux.Router
	does   func(method, route, path string) (adapter.Effect, bool) // nil: of no route it is known
}

// verb is what the route that will take the request does; "": that is not known.
func (f routeEffect) verb(r *http.Request) mapping.Verb {
	var match mux.RouteMatch
	if f.does == nil || !f.routes.Match(r, &match) || match.MatchErr != nil || match.Route == nil {
		return ""
	}
	template, err := match.Route.GetPathTemplate()
	if err != nil {
		return ""
	}
	effect, _ := f.does(r.Method, template, r.URL.Path)
	return effect.Verb
}
