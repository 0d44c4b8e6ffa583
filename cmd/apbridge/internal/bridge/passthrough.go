package bridge

import (
	"encoding/json"
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/metrics"
	"github.com/apbridge/apbridge/proxy/passthrough"
	"github.com/gorilla/mux"
	"go.uber.org/zap"
)

// passthroughs creates the pass-through routes to agents. Their requests are counted but do not affect the agent's
// health on the bridge's pages.
type passthroughs struct {
	dialer   *dialer
	dialects adapter.Dialects
	metrics  *metrics.Metrics
	log      *zap.Logger
}

// routes are the pass-through routes by agent name.
type routes map[string]*passthrough.Proxy

// create creates the routes of a configuration. Those of before are kept for agents that stay.
func (t passthroughs) create(cfg *config.Config, before routes, stays func(agent string) bool) (routes, error) {
	next := routes{}
	for name, c := range cfg.Agents {
		if !c.Passthrough {
			continue
		}
		if way := before[name]; way != nil && stays(name) {
			next[name] = way
			continue
		}
		way, err := t.way(name, cfg)
		if err != nil {
			return nil, err
		}
		next[name] = way
	}
	return next, nil
}

func (t passthroughs) way(name string, cfg *config.Config) (*passthrough.Proxy, error) {
	up, err := t.dialer.upstream(name, cfg, t.metrics)
	if err != nil {
		return nil, err
	}
	return passthrough.New(up, t.dialects.Ends(), t.refuse)
}

// replaced retires the routes that next lacks or replaces.
func (w routes) replaced(next routes) {
	for name, way := range w {
		if next[name] != way {
			way.Retire()
		}
	}
}

// mount adds the routes. Without passthrough, the paths do not exist.
func (t passthroughs) mount(r *mux.Router, open routes) {
	for name, way := range open {
		route := adapter.Operation{Handler: t.allowedOnly(name, way), Needs: []string{mapping.RightAdmin}}
		r.Path(passthrough.Prefix(name)).Handler(route)
		r.PathPrefix(passthrough.Prefix(name) + "/").Handler(route)
	}
}

// allowedOnly hides an agent from callers that may not use it. It refuses callers that could see the data of others.
func (t passthroughs) allowedOnly(name string, way http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := mapping.PrincipalOf(r.Context())
		if who.May(name) && !who.MayPassThrough() {
			t.metrics.AuthFailed("right")
			t.say(w, r, http.StatusForbidden, mapping.Errorf(mapping.Forbidden, "forbidden",
				"%q may not use pass-through, which exposes the agent's data of all callers. Add admin to its rights explicitly.", who.ID))
			return
		}
		if who.May(name) {
			way.ServeHTTP(w, r)
			return
		}
		t.say(w, r, http.StatusNotFound, mapping.Errorf(mapping.NotFound, mapping.CodeRouteNotFound, "There is nothing at this path."))
	})
}

func (t passthroughs) refuse(w http.ResponseWriter, r *http.Request, e *mapping.Error) {
	t.log.Info("request could not be passed through", zap.String("request_id", r.Header.Get("X-Request-Id")), zap.String("code", e.Code), zap.Error(e.Err))
	t.say(w, r, adapter.Status(e.Class), e)
}

// say responds in the form of the dialect that owns the path.
func (t passthroughs) say(w http.ResponseWriter, r *http.Request, status int, e *mapping.Error) {
	owner, _ := t.dialects.Owner(r.URL.Path)
	body, err := json.Marshal(refusalOf(owner)(e))
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{}`)
	}
	adapter.SetRetryAfter(w.Header(), e)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // the client may have left
}
