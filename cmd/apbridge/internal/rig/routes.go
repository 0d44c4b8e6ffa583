package rig

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/config"
	"github.com/gorilla/mux"
	"go.uber.org/zap"
)

// Route is one operation that the faces serve.
type Route struct{ Method, Path string }

// Routes walks the router that the dialects fill. What is there for
// every method of a path only refuses, and is left out; HEAD is GET.
func Routes(t *testing.T) []Route {
	t.Helper()
	router := mux.NewRouter()
	agents := map[string]config.Agent{"a": config.DefaultAgent()}
	for _, d := range bridge.Dialects() {
		d.Mount(router, adapter.Service{}, adapter.Face{Log: zap.NewNop(), DefaultAgent: "a", Agents: agents, Limits: config.Default().Limits})
	}
	var list []Route
	err := router.Walk(func(route *mux.Route, _ *mux.Router, _ []*mux.Route) error {
		path, err := route.GetPathTemplate()
		methods, none := route.GetMethods()
		if err != nil || none != nil || route.GetHandler() == nil {
			return nil
		}
		for _, m := range methods {
			if m != http.MethodHead && !slices.Contains(list, Route{m, path}) {
				list = append(list, Route{m, path})
			}
		}
		return nil
	})
	if err != nil || len(list) < 80 {
		t.Fatalf("%d routes were found, %v", len(list), err)
	}
	return list
}

// Fill puts ids into a template.
func (m Route) Fill(ids map[string]string) (path string, missing string) {
	path = m.Path
	for {
		before, rest, ok := strings.Cut(path, "{")
		if !ok {
			return path, ""
		}
		name, after, _ := strings.Cut(rest, "}")
		name, _, _ = strings.Cut(name, ":")
		if ids[name] == "" {
			return "", name
		}
		path = before + ids[name] + after
	}
}

// Documented is where a route is described: what is below an agent's prefix, or
// the one of before v1, is described once.
func Documented(m Route) (name, path string) {
	path = strings.TrimPrefix(m.Path, "/agents/{agent}")
	switch {
	case strings.HasPrefix(path, "/ap/v2"):
		return "topics", path
	case strings.HasPrefix(path, "/ap/v1"):
		return "taskstep", path
	case strings.HasPrefix(path, "/agent/"):
		return "taskstep", "/ap/v1" + path
	}
	return "threadrun", path
}

const (
	NoneID  = "0190c9a2-dead-7000-8000-000000000009"
	OurBody = 64 << 10
)
