package item

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func FuzzNamespacePath(f *testing.F) {
	f.Add("a", "b")
	f.Add("a.b", "%2E%25")
	f.Add("\x00é", "/")
	f.Fuzz(func(t *testing.T, a, b string) {
		labels := []string{a, b}
		if d := cmp.Diff(labels, labelsOf(string(pathOf(labels)))); d != "" {
			t.Error(d)
		}
	})
}
