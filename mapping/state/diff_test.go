package state

import (
	"testing"

	"github.com/apbridge/apbridge/mapping"
)

// TestDiffOfADuplicateKey checks that the later value counts, and that the diff restores the exact bytes of
// its state.
func TestDiffOfADuplicateKey(t *testing.T) {
	t.Parallel()
	was, err := NewFold(raw(`{"a":{"m":null}}`))
	if err != nil {
		t.Fatal(err)
	}
	diff, next, err := was.DiffTo(raw(`{"a":null,"a":{"f":1,"m":null}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := was.Apply(&mapping.Event{Kind: mapping.KindState, Data: diff}); err != nil || string(got.JSON()) != string(next.JSON()) {
		t.Errorf("%s gives %s, want %s: %v", diff, got.JSON(), next.JSON(), err)
	}
}
