package adapter

import (
	"testing"

	"github.com/apbridge/apbridge/mapping"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	for class, want := range map[mapping.Class]int{
		mapping.Invalid: 422, mapping.Malformed: 400, mapping.NotFound: 404, mapping.Conflict: 409, mapping.TooLarge: 413, mapping.TooSlow: 408,
		mapping.Unsupported: 415, mapping.OutOfRange: 416, mapping.NotAllowed: 405, mapping.Unauthorized: 401, mapping.Forbidden: 403, mapping.Limited: 429,
		mapping.Unavailable: 503, mapping.StorageFull: 507, mapping.Upstream: 502, mapping.Timeout: 504, mapping.Internal: 500, "new": 500,
	} {
		if got := Status(class); got != want {
			t.Errorf("%s: %d, want %d", class, got, want)
		}
	}
}
