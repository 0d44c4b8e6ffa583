package face

import (
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
)

// TestMessagesAvoidThreads checks that refusals about threads are explained in terms of the fields that clients of
// tasks and steps have.
func TestMessagesAvoidThreads(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		detail any
		names  string
	}{
		"busy":                 {mapping.Busy{ThreadID: "t", RunID: "r"}, "additional_input.multitask_strategy"},
		"busy until later":     {mapping.Busy{ThreadID: "t", RunID: "r", StartsAt: time.Unix(0, 0)}, "1970-01-01T00:00:00Z"},
		"strategy":             {mapping.BadStrategy{Strategy: "odd"}, "additional_input."},
		"no open question":     {mapping.NothingPending{ThreadID: "t", Pending: []string{}}, "additional_input.resume"},
		"other open questions": {mapping.NothingPending{ThreadID: "t", Pending: []string{"q1", "q2"}}, "q1, q2"},
	} {
		got := messageOf(&mapping.Error{Message: "multitask_strategy is refused.", Detail: c.detail})
		if strings.Contains(strings.ToLower(got), "thread") || !strings.Contains(got, c.names) {
			t.Errorf("%s: %q, want no thread, but %s", name, got, c.names)
		}
	}
}
