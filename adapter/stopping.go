package adapter

import (
	"context"
	"errors"

	"github.com/apbridge/apbridge/mapping"
)

// StatusClientGone is the status in the access log if the client left before the response.
const StatusClientGone = 499

// Stopping returns the error for a request that the bridge ends itself because it is shutting down. Its client is still
// connected and reads the response. It returns nil if the request continues, or if the client has disconnected.
func Stopping(ctx context.Context) error {
	cause := context.Cause(ctx)
	if cause == nil || errors.Is(cause, context.Canceled) || errors.Is(cause, context.DeadlineExceeded) {
		return nil
	}
	if told := (*mapping.Error)(nil); errors.As(cause, &told) { // such as an invalid key
		return told
	}
	return &mapping.Error{Class: mapping.Unavailable, Code: mapping.CodeShutdown, Err: cause,
		Message: "The bridge is shutting down and this response was not ready. Runs continue in the next process. Repeat the request in a moment, with the same Idempotency-Key if it creates something."}
}
