package bridge

import (
	"cmp"
	"net/http"

	"github.com/apbridge/apbridge/adapter/inspect"
	"github.com/apbridge/apbridge/adapter/page"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy"
	"github.com/gorilla/mux"
)

// The values of inspector.mode.
const (
	inspectorAuto  = "auto"
	inspectorAdmin = "admin"
	inspectorOff   = "off"
)

// mountInspector adds the inspector's routes where clients are served.
func (a *App) mountInspector(r *mux.Router, cfg *config.Config) {
	if cfg.Inspector.Mode == inspectorAuto {
		inspect.Mount(r, a.inspectorOptions())
	}
}

// mountInside adds them to the admin listener, as the configuration in force says.
func (a *App) mountInside(r *mux.Router) {
	inspect.Mount(r.MatcherFunc(func(*http.Request, *mux.RouteMatch) bool {
		return a.engine.Config().Inspector.Mode != inspectorOff
	}).Subrouter(), a.inspectorOptions())
}

func (a *App) inspectorOptions() inspect.Options {
	return inspect.Options{
		Service: a.service, Dialects: a.dialects, Version: Version(), Log: a.log.Named("inspect"), Heartbeat: heartbeat,
		URL:  func(r *http.Request) string { return cmp.Or(proxy.VisitOf(r.Context()).URL, a.URL()) },
		Keys: func() bool { return a.engine.Config().Auth.Said() }, About: a.aboutAgents, DefaultAgent: func() string { return a.engine.Config().DefaultAgent },
		Failed: func(code string) { a.metrics.Failed("inspect", code) },
	}
}

// inspectorTab is the tab to the inspector for callers that may look at it where clients are served.
func (a *App) inspectorTab(who mapping.Principal) []page.Tab {
	if a.engine.Config().Inspector.Mode != inspectorAuto {
		return nil
	}
	return inspect.Tab(who)
}
