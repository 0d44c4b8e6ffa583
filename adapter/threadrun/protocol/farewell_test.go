package protocol

import (
	"context"
	"errors"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/coder/websocket"
)

// TestFarewell checks that a client can distinguish expired credentials from a stopping bridge.
func TestFarewell(t *testing.T) {
	t.Parallel()
	for cause, want := range map[error]websocket.StatusCode{
		mapping.Errorf(mapping.Unauthorized, "expired", "over"): 4401, mapping.Errorf(mapping.Unavailable, "overloaded", "Later."): websocket.StatusGoingAway,
		errors.New("the bridge stops"): websocket.StatusGoingAway,
	} {
		ctx, end := context.WithCancelCause(t.Context())
		end(cause)
		if code, why := farewell(ctx); code != want || len(why) > 123 {
			t.Errorf("%v: %d %q, want %d", cause, code, why, want)
		}
	}
}
