package taskstep

import (
	"slices"
	"testing"

	"github.com/apbridge/apbridge/mapping"
)

func TestDialect(t *testing.T) {
	t.Parallel()
	d := Dialect()
	if d.Name != "taskstep" || d.Mount == nil || d.Dial == nil || d.Detect == nil || d.Webhook == nil || !slices.Equal(d.Flavours, []mapping.Flavour{mapping.FlavourTaskStep, mapping.FlavourTopic}) {
		t.Errorf("got %+v", d)
	}
}
