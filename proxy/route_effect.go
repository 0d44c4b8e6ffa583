package proxy

import (
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
)

// routeEffect reports the effect of a request before the router handles it. It matches the routes a second time, so it
// is used only for the few requests that need it.
type routeEffect struct {
	routes *mux.Router
	does   func(method, route, path string) (adapter.Effect, bool) // nil if no route has a known effect
}

// verb returns the verb of the route that will handle the request, or "" if it is unknown.
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
