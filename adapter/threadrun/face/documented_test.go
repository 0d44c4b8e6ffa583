package face

import (
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
)

// TestRefusalsNameFieldsOfThisFace: what refusals call a meaning is a documented field, or a route that there is.
func TestRefusalsNameFieldsOfThisFace(t *testing.T) {
	t.Parallel()
	for meaning, name := range namesOfFields {
		word, path, _ := strings.Cut(name, " ")
		field := slices.ContainsFunc(RequestFields(), func(f mapping.RequestField) bool { return f.Name == word })
		route := slices.ContainsFunc(new(server).endpoints(), func(e endpoint) bool { return e.method == word && e.path == path })
		if !field && !route {
			t.Errorf("%q is said by %q, which this face does not have", meaning, name)
		}
	}
}
