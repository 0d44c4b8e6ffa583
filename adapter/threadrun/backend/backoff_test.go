package backend

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A stream that closed after a new frame is reopened at once, because the run may have ended. The pauses grow for
// broken streams and streams without new frames.
func TestPausesBeforeAStreamIsOpenedAgain(t *testing.T) {
	t.Parallel()
	pauses := []time.Duration{1, 2, 3}
	type try struct {
		lastID string
		failed bool
	}
	for name, c := range map[string]struct {
		tries []try
		want  []time.Duration
	}{
		"closes with frames":     {[]try{{lastID: "1"}, {lastID: "2"}, {lastID: "3"}}, []time.Duration{0, 0, 0}},
		"closes without":         {[]try{{lastID: "1"}, {lastID: "1"}, {lastID: "1"}, {lastID: "1"}, {lastID: "1"}}, []time.Duration{0, 1, 2, 3, 3}},
		"breaks":                 {[]try{{"1", true}, {"1", true}, {"1", true}, {"1", true}}, []time.Duration{1, 2, 3, -1}},
		"breaks with new frames": {[]try{{"1", true}, {"2", true}, {"2", false}, {"3", false}}, []time.Duration{1, 1, 1, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b backoff
			var got []time.Duration
			for _, try := range c.tries {
				wait, ok := b.nextPause(pauses, try.lastID, try.failed)
				if !ok {
					wait = -1
				}
				got = append(got, wait)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("pauses (-want +got):\n%s", diff)
			}
		})
	}
}
