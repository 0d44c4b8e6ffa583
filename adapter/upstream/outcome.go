package upstream

import (
	"context"
	"errors"
	"net/http"

	"github.com/apbridge/apbridge/mapping"
)

// Operations are the values of the metric label for the purpose of a call.
const (
	OpRead        = "read"        // changes nothing
	OpWrite       = "write"       // makes any other change
	OpCreate      = "create"      // a task
	OpStep        = "step"        // the next step of a task
	OpUpload      = "upload"      // a file to the agent
	OpDownload    = "download"    // a file from the agent
	OpRun         = "run"         // including its stream
	OpFollow      = "follow"      // the stream or the end of an existing run
	OpPassthrough = "passthrough" // a client's request, forwarded unchanged
)

// Outcomes are the values of the metric label for the result of a call.
const (
	outcomeOK          = "ok"
	outcomeUnreachable = "unreachable" // no connection; nothing was sent
	outcomeBroken      = "broken"      // the connection broke; the agent may have acted
	outcomeTimeout     = "timeout"     // the time limit of the bridge was reached
	outcomeStopped     = "stopped"     // ended by the bridge: a cancellation or a shutdown
	outcomeRefused     = "refused"     // a status outside 2xx and below 500
	outcomeError       = "error"       // a status of 500 or more
	outcomeUnsent      = "unsent"      // the call was not permitted or could not be made; only for spans
)

// operationKey is the context key of a request's operation.
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

// failed returns the outcome of an exchange that ended with an error.
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
