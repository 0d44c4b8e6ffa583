package bridge

import (
	"encoding/json"
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/passthrough"
	"github.com/gorilla/mux"
	"go.uber.org/zap"
)

// passthrough makes the ways straight to the agents that allow it. How a caller's own requests go is counted, and says
// nothing of how the agent is on the bridge's pages.
func (a *App) passthrough(cfg *config.Config) (map[string]http.Handler, error) {
	ways := map[string]http.Handler{}
	for name, c := range cfg.Agents {
		if !c.Passthrough {
			continue
		}
		up, err := a.upstream(name, cfg, a.metrics)
		if err != nil {
			return nil, err
		}
		way, err := passthrough.New(up, a.dialects.Ends(), a.refusePassthrough)
		if err != nil {
			return nil, err
		}
		way.CountStreams(adapter.OpenStream)
		ways[name] = a.allowedOnly(name, way)
	}
	return ways, nil
}

// mountThrough adds a route for each way; elsewhere, and where passthrough is off, the paths do not exist.
func mountThrough(r *mux.Router, ways map[string]http.Handler) {
	for name, way := range ways {
		way = adapter.Operation{Handler: way, Needs: []string{mapping.RightAdmin}}
		r.Path(passthrough.Prefix(name)).Handler(way)
		r.PathPrefix(passthrough.Prefix(name) + "/").Handler(way)
	}
}

// allowedOnly hides an agent from callers that may not use it, and refuses those that would see what is not theirs.
func (a *App) allowedOnly(name string, way http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := mapping.PrincipalOf(r.Context())
		if who.May(name) && !who.MayPassThrough() {
			a.metrics.AuthFailed("right")
			a.say(w, r, http.StatusForbidden, mapping.Errorf(mapping.Forbidden, "no_right",
				"%q may not go straight to an agent, which shows what it did for all. Give it admin among its rights, by name.", who.ID))
			return
		}
		if who.May(name) {
			way.ServeHTTP(w, r)
			return
		}
		a.say(w, r, http.StatusNotFound, mapping.Errorf(mapping.NotFound, mapping.CodeRouteNotFound, "There is nothing at this path."))
	})
}

func (a *App) refusePassthrough(w http.ResponseWriter, r *http.Request, e *mapping.Error) {
	a.log.Info("a request could not be passed through", zap.String("request_id", r.Header.Get("X-Request-Id")), zap.String("code", e.Code), zap.Error(e.Err))
	a.say(w, r, adapter.Status(e.Class), e)
}

// say answers in the words of the dialect that owns the path.
func (a *App) say(w http.ResponseWriter, r *http.Request, status int, e *mapping.Error) {
	owner, _ := a.dialects.Owner(r.URL.Path)
	body, err := json.Marshal(refusalOf(owner)(e))
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{}`)
	}
	adapter.SetRetryAfter(w.Header(), e)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // the client may be gone
}
