package adapter

import (
	"context"
	"errors"

	"github.com/apbridge/apbridge/mapping"
)

// Stopping returns the error of a request that the bridge itself gives up because it is being stopped: its client is
// still there, and reads the answer. It returns nil where the request goes on, or where the client has left.
func Stopping(ctx context.Context) error {
	cause := context.Cause(ctx)
	if cause == nil || errors.Is(cause, context.Canceled) || errors.Is(cause, context.DeadlineExceeded) {
		return nil
	}
	if told := (*mapping.Error)(nil); errors.As(cause, &told) { // its key is good no more
		return told
	}
	return &mapping.Error{Class: mapping.Unavailable, Code: mapping.CodeShutdown, Err: cause,
		Message: "The bridge is being stopped, and this answer was not ready. Runs go on in the next process: send the request again in a moment, with the same Idempotency-Key if it makes something."}
}
