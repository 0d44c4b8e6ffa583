package upstream_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/apbridge/apbridge/adapter/upstream"
)

// TestMayHaveActed checks which failures leave it unknown whether the agent acted, and which mean that it did not. Most
// statuses do neither, because they are the agent's own report of the result.
func TestMayHaveActed(t *testing.T) {
	t.Parallel()
	kind := func(k upstream.Kind) *upstream.Failure {
		return &upstream.Failure{Kind: k, Err: upstream.ErrTooLong}
	}
	for name, c := range map[string]struct {
		err            error
		acted, nothing bool
	}{
		"no failure":    {nil, false, false},
		"of our own":    {upstream.ErrTooLong, false, false},
		"not reached":   {kind(upstream.NotReached), false, true},
		"broken":        {kind(upstream.Broken), true, false},
		"stopped":       {kind(upstream.Stopped), true, false},
		"a bad success": {kind(upstream.BadAnswer), false, false},
	} {
		if acted, nothing := upstream.MayHaveActed(c.err), upstream.Untouched(c.err); acted != c.acted || nothing != c.nothing {
			t.Errorf("%s: may have acted: %t, untouched: %t", name, acted, nothing)
		}
	}
	for status := 300; status < 600; status++ {
		want := status == 502 || status == 504 || status == 520 || status == 522 || status == 524
		for _, header := range []http.Header{nil, {"Retry-After": {"1"}}} {
			err := fmt.Errorf("wrapped: %w", &upstream.Failure{Kind: upstream.Refused, Status: status, Header: header})
			if acted := upstream.MayHaveActed(err); acted != want || acted && upstream.Untouched(err) {
				t.Errorf("%d %v: may have acted: %t, untouched: %t", status, header, acted, upstream.Untouched(err))
			}
		}
	}
}
