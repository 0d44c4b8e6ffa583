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

// The pause before attempt 2, and the longest one: it doubles in between.
const (
	retryPause    = 100 * time.Millisecond
	retryPauseMax = 10 * time.Second
)

// hopeless are codes of failures that another attempt would only repeat.
var hopeless = []string{
	mapping.CodeStepLimit, mapping.CodeEventLimit, mapping.CodeRunTimeout, mapping.CodeUnanswered, mapping.CodeNotPortable, mapping.CodeNotSupported,
	mapping.CodeInvalid, mapping.CodeAgentNotFound,
}

// perhapsDone are codes of failures whose call the agent may have carried out, or be at still.
var perhapsDone = []string{mapping.CodeOutcomeUnknown, mapping.CodeStepTimeout}

// again reports whether a failed attempt is followed by another. Only failures of the agent are worth one; a failure of
// the bridge or its store is not, and whatever ended the context (a cancellation, run_timeout) stands.
func (x *execution) again(ctx context.Context, out *mapping.Outcome, err error) bool {
	if x.Run.Attempt > x.Run.Options.Retries || ctx.Err() != nil || x.rec == nil || x.rec.app.fenced() {
		return false
	}
	code := failure(out, err)
	switch {
	case code == "" || slices.Contains(hopeless, code):
		return false
	case slices.Contains(perhapsDone, code) && !x.Run.Options.RetryUnknown:
		return false // only a client that asked for it wants it twice
	case x.Run.Options.Resuming && code == mapping.CodeUpstreamLost:
		return false // the question is gone with the task
	}
	return !x.oneStep() || x.rec.updates == 0 && x.rec.steps == 0
}

// failure is the code of a failed attempt; "" when it did not fail, or not because of the agent.
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

// restart begins the next attempt: the state is again what it was when the run began, and the log says so in one write
// with the new start. It returns what is logged of the run by then.
func (x *execution) restart(ctx context.Context) ([]mapping.Event, error) {
	fold, err := x.initial(ctx)
	if err != nil {
		return nil, err
	}
	x.rec.app.drain()
	x.Run.Attempt++
	x.Taken = false // nothing of this attempt can have been sent
	started := startedEvent(&x.Run)
	started.At = x.works.now()
	if err := x.rec.rewind(fold, &started); err != nil {
		return nil, err
	}
	x.rec.app.drain()
	return x.works.events.List(ctx, x.Run.ThreadID, x.Run.ID, 0, 0)
}

// initial is the state a run begins with, its input merged in where the bridge does that.
func (x *execution) initial(ctx context.Context) (*state.Fold, error) {
	base, err := x.works.log.Base(ctx, x.Run.ThreadID, x.Run.Base)
	if err != nil || !x.rec.opaque {
		return base, err
	}
	ev, err := inputEvent(&x.Run, x.input)
	if err != nil || ev == nil {
		return base, err
	}
	return base.Apply(ev)
}

// rewind writes the start of an attempt and, in one transaction with it, the way back to the state it starts from.
func (r *recorder) rewind(fold *state.Fold, started *mapping.Event) error {
	var both []piece
	diff, err := r.difference(r.wayBack(fold).JSON())
	if err != nil {
		return err
	}
	for _, ev := range []mapping.Event{{RunID: started.RunID, Kind: mapping.KindState, At: started.At, Data: diff}, *started} {
		if ev.Kind == mapping.KindState && diff == nil {
			continue
		}
		p, err := r.layOut(&ev)
		if err != nil {
			return err
		}
		both = append(both, p)
	}
	r.noteLogged(started)
	return r.app.pushTogether(both)
}

// pushTogether queues pieces that must be durable together.
func (a *appender) pushTogether(list []piece) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.queue = append(a.queue, list...)
	a.start()
	return a.err
}

// tryAgain waits its turn: an agent that is overloaded must not be hammered.
func (x *execution) tryAgain(ctx context.Context, failed string) error {
	d := adapter.Spread(min(retryPause<<min(x.Run.Attempt-2, 10), retryPauseMax))
	x.works.reports.zap.Info("a failed run is tried again", runField(x.Run.ID), agentField(x.agent.Name),
		zap.Int("attempt", x.Run.Attempt), zap.String("code", failed), zap.Duration("pause", d))
	x.span.Event("retry", "apbridge.run.attempt", strconv.Itoa(x.Run.Attempt), "apbridge.run.code", failed)
	return pause.For(ctx, d)
}
