package taskstep

import (
	"slices"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

func TestDialect(t *testing.T) {
	t.Parallel()
	d := Dialect()
	if d.Name != "taskstep" || d.Mount == nil || d.Dial == nil || d.Detect == nil || !slices.Equal(names(d.Flavours), []mapping.Flavour{"taskstep", "topic"}) {
		t.Errorf("got %+v", d)
	}
}

func names(list []adapter.Flavour) []mapping.Flavour {
	var out []mapping.Flavour
	for _, f := range list {
		out = append(out, f.Name)
	}
	return out
}
