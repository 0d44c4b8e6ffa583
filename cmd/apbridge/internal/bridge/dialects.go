package bridge

import (
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/taskstep"
	"github.com/apbridge/apbridge/adapter/threadrun"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy"
	"github.com/apbridge/apbridge/proxy/passthrough"
	"github.com/gorilla/mux"
)

// Dialects returns every dialect the program speaks. Those below a prefix come first, which cost the routes of the
// others one comparison. The one that carries most comes last, and so is asked for first: another apbridge speaks all.
func Dialects() adapter.Dialects {
	return adapter.Dialects{
		taskstep.Dialect(),
		threadrun.Dialect(),
	}
}

// mount adds the routes of every dialect, each on the paths it owns.
func mount(r *mux.Router, dialects adapter.Dialects, svc adapter.Service, face func(dialect string) adapter.Face) {
	for _, d := range dialects {
		if d.Mount != nil {
			d.Mount(r.MatcherFunc(ownedBy(dialects, d.Name)).Subrouter(), svc, face(d.Name))
		}
	}
}

// ownedBy matches what a dialect owns. Below an agent's way through no dialect answers.
func ownedBy(dialects adapter.Dialects, name string) mux.MatcherFunc {
	return func(r *http.Request, _ *mux.RouteMatch) bool {
		d, ok := dialects.Owner(r.URL.Path)
		return ok && d.Name == name && !passthrough.Owns(r.URL.Path)
	}
}

func faces(dialects adapter.Dialects) []proxy.Face {
	var list []proxy.Face
	for _, d := range dialects {
		list = append(list, proxy.Face{Name: d.Name, Owns: d.Owns, Open: openIn(d), Body: refusalOf(d)})
	}
	return list
}

// openIn reports which paths of a dialect need no key. Paths below an agent's pass-through are never public.
func openIn(d adapter.Dialect) func(path string) bool {
	return func(path string) bool { return d.IsOpen(path) && !passthrough.Owns(path) }
}

// refusalOf writes the body of a refusal in a dialect's words.
func refusalOf(d adapter.Dialect) func(*mapping.Error) any {
	if d.Refusal == nil {
		return proxy.PlainBody
	}
	return d.Refusal
}
