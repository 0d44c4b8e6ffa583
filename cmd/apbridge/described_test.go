package main

import (
	"maps"
	"slices"
	"testing"
)

// described checks that a document names each of used, which are names of one kind, each with a place in the program,
// and that its rows have no others. It also checks that the search in the program has found enough, since one that
// finds little is broken.
func described(t *testing.T, kind string, used map[string]string, named, rows map[string]bool) {
	t.Helper()
	if len(used) < 60 {
		t.Errorf("only %d were found in the program, each a %s", len(used), kind)
	}
	for _, name := range slices.Sorted(maps.Keys(used)) {
		if !named[name] {
			t.Errorf("the %s %s is not described: %s", kind, name, used[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		if used[name] == "" {
			t.Errorf("the %s %s is described, and the program does not know it", kind, name)
		}
	}
}
