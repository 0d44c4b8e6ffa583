package toy

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/mux"
)

// TestDocumentHasTheRoutes also checks that every route has an effect.
func TestDocumentHasTheRoutes(t *testing.T) {
	t.Parallel()
	var described struct {
		Paths map[string]map[string]any
	}
	if err := json.Unmarshal(documents()[0].Text, &described); err != nil {
		t.Fatal(err)
	}
	said, served := map[string]bool{}, map[string]bool{}
	for path, methods := range described.Paths {
		for method := range methods {
			said[strings.ToUpper(method)+" "+path] = true
		}
	}
	r := mux.NewRouter()
	mount(r, nil, adapter.Face{})
	_ = r.Walk(func(route *mux.Route, _ *mux.Router, _ []*mux.Route) error {
		path, _ := route.GetPathTemplate()
		methods, _ := route.GetMethods()
		for _, method := range methods {
			served[method+" "+path] = true
			if _, ok := effect(method, path); !ok {
				t.Errorf("%s %s has no known effect", method, path)
			}
		}
		return nil
	})
	if diff := cmp.Diff(served, said); diff != "" {
		t.Errorf("routes (-served +described):\n%s", diff)
	}
}

// TestWholeDialect checks that the toy, the model for new dialects, is complete. The documentation of Dialect explains
// every omitted field.
func TestWholeDialect(t *testing.T) {
	t.Parallel()
	var out []string
	d := reflect.ValueOf(Dialect())
	for i := range d.NumField() {
		if d.Field(i).IsZero() {
			out = append(out, d.Type().Field(i).Name)
		}
	}
	if diff := cmp.Diff([]string{"Aliases", "Section", "Private", "Runs", "Store", "Chooses", "Temporary", "ArtifactPath", "Ends"}, out); diff != "" {
		t.Errorf("omitted (-documented +found):\n%s", diff)
	}
}
