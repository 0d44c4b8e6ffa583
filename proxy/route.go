package proxy

import (
	"net/http"

	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
)

// router dispatches requests to their handlers.
type router struct {
	refuser
	ops operations
	mux *mux.Router
}

// newRouter returns a router with the routes that mount adds, if it is not nil. It does not clean paths: a redirect
// with 301 would turn a POST into a GET. guard.Path refuses such paths. Variables are matched after decoding, which is
// unambiguous because encoded slashes are refused, too.
func newRouter(f refuser, ops operations, mount func(*mux.Router)) *router {
	t := &router{f, ops, mux.NewRouter().SkipClean(true)}
	t.mux.Use(func(next http.Handler) http.Handler { return &atRoute{t, next} })
	if mount != nil {
		mount(t.mux)
	}
	t.mux.NotFoundHandler = http.HandlerFunc(t.notFound)
	t.mux.MethodNotAllowedHandler = http.HandlerFunc(t.methodNotAllowed)
	return t
}

func (t *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h, ok := t.ops.handlers[r.URL.Path]; ok {
		h.ServeHTTP(w, r)
		return
	}
	t.mux.ServeHTTP(w, r)
}

// atRoute wraps the handler of a route, because the route is known only within the router.
type atRoute struct {
	*router
	next http.Handler
}

func (a *atRoute) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.permit(w, r) {
		a.next.ServeHTTP(w, r)
	}
}

// permit refuses a request if the principal lacks the rights for the route.
func (a *atRoute) permit(w http.ResponseWriter, r *http.Request) bool {
	note(r)
	err := needed(r)
	if err != nil {
		a.metrics.AuthFailed("right")
		a.refuse(w, r, err)
	}
	return err == nil
}

// note sets the matching template in the tap.
func note(r *http.Request) {
	rec := tapOf(r.Context())
	if template, err := mux.CurrentRoute(r).GetPathTemplate(); err == nil && rec != nil {
		rec.route, rec.vars = template, mux.Vars(r)
	}
}

func (t *router) notFound(w http.ResponseWriter, r *http.Request) {
	t.refuse(w, r, mapping.Errorf(mapping.NotFound, mapping.CodeRouteNotFound, "There is nothing at this path."))
}

const codeMethod = "method_not_allowed"

// methodNotAllowed responds with the methods of the path (RFC 9110 section 15.5.6).
func (t *router) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	for _, m := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		other := r.Clone(r.Context())
		other.Method = m
		var match mux.RouteMatch
		if t.mux.Match(other, &match) && match.MatchErr == nil {
			w.Header().Add("Allow", m)
		}
	}
	if r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	t.refuse(w, r, mapping.Errorf(mapping.NotAllowed, codeMethod, "This path does not accept %s. The Allow header lists the methods that it accepts.", r.Method))
}
