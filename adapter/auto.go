package adapter

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"golang.org/x/sync/singleflight"
)

// detectTimeout limits one detection of an agent's dialect. A shorter step_timeout takes precedence.
const detectTimeout = 10 * time.Second

// Auto is the backend of an agent without a configured dialect: it detects the dialect at first use. A result is kept
// permanently. Until there is one, every use tries again. Safe for concurrent use.
type Auto struct {
	up       Upstream
	dialects []Dialect
	asking   singleflight.Group
	found    atomic.Pointer[resolved]
}

// resolved is the result of a detection.
type resolved struct {
	backend Backend
	dialect string
}

// NewAuto returns a backend that tries the dialects in the given order. It does no I/O.
func NewAuto(up Upstream, dialects []Dialect) *Auto {
	return &Auto{up: up, dialects: dialects}
}

// Resolve returns the backend for the agent's dialect, which it detects if necessary. It fails with
// upstream_unreachable if no server responds, with upstream_error if a server refuses the requests, and with
// bad_upstream_response if the server supports none of the dialects. Concurrent calls share one detection.
func (a *Auto) Resolve(ctx context.Context) (Backend, error) {
	if found := a.found.Load(); found != nil {
		return found.backend, nil
	}
	answer := a.asking.DoChan("", func() (any, error) {
		// The first caller may leave while others still need the result.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.patience())
		defer cancel()
		return a.ask(ctx)
	})
	select {
	case r := <-answer:
		b, _ := r.Val.(Backend)
		return b, r.Err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Dialect returns the detected dialect, or "" if it is not known yet.
func (a *Auto) Dialect() string {
	if found := a.found.Load(); found != nil {
		return found.dialect
	}
	return ""
}

func (a *Auto) patience() time.Duration {
	if t := a.up.Config.StepTimeout; t > 0 {
		return min(t, detectTimeout)
	}
	return detectTimeout
}

func (a *Auto) ask(ctx context.Context) (Backend, error) {
	if found := a.found.Load(); found != nil {
		return found.backend, nil
	}
	var silent, unwilling error
	answered := false
	for _, d := range a.dialects {
		if d.Detect == nil || d.Dial == nil {
			continue
		}
		speaks, err := d.Detect(ctx, a.up)
		switch {
		case err != nil && mapping.Classify(err).Code == mapping.CodeUpstreamError && ctx.Err() == nil:
			unwilling = cmp.Or(unwilling, err)
		case err != nil:
			silent = err
		case speaks:
			return a.dial(d)
		default:
			answered = true
		}
	}
	if unwilling != nil {
		return nil, unwilling
	}
	if answered {
		return nil, mapping.Errorf(mapping.Upstream, mapping.CodeBadUpstream,
			"A server answers at %s, but it speaks none of the dialects this bridge knows. %s, or set agents.%s.dialect.", a.up.Config.URL, a.up.URLAdvice(), a.up.Name)
	}
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return nil, a.slow(silent)
	}
	return nil, a.silent(silent)
}

// slow returns the error for an agent that did not respond in time.
func (a *Auto) slow(err error) error {
	e := mapping.Errorf(mapping.Upstream, mapping.CodeUpstreamUnreachable,
		"The agent %q at %s did not answer within %s. Check whether it is busy and whether the port is right.", a.up.Name, a.up.Config.URL, a.patience())
	e.Err = err
	return e
}

// silent returns the error for an agent that did not respond, with the message of the last tried dialect.
func (a *Auto) silent(err error) error {
	e := mapping.Errorf(mapping.Upstream, mapping.CodeUpstreamUnreachable,
		"The agent %q does not answer at %s. Is it running, and is the address correct?", a.up.Name, a.up.Config.URL)
	if known := (*mapping.Error)(nil); errors.As(err, &known) && known.Code == mapping.CodeUpstreamUnreachable {
		e.Message = known.Message
	}
	e.Err = err
	return e
}

func (a *Auto) dial(d Dialect) (Backend, error) {
	up := a.up
	up.Config.Dialect = d.Name
	b, err := d.Dial(up)
	if err != nil {
		return nil, err
	}
	a.found.Store(&resolved{b, d.Name})
	return b, nil
}

// Run implements Backend with the resolved backend.
func (a *Auto) Run(ctx context.Context, t *Assignment) iter.Seq2[mapping.Event, error] {
	return func(yield func(mapping.Event, error) bool) {
		b, err := a.Resolve(ctx)
		if err != nil {
			yield(mapping.Event{}, mapping.Classify(err))
			return
		}
		b.Run(ctx, t)(yield)
	}
}

var _ Backend = (*Auto)(nil)
