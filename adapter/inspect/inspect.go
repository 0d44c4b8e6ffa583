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

// RunIn returns the id of the run that a page is about; "": it is about none.
func RunIn(path string) string { return adapter.RunIn([]string{Root + "/runs/{run}"}, path) }

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
	// Failed is told the code of each request that is answered with an error; nil: not reported.
	Failed func(code string)
}

// server serves all pages. Each page is a type that holds the parts of the service it uses. They are safe for
// concurrent use.
type server struct {
	*renderer
	runs        *runsPage
	run         *runPage
	event       *eventPage
	call        *callPage
	written     *runFiles
	exports     *runExports
	thread      *threadPage
	files       *threadFiles
	checkpoints *checkpointPages
	agents      *agentsPage
	try         *tryAgent
	answer      *answering
	cancel      *cancelling
	fork        *forking
	again       *rerun
}

// serve answers one request.
type serve = func(w http.ResponseWriter, r *http.Request) error

// route is one path with one method. What it does is said once, here, for the router, for the rights and for the audit
// log.
type route struct {
	method, path string // the path below Root
	needs        []string
	does         adapter.Effect
	by           func(*server) serve
}

var (
	// looking are the rights of a page that shows what is stored.
	looking = []string{mapping.RightInspect, mapping.RightRead}
	// acting are those of a form that makes an agent work.
	acting = []string{mapping.RightInspect, mapping.RightRead, mapping.RightRun}
)

// routes returns all routes. Each file of pages has its own.
func routes() []route {
	return slices.Concat(assetRoutes, runRoutes, oneRunRoutes, callRoutes, agentRoutes, threadRoutes, checkpointRoutes, actRoutes)
}

// Mount adds the routes to r.
func Mount(r *mux.Router, o Options) {
	s := newSite(o)
	for _, one := range routes() {
		methods := []string{one.method}
		if one.method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
		r.Path(Root + one.path).Methods(methods...).Handler(adapter.Operation{Handler: s.handler(one.method, one.by(s)), Needs: one.needs})
	}
}

func newSite(o Options) *server {
	svc := o.Service
	d := &renderer{version: o.Version, log: o.Log, failed: o.Failed}
	live := &live{heartbeat: o.Heartbeat, every: lookEvery}
	names, used := &agentNames{svc}, newUsages(svc)
	axes := &axes{timeline.Source{Runs: svc, Index: svc, Agents: svc}, o.Dialects, timeline.NewMarks()}
	call, written := &callPage{d, svc}, &runFiles{svc, svc}
	runs, files := &threadRuns{svc, svc}, &threadFiles{svc}
	start := &starting{d, svc, svc, o.Dialects}
	return &server{
		renderer: d,
		runs:     &runsPage{d, live, svc, names, &rows{svc, used}},
		run: &runPage{
			renderer: d, live: live, axes: axes, runs: svc, log: svc, explainer: svc, call: call, files: written, used: used,
		},
		event: &eventPage{d, axes}, call: call, written: written, exports: &runExports{axes, svc, o.Version},
		thread: &threadPage{
			renderer: d, live: live, threads: svc, index: svc, runs: runs, history: &history{svc}, files: files,
			told: &toldItems{svc, svc},
		},
		files: files, checkpoints: &checkpointPages{d, svc, runs, names}, agents: &agentsPage{d, names, o.Dialects, o.About, o.DefaultAgent},
		try: &tryAgent{start}, answer: &answering{start, svc, runs}, cancel: &cancelling{d, svc},
		fork: &forking{start, svc}, again: &rerun{start, svc, names, o},
	}
}

// Effect returns what a route does, by its method and the template of its path.
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

// Tab returns the tab by which the bridge's other pages lead to the inspector; nil for callers that may not look.
func Tab(who mapping.Principal) []page.Tab {
	if who.Need(looking...) != nil {
		return nil
	}
	return []page.Tab{page.Inspector}
}
