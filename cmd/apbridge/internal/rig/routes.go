package rig

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/inspect"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/config"
	"github.com/gorilla/mux"
	"go.uber.org/zap"
)

// Route is one operation of the faces.
type Route struct{ Method, Path string }

// Routes returns the dialects' routes. Routes for every method of a path, which only refuse, are left out, and so is
// HEAD.
func Routes(t *testing.T) []Route {
	t.Helper()
	list, _ := routes(t)
	return list
}

// Pages returns the routes of the inspector.
func Pages(t *testing.T) []Route {
	t.Helper()
	list, _ := pages(t)
	return list
}

// Needs returns the declared rights of each route in Routes and Pages. A route without rights fails the test, because
// anyone could call it.
func Needs(t *testing.T) map[Route][]string {
	t.Helper()
	list, handlers := routes(t)
	more, theirs := pages(t)
	list, handlers = slices.Concat(list, more), slices.Concat(handlers, theirs)
	needs := map[Route][]string{}
	for i, m := range list {
		op, ok := handlers[i].(adapter.Operation)
		if !ok {
			t.Errorf("%s %s does not declare the rights that it needs (adapter.Operation)", m.Method, m.Path)
		}
		needs[m] = op.Needs
	}
	return needs
}

func routes(t *testing.T) (list []Route, handlers []http.Handler) {
	t.Helper()
	router := mux.NewRouter()
	agents := map[string]config.Agent{"a": config.DefaultAgent()}
	for _, d := range bridge.Dialects() {
		d.Mount(router, nil, adapter.Face{Log: zap.NewNop(), DefaultAgent: "a", Agents: agents, Limits: config.Default().Limits})
	}
	list, handlers = walk(t, router)
	if len(list) < 80 {
		t.Fatalf("only %d routes were found", len(list))
	}
	return list, handlers
}

func pages(t *testing.T) (list []Route, handlers []http.Handler) {
	t.Helper()
	router := mux.NewRouter()
	inspect.Mount(router, inspect.Options{Log: zap.NewNop()})
	list, handlers = walk(t, router)
	if len(list) < 20 {
		t.Fatalf("only %d pages were found", len(list))
	}
	return list, handlers
}

// walk lists the routes of a router.
func walk(t *testing.T, router *mux.Router) (list []Route, handlers []http.Handler) {
	t.Helper()
	err := router.Walk(func(route *mux.Route, _ *mux.Router, _ []*mux.Route) error {
		path, err := route.GetPathTemplate()
		methods, none := route.GetMethods()
		if err != nil || none != nil || route.GetHandler() == nil {
			return nil
		}
		for _, m := range methods {
			if m != http.MethodHead && !slices.Contains(list, Route{m, path}) {
				list, handlers = append(list, Route{m, path}), append(handlers, route.GetHandler())
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list, handlers
}

// Fill replaces the variables of a template by ids.
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

// Documented returns the document and path that describe a route. Routes below an agent's prefix, the paths from before
// v1, those of A2A 0.3, and the URLs of A2A agents with a slash at their end are described once.
func Documented(m Route) (name, path string) {
	path = strings.TrimPrefix(m.Path, "/agents/{agent}")
	switch {
	case strings.HasPrefix(path, "/ap/v2"):
		return "topics", path
	case strings.HasPrefix(path, "/ap/v1"):
		return "taskstep", path
	case strings.HasPrefix(path, "/agent/"):
		return "taskstep", "/ap/v1" + path
	case strings.HasPrefix(path, OldA2A):
		path = "/a2a/{agent}/" + strings.TrimPrefix(path, OldA2A)
		return "a2a", strings.Replace(path, "}/card", "}/extendedAgentCard", 1)
	case strings.HasPrefix(path, "/a2a/"), strings.HasPrefix(path, "/.well-known/"):
		return "a2a", strings.TrimSuffix(path, "/")
	}
	return "threadrun", path
}

// OldA2A begins the paths of A2A 0.3 over HTTP+JSON, whose documents have another shape than those of 1.0.
const OldA2A = "/a2a/{agent}/v1/"

const (
	NoneID  = "0190c9a2-dead-7000-8000-000000000009"
	OurBody = 64 << 10
)
