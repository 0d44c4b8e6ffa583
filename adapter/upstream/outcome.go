package upstream

import (
	"context"
	"errors"
	"net/http"

	"github.com/apbridge/apbridge/mapping"
)

// Operations, as the metrics name what an agent was asked for.
const (
	OpRead        = "read"        // a question that changes nothing
	OpWrite       = "write"       // any other change
	OpCreate      = "create"      // a task
	OpStep        = "step"        // the next step of a task
	OpUpload      = "upload"      // a file to the agent
	OpDownload    = "download"    // a file from the agent
	OpRun         = "run"         // a run, its stream included
	OpFollow      = "follow"      // the stream or the end of a run that was made before
	OpPassthrough = "passthrough" // a client's own request, led through
)

// Outcomes, as the metrics name them.
const (
	outcomeOK          = "ok"
	outcomeUnreachable = "unreachable" // no connection: nothing was sent
	outcomeBroken      = "broken"      // the connection broke, the agent may have acted
	outcomeTimeout     = "timeout"     // the bridge waited as long as it may
	outcomeStopped     = "stopped"     // the bridge wanted no more: a cancellation, a shutdown
	outcomeRefused     = "refused"     // a status below 500 that is no success
	outcomeError       = "error"       // a status of 500 or more
	outcomeUnsent      = "unsent"      // the call was not permitted, or could not be made; of spans only
)

// operationKey is under what a request's context holds its operation.
type operationKey struct{}

func outcomeOf(status int) string {
	switch {
	case status/100 == 2:
		return outcomeOK
	case status >= http.StatusInternalServerError:
		return outcomeError
	}
	return outcomeRefused
}

// failed is the outcome of an exchange that broke.
func failed(ctx context.Context, err error) string {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, context.DeadlineExceeded), cause != nil && mapping.Classify(cause).Class == mapping.Timeout:
		return outcomeTimeout
	case cause != nil:
		return outcomeStopped
	case unreached(err):
		return outcomeUnreachable
	}
	return outcomeBroken
}
