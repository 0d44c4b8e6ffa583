package engine

import (
	"context"
	"errors"

	"github.com/apbridge/apbridge/mapping"
)

// Causes of the end of an execution's context. The end event depends on them.
var (
	errShutdown  = errors.New("the bridge is shutting down")
	errLeaseLost = errors.New("another process has taken the run over")
	errTimeout   = errors.New("the run took longer than run_timeout")
)

// Cancellation is the reason and kind of a run's cancellation. It is a cause of the context of the run's execution.
type Cancellation struct {
	Reason   string // mapping.Run.CancelReason
	Rollback bool   // remove the run and all of its effects
}

func (c Cancellation) Error() string { return "the run was cancelled" }

// outcome returns the outcome of the cancelled run.
func (c Cancellation) outcome() mapping.Outcome {
	return mapping.Outcome{Status: mapping.RunInterrupted, Cancelled: true, Reason: c.Reason}
}

// removes reports whether the cause of a run's end also removes the run. cause may be nil.
func removes(cause error) bool {
	var c Cancellation
	return errors.As(cause, &c) && c.Rollback
}

// outcomeOf returns the outcome of a run whose backend stopped with err. err is nil if the iterator ended without an
// end event.
func outcomeOf(ctx context.Context, agent string, err error) mapping.Outcome {
	var c Cancellation
	switch cause := context.Cause(ctx); {
	case errors.As(cause, &c):
		return c.outcome()
	case errors.Is(cause, errTimeout):
		return mapping.Outcome{Status: mapping.RunTimeout, Fault: &mapping.Fault{
			Code:    mapping.CodeRunTimeout,
			Message: "The run took longer than the run_timeout of agent " + agent + " allows, and was stopped.",
		}}
	}
	if err == nil {
		err = mapping.Errorf(mapping.Upstream, mapping.CodeBadUpstream, "Agent %s stopped without reporting how the run ended.", agent)
	}
	status := mapping.RunError
	if mapping.Classify(err).Class == mapping.Timeout {
		status = mapping.RunTimeout
	}
	return mapping.Outcome{Status: status, Fault: mapping.FaultOf(err)}
}

// handedOver reports whether the execution must leave the run without ending it. An outcome reported by the agent is
// kept despite a shutdown.
func handedOver(ctx context.Context, out *mapping.Outcome) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, errLeaseLost) || errors.Is(cause, errShutdown) && out == nil
}
