package bridge

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhoOwnsAPath(t *testing.T) {
	t.Parallel()
	got := map[string]string{}
	paths := []string{
		"/ap/v1/agent/tasks", "/ap/v2/topics", "/agent/tasks", "/agents/legacy/ap/v1/agent/tasks", "/agents/legacy/ap",
		"/threads", "/threads/t/runs", "/runs/wait", "/agents/search", "/agents/legacy", "/agents/legacy/schemas", "/assistants/search", "/store/items", "/ok", "/info",
		"/", "/healthz", "/apple", "/threadsy", "//ap", "ap", "", "*",
	}
	for _, path := range paths {
		for _, f := range faces() {
			if f.Owns(path) {
				got[path] += f.Name
			}
		}
	}
	want := map[string]string{
		"/ap/v1/agent/tasks": "taskstep", "/ap/v2/topics": "taskstep", "/agent/tasks": "taskstep", "/agents/legacy/ap/v1/agent/tasks": "taskstep", "/agents/legacy/ap": "taskstep",
		"/threads": "threadrun", "/threads/t/runs": "threadrun", "/runs/wait": "threadrun", "/agents/search": "threadrun", "/agents/legacy": "threadrun",
		"/agents/legacy/schemas": "threadrun", "/assistants/search": "threadrun", "/store/items": "threadrun", "/ok": "threadrun", "/info": "threadrun",
	}
	// The table is asked in order: what the first owns, the second may too.
	for path, names := range got {
		got[path] = strings.TrimSuffix(names, "threadrun")
		if got[path] == "" {
			got[path] = names
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
}
