package engine

import (
	"slices"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/google/go-cmp/cmp"
)

// What the request has read is told as it is, once: the engine of this execution has no store to
// read it from again.
func TestARunIsToldWhatItsRequestRecalled(t *testing.T) {
	t.Parallel()
	read := Recalled{Items: []RecalledItem{{[]string{"users", "ada"}, "drink", []byte(`{"text":"tea"}`)}}, Cut: true}
	x := assignment{&execution{memory: &read}}
	got, err := x.recalled(t.Context(), "tea")
	if d := cmp.Diff(read, got); d != "" || err != nil || x.memory != nil {
		t.Errorf("%v, kept %v\n%s", err, x.memory, d)
	}
}

// A namespace's names are those of config.configurable, then of the context, then of the thread's metadata.
func TestNamespacesAreOfTheContextToo(t *testing.T) {
	t.Parallel()
	for kwargs, want := range map[string]string{
		`{"context":{"user_id":"ada"}}`: "ada", `{"context":{"user_id":"ada"},"config":{"configurable":{"run_id":"r"}}}`: "ada",
		`{"context":{"user_id":"ada"},"config":{"configurable":{"user_id":"bob"}}}`: "bob", `{"context":{"x":1}}`: "eve", `{"context":null,"config":null}`: "eve", `{"context":[]}`: "eve", `{}`: "eve",
	} {
		ns, ok := rule.ExpandNamespace("users/{user_id}", []byte(`{"user_id":"eve"}`), configurableOf(&mapping.Run{Kwargs: []byte(kwargs)}))
		if !ok || !slices.Equal(ns, []string{"users", want}) {
			t.Errorf("%s: %q", kwargs, ns)
		}
	}
}
