package engine

import (
	"testing"

	"github.com/apbridge/apbridge/proxy/memory"
	"github.com/google/go-cmp/cmp"
)

// The items read for the request are passed on once: the engine of this execution has no store to read them from.
func TestRunGetsTheItemsItsRequestRecalled(t *testing.T) {
	t.Parallel()
	read := memory.Recalled{Items: []memory.Item{{Namespace: []string{"users", "ada"}, Key: "drink", Value: []byte(`{"text":"tea"}`)}}, Cut: true}
	x := &execution{recalled: &read, calls: newCallLog(nil, 0)}
	got, err := x.recall(t.Context(), "tea")
	if d := cmp.Diff(read, got); d != "" || err != nil || x.recalled != nil {
		t.Errorf("%v, kept %v\n%s", err, x.recalled, d)
	}
}
