package engine

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/apbridge/apbridge/mapping/state"
	"go.uber.org/zap"
)

// The pause before attempt 2, which doubles for each further one, and the longest pause.
const (
	retryPause    = 100 * time.Millisecond
	retryPauseMax = 10 * time.Second
)

// permanentCodes are the codes of failures that would occur again in another attempt.
var permanentCodes = []string{
	mapping.CodeStepLimit, mapping.CodeEventLimit, mapping.CodeRunTimeout, mapping.CodeRepeatedQuestion, mapping.CodeIncompatibleState, mapping.CodeNotSupported,
	mapping.CodeInvalid, mapping.CodeAgentNotFound,
}

// ambiguousCodes are the codes of failures that leave open whether the agent has executed the call or will still do so.
var ambiguousCodes = []string{mapping.CodeOutcomeUnknown, mapping.CodeStepTimeout}

// again reports whether a failed attempt is followed by another. Only failures of the agent are retried, and not after
// the context has ended (cancellation, run_timeout).
func (x *execution) again(ctx context.Context, out *mapping.Outcome, err error) bool {
	if x.Run.Attempt > x.Run.Options.Retries || ctx.Err() != nil || x.rec == nil || x.rec.writer.fenced() {
		return false
	}
	code := failure(out, err)
	switch {
	case code == "" || slices.Contains(permanentCodes, code):
		return false
	case slices.Contains(ambiguousCodes, code) && !x.Run.Options.RetryUnknown:
		return false // repeat the call only if the client has requested that
	case x.Run.Options.Resuming && code == mapping.CodeUpstreamLost:
		return false // the question was lost with the task
	}
	return !x.oneStep() || x.rec.updates == 0 && x.rec.steps == 0
}

// failure returns the code of a failed attempt, or "" if it did not fail because of the agent.
func failure(out *mapping.Outcome, err error) string {
	switch {
	case err != nil:
		e := mapping.Classify(err)
		if slices.Contains([]mapping.Class{mapping.Upstream, mapping.Timeout, mapping.Unavailable, mapping.Limited}, e.Class) {
			return e.Code
		}
		return ""
	case out == nil:
		return mapping.CodeBadUpstream
	case (out.Status == mapping.RunError || out.Status == mapping.RunTimeout) && out.Fault != nil:
		return out.Fault.Code
	}
	return ""
}

// restart begins the next attempt. It writes the new start together with the return to the state in which the run
// began. It returns the events logged so far.
func (x *execution) restart(ctx context.Context) ([]mapping.Event, error) {
	fold, err := x.initial(ctx)
	if err != nil {
		return nil, err
	}
	x.rec.writer.drain()
	x.Run.Attempt++
	x.Taken = false // nothing has been sent in this attempt
	started := startedEvent(&x.Run, x.store.Now())
	if err := x.rec.rewind(fold, &started); err != nil {
		return nil, err
	}
	x.rec.writer.drain()
	return x.store.Events.List(ctx, x.Run.ThreadID, x.Run.ID, 0, 0)
}

// initial returns the state that a run begins with, including its input if the bridge merges that.
func (x *execution) initial(ctx context.Context) (*state.Fold, error) {
	base, err := x.e.log.Base(ctx, x.Run.ThreadID, x.Run.Base)
	if err != nil || x.rec.exposes.ReportsState() {
		return base, err
	}
	ev, err := inputEvent(&x.Run, x.input, x.store.Now())
	if err != nil || ev == nil {
		return base, err
	}
	return base.Apply(ev)
}

// rewind writes the start of an attempt and, in the same transaction, the return to the state it starts from.
func (r *recorder) rewind(fold *state.Fold, started *mapping.Event) error {
	var both []piece
	diff, err := r.difference(r.retryState(fold).JSON())
	if err != nil {
		return err
	}
	for _, ev := range []mapping.Event{{RunID: started.RunID, Kind: mapping.KindState, At: started.At, Data: diff}, *started} {
		if ev.Kind == mapping.KindState && diff == nil {
			continue
		}
		p, err := r.makePiece(&ev)
		if err != nil {
			return err
		}
		both = append(both, p)
	}
	r.replay(started)
	return r.writer.pushTogether(both)
}

// pauseBeforeRetry waits before the next attempt, since the agent may be overloaded.
func (x *execution) pauseBeforeRetry(ctx context.Context, failed string) error {
	d := adapter.Jitter(min(retryPause<<min(x.Run.Attempt-2, 10), retryPauseMax))
	x.e.logger.Info("retrying failed run", runField(x.Run.ID), agentField(x.agent.Name),
		zap.Int("attempt", x.Run.Attempt), zap.String("code", failed), zap.Duration("pause", d))
	x.span.Event("retry", "apbridge.run.attempt", strconv.Itoa(x.Run.Attempt), "apbridge.run.code", failed)
	return pause.For(ctx, d)
}
