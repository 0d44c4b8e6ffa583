package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/apbridge/apbridge/mapping"
)

// Causes an execution's context ends with. The end event is decided from them.
var (
	errCancelled = errors.New("the run was cancelled")
	errRemoved   = fmt.Errorf("%w and is removed", errCancelled)
	errShutdown  = errors.New("the bridge is shutting down")
	errLeaseLost = errors.New("another process has taken the run over")
	errTimeout   = errors.New("the run took longer than run_timeout")
)

// outcomeOf decides how a run ended whose backend stopped with err, which may
// be nil when the iterator ended without an end event.
func outcomeOf(ctx context.Context, agent string, err error) mapping.Outcome {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errCancelled):
		return mapping.Outcome{Status: mapping.RunInterrupted, Cancelled: true}
	case errors.Is(cause, errTimeout):
		return mapping.Outcome{Status: mapping.RunTimeout, Fault: &mapping.Fault{
			Code:    mapping.CodeRunTimeout,
			Message: "The run took longer than the run_timeout of agent " + agent + " allows, and was stopped.",
		}}
	}
	if err == nil {
		err = mapping.Errorf(mapping.Upstream, mapping.CodeBadUpstream, "Agent %s stopped without saying how the run ended.", agent)
	}
	status := mapping.RunError
	if mapping.Classify(err).Class == mapping.Timeout {
		status = mapping.RunTimeout
	}
	return mapping.Outcome{Status: status, Fault: mapping.FaultOf(err)}
}

// handedOver reports whether the execution must leave the run without ending it.
// A shutdown does not take back an outcome that the agent has named.
func handedOver(ctx context.Context, out *mapping.Outcome) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, errLeaseLost) || errors.Is(cause, errShutdown) && out == nil
}
