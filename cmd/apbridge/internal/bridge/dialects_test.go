package bridge

import (
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/mux"
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
		for _, f := range faces(Dialects()) {
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
	// The table is searched in order, because two dialects may own the same path.
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

func TestPathsOfOtherFacesAreLeftAlone(t *testing.T) {
	t.Parallel()
	owned := ownedBy(Dialects(), "threadrun")
	for path, ours := range map[string]bool{
		"/agents/legacy/ap/v1/agent/tasks": false, "/agents/legacy/upstream/x": false, "/ap/v1/agent/tasks": false,
		"/agent/tasks": false, "/healthz": false, "/agents/legacy/what": true, "/agents": true, "/runs/x/y/z": true, "/": false,
	} {
		req, _ := http.NewRequest("GET", "http://h"+path, nil)
		if owned(req, nil) != ours {
			t.Errorf("%s: ours is %v", path, !ours)
		}
	}
}

// TestRunIn checks which run of a path is logged.
func TestRunIn(t *testing.T) {
	t.Parallel()
	const run = "0190e1f2-0000-7000-8000-000000000001"
	d := auditLog{dialects: Dialects()}
	for path, want := range map[string]string{
		"/runs/" + run: run, "/runs/" + run + "/explain": run, "/threads/t/runs/" + run: run, "/threads/t/runs/" + run + "/cancel": run,
		"/inspect/runs/" + run + "/again": run,
		"/runs/search":                    "", "/runs": "", "/runs/": "", "/runs/crons/" + run: "", "/threads/" + run: "", "/inspect/threads/" + run: "", "": "", "runs/" + run: "",
		"/agents/legacy/upstream/runs/" + run: "", "/ap/v1/agent/tasks/" + run: "",
	} {
		if got := d.runIn(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// TestWhatEndsWorkSaysSo checks that requests that end work are accepted while memory is short, unlike those that may
// begin work.
func TestWhatEndsWorkSaysSo(t *testing.T) {
	t.Parallel()
	for _, d := range Dialects() {
		if d.Mount == nil || d.Effect == nil {
			continue
		}
		router, ends := mux.NewRouter(), 0
		d.Mount(router, nil, adapter.Face{})
		err := router.Walk(func(route *mux.Route, _ *mux.Router, _ []*mux.Route) error {
			path, _ := route.GetPathTemplate()
			methods, _ := route.GetMethods()
			for _, method := range methods {
				effect, _ := d.Effect(method, path)
				if (effect.Verb == mapping.Cancelled) != strings.HasSuffix(path, "/cancel") {
					t.Errorf("%s %s is said to be %q", method, path, effect.Verb)
				}
				if effect.Verb == mapping.Cancelled {
					ends++
				}
			}
			return nil
		})
		if err != nil || ends == 0 {
			t.Errorf("%s has %d routes that end work, %v", d.Name, ends, err)
		}
	}
}

// TestRoutesLieWithinThePathsOfTheirDialect checks that no route is unreachable because it lies outside the paths of
// its dialect.
func TestRoutesLieWithinThePathsOfTheirDialect(t *testing.T) {
	t.Parallel()
	for _, d := range Dialects() {
		if d.Mount == nil {
			continue
		}
		router := mux.NewRouter()
		d.Mount(router, nil, adapter.Face{})
		err := router.Walk(func(route *mux.Route, _ *mux.Router, _ []*mux.Route) error {
			path, err := route.GetPathTemplate()
			if err != nil {
				return nil // it takes whatever is left
			}
			if owner, _ := Dialects().Owner(path); owner.Name != d.Name {
				t.Errorf("%s has the route %s, which belongs to %q", d.Name, path, owner.Name)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", d.Name, err)
		}
	}
}

// TestNamesOfDialectsAreTheirOwn checks that names are unique. Of two dialects with the same name, the second would
// never be found.
func TestNamesOfDialectsAreTheirOwn(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{"dialect auto": true}
	note := func(what, name string) {
		if seen[what+" "+name] {
			t.Errorf("the %s %s is there twice", what, name)
		}
		seen[what+" "+name] = true
	}
	for _, d := range Dialects() {
		note("dialect", d.Name)
		for _, f := range d.Flavours {
			note("flavour", string(f.Name))
		}
		for _, doc := range d.Documents {
			note("document", doc.Name)
		}
		if d.Snippets == nil {
			continue
		}
		for _, program := range d.Snippets(adapter.SnippetParams{}) {
			note("program", program.ID)
		}
	}
}

// TestEffectsThatNoDialectSays checks that requests to a dialect without Effect are audited by their methods.
func TestEffectsThatNoDialectSays(t *testing.T) {
	t.Parallel()
	d := auditLog{dialects: append(Dialects(), adapter.Dialect{Name: "bare", Paths: []string{"/bare"}})}
	for method, want := range map[string]mapping.Verb{"GET": mapping.Read, "HEAD": mapping.Read, "POST": mapping.Changed, "DELETE": mapping.Deleted} {
		if got, ok := d.does(method, "/bare/{x}", "/bare/x"); !ok || got != (adapter.Effect{Verb: want, Kind: "bare"}) {
			t.Errorf("%s is %+v, %v", method, got, ok)
		}
	}
	if got, ok := d.does("POST", "", "/bare/other"); ok {
		t.Errorf("what no route takes is %+v", got)
	}
}
