package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/gorilla/mux"
	"go.uber.org/zap"
)

// mounted is one operation that the faces serve.
type mounted struct{ method, path string }

// mountedRoutes walks the router that the dialects fill. What is there for
// every method of a path only refuses, and is left out; HEAD is GET.
func mountedRoutes(t *testing.T) []mounted {
	t.Helper()
	router := mux.NewRouter()
	agents := map[string]config.Agent{"a": config.DefaultAgent()}
	for _, d := range dialects() {
		d.Mount(router, adapter.Service{}, adapter.Face{Log: zap.NewNop(), DefaultAgent: "a", Agents: agents, Limits: config.Default().Limits})
	}
	var list []mounted
	err := router.Walk(func(route *mux.Route, _ *mux.Router, _ []*mux.Route) error {
		path, err := route.GetPathTemplate()
		methods, none := route.GetMethods()
		if err != nil || none != nil || route.GetHandler() == nil {
			return nil
		}
		for _, m := range methods {
			if m != http.MethodHead && !slices.Contains(list, mounted{m, path}) {
				list = append(list, mounted{m, path})
			}
		}
		return nil
	})
	if err != nil || len(list) < 80 {
		t.Fatalf("%d routes were found, %v", len(list), err)
	}
	return list
}

// fill puts ids into a template.
func (m mounted) fill(ids map[string]string) (path string, missing string) {
	path = m.path
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
