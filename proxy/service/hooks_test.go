package service_test

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/service/servicetest"
)

// TestHooksThatAreRefused checks that a hook that could never be notified is refused, on a task and with a run.
func TestHooksThatAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, ref := b.Task(t, t.Context(), "graph", "hi")
	ref.Flavour = "langgraph"
	for name, change := range map[string]func(*mapping.Hook){
		"private address": func(h *mapping.Hook) { h.URL = "http://127.0.0.1/" },
		"no URL":          func(h *mapping.Hook) { h.URL = "" },
		"long URL":        func(h *mapping.Hook) { h.URL += strings.Repeat("x", 3000) },
		"long id":         func(h *mapping.Hook) { h.ID = strings.Repeat("x", 3000) },
		"no status":       func(h *mapping.Hook) { h.Fires = nil },
		"unknown status":  func(h *mapping.Hook) { h.Fires = append(h.Fires, "never") },
		"lines in token":  func(h *mapping.Hook) { h.Token = "a\r\nHost: b" },
		"lines in scheme": func(h *mapping.Hook) { h.Scheme = "Bearer\n" },
	} {
		h := mapping.Hook{ID: "h", Flavour: "langgraph", URL: "https://example.com/", Fires: []mapping.TaskStatus{mapping.TaskDone}}
		change(&h)
		if _, err := b.CreateHook(t.Context(), ref, h); class(err) != mapping.Invalid {
			t.Errorf("%s: %v", name, err)
		}
		n := servicetest.NewRun("", "graph", "hi")
		n.Hooks = []mapping.Hook{h}
		if _, err := b.StartRun(t.Context(), &n); class(err) != mapping.Invalid {
			t.Errorf("%s, with a run: %v", name, err)
		}
	}
	if list, err := b.ListHooks(t.Context(), ref); err != nil || len(list) != 0 {
		t.Errorf("got %v, %v", list, err)
	}
	made, err := b.CreateHook(t.Context(), ref, mapping.Hook{Flavour: "langgraph", URL: "https://example.com/", Token: "t", Fires: []mapping.TaskStatus{mapping.TaskDone}})
	if err != nil || made.ID == "" || made.Token != "" {
		t.Errorf("got %+v, %v", made, err)
	}
	if list, err := b.ListHooks(t.Context(), ref); err != nil || len(list) != 1 || list[0].ID != made.ID || list[0].URL != made.URL {
		t.Errorf("got %+v, %v", list, err)
	}
	ref.Agent = "legacy"
	if _, err := b.ListHooks(t.Context(), ref); class(err) != mapping.NotFound {
		t.Errorf("of another agent: %v", err)
	}
	if err := b.DeleteHook(t.Context(), adapter.TaskRef{Agent: "graph", ID: mapping.NewID()}, "h"); class(err) != mapping.NotFound {
		t.Errorf("of an unknown task: %v", err)
	}
}
