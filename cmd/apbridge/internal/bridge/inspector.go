package bridge

import (
	"cmp"
	"net/http"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/inspect"
	"github.com/apbridge/apbridge/adapter/page"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/front"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/metrics"
	"github.com/gorilla/mux"
	"go.uber.org/zap"
)

// The values of inspector.mode.
const (
	inspectorAuto  = "auto"
	inspectorAdmin = "admin"
	inspectorOff   = "off"
)

// inspector mounts the inspector next to the clients' routes and on the admin listener.
type inspector struct {
	service  adapter.Service
	dialects adapter.Dialects
	engine   *engine.Engine
	calls    *front.Calls
	checkups *front.Checkups
	metrics  *metrics.Metrics
	log      *zap.Logger
	url      func() string // of the bridge
}

// mount adds the inspector to the clients' routes.
func (i *inspector) mount(r *mux.Router, cfg *config.Config) {
	if cfg.Inspector.Mode == inspectorAuto {
		inspect.Mount(r, i.options())
	}
}

// mountInside adds the inspector to the admin listener if the current configuration enables it there.
func (i *inspector) mountInside(r *mux.Router) {
	inspect.Mount(r.MatcherFunc(func(*http.Request, *mux.RouteMatch) bool {
		return i.engine.Config().Inspector.Mode != inspectorOff
	}).Subrouter(), i.options())
}

func (i *inspector) options() inspect.Options {
	return inspect.Options{
		Service: i.service, Dialects: i.dialects, Version: Version(), Log: i.log.Named("inspect"), Heartbeat: heartbeat,
		URL:  func(r *http.Request) string { return cmp.Or(proxy.VisitOf(r.Context()).URL, i.url()) },
		Keys: func() bool { return i.engine.Config().Auth.Said() }, About: i.aboutAgents, DefaultAgent: func() string { return i.engine.Config().DefaultAgent },
		Kept: func() (stateless, failed time.Duration) {
			keep := i.engine.Config().Retention
			return keep.Stateless, keep.Failed
		},
		Failed: func(code string) { i.metrics.Failed("inspect", code) },
	}
}

// tab returns the inspector's tab for callers that may use it next to the clients' routes.
func (i *inspector) tab(who mapping.Principal) []page.Tab {
	if i.engine.Config().Inspector.Mode != inspectorAuto {
		return nil
	}
	return inspect.Tab(who)
}
