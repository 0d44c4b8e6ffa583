package inspect

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/inspect/timeline"
	"github.com/apbridge/apbridge/adapter/page"
	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
	"go.uber.org/zap"
)

// Root is where the pages are.
const Root = "/inspect"

// Owns reports whether a path is of the inspector.
func Owns(path string) bool { return path == Root || strings.HasPrefix(path, Root+"/") }

// Options are what the pages are made from.
type Options struct {
	Service  adapter.Service
	Dialects adapter.Dialects
	Version  string
	Log      *zap.Logger
	// About tells of agents what the service does not.
	About About
	// DefaultAgent is the name of the one that is meant where none is named; "": there is none.
	DefaultAgent func() string
	// Heartbeat is the interval between heartbeats of a stream of changes.
	Heartbeat time.Duration
	// URL is where the caller finds the routes of clients, without a slash at its end.
	URL func(*http.Request) string
	// Keys reports whether clients have to bring a key.
	Keys func() bool
	// Failed is told the code of each request that is answered with an error; nil: nobody is told.
	Failed func(code string)
}

// inspector is what all pages share. Safe for concurrent use.
type inspector struct {
	Options
	look  time.Duration // between two looks for changes
	used  *usages
	marks *timeline.Marks
}

// lookEvery is how old the news of a page may be.
const lookEvery = time.Second

// route is one path with one method. What it does is said once, here, for the router, for the rights and for
// the audit log.
type route struct {
	method, path string // the path below Root
	needs        []string
	does         adapter.Effect
	serve        func(*inspector, http.ResponseWriter, *http.Request) error
}

var (
	// looking are the rights of a page that shows what is stored.
	looking = []string{mapping.RightInspect, mapping.RightRead}
	// acting are those of a form that makes an agent work.
	acting = []string{mapping.RightInspect, mapping.RightRead, mapping.RightRun}
)

// routes are all of them. Each file of pages has its own.
func routes() []route {
	return slices.Concat(assetRoutes, runRoutes, oneRunRoutes, callRoutes, agentRoutes, threadRoutes, checkpointRoutes, actRoutes)
}

// Mount adds the routes to r.
func Mount(r *mux.Router, o Options) { newInspector(o).mount(r) }

func newInspector(o Options) *inspector {
	return &inspector{Options: o, look: lookEvery, used: newUsages(o.Service.Runs), marks: timeline.NewMarks()}
}

func (i *inspector) mount(r *mux.Router) {
	for _, one := range routes() {
		methods := []string{one.method}
		if one.method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
		r.Path(Root + one.path).Methods(methods...).Handler(adapter.Operation{Handler: i.handler(one), Needs: one.needs})
	}
}

// Effect is what a route does, by its method and the template of its path.
func Effect(method, template string) (adapter.Effect, bool) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for _, one := range routes() {
		if one.method == method && Root+one.path == template {
			return one.does, one.does.Kind != ""
		}
	}
	return adapter.Effect{}, false
}

// Tab leads to the inspector from the bridge's other pages, for those who may look.
func Tab(who mapping.Principal) []page.Tab {
	if who.Need(looking...) != nil {
		return nil
	}
	return []page.Tab{page.Inspector}
}
