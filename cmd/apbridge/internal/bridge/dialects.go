package bridge

import (
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/a2a"
	"github.com/apbridge/apbridge/adapter/taskstep"
	"github.com/apbridge/apbridge/adapter/threadrun"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy"
	"github.com/apbridge/apbridge/proxy/passthrough"
	"github.com/gorilla/mux"
)

// Dialects returns every dialect of the program. Dialects below a prefix come first, since they cost the routes of the
// others only one comparison. Detection starts from the end. The dialect with the most features is last, because
// another apbridge speaks all of them.
func Dialects() adapter.Dialects {
	return adapter.Dialects{
		a2a.Dialect(),
		taskstep.Dialect(),
		threadrun.Dialect(),
	}
}

// mount adds the routes of every dialect, each on its own paths.
func mount(r *mux.Router, dialects adapter.Dialects, svc adapter.Service, face func(adapter.Dialect) adapter.Face) {
	for _, d := range dialects {
		if d.Mount != nil {
			d.Mount(r.MatcherFunc(ownedBy(dialects, d.Name)).Subrouter(), svc, face(d))
		}
	}
}

// ownedBy matches the paths of a dialect. Paths below an agent's pass-through belong to none.
func ownedBy(dialects adapter.Dialects, name string) mux.MatcherFunc {
	return func(r *http.Request, _ *mux.RouteMatch) bool {
		d, ok := dialects.Owner(r.URL.Path)
		return ok && d.Name == name && !passthrough.Owns(r.URL.Path)
	}
}

func faces(dialects adapter.Dialects, cfg *config.Config) []proxy.Face {
	var list []proxy.Face
	for _, d := range dialects {
		list = append(list, proxy.Face{Name: d.Name, Owns: d.Owns, Open: openIn(d, cfg), Body: refusalOf(d)})
	}
	return list
}

// openIn reports which paths of a dialect need no key. Paths below an agent's pass-through are never public.
func openIn(d adapter.Dialect, cfg *config.Config) func(path string) bool {
	if d.Private != nil && d.Private(cfg) {
		return func(string) bool { return false }
	}
	return func(path string) bool { return d.IsOpen(path) && !passthrough.Owns(path) }
}

// refusalOf returns the function that builds a dialect's refusal bodies.
func refusalOf(d adapter.Dialect) func(*mapping.Error) any {
	if d.Refusal == nil {
		return proxy.PlainBody
	}
	return d.Refusal
}
