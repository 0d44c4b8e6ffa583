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

// detectTimeout bounds one round of asking an agent what it speaks; a shorter step_timeout does, too.
const detectTimeout = 10 * time.Second

// Auto is the backend of an agent whose dialect is not configured: the agent is asked at first use. An answer is kept
// for good; while there is none, every use asks again. Safe for concurrent use.
type Auto struct {
	up       Upstream
	dialects []Dialect
	asking   singleflight.Group
	found    atomic.Pointer[resolved]
}

// resolved is what an agent was found to be.
type resolved struct {
	backend Backend
	dialect string
}

// NewAuto returns a backend that asks for dialects in the given order. It does no I/O.
func NewAuto(up Upstream, dialects []Dialect) *Auto {
	return &Auto{up: up, dialects: dialects}
}

// Resolve returns the backend of the dialect that the agent speaks, asking it if that is not known yet. It fails with
// upstream_unreachable while no server answers, with upstream_error when a server refuses to say, and with
// bad_upstream_response when none of the dialects is spoken. Calls that come while the agent is being asked share the
// answer.
func (a *Auto) Resolve(ctx context.Context) (Backend, error) {
	if found := a.found.Load(); found != nil {
		return found.backend, nil
	}
	answer := a.asking.DoChan("", func() (any, error) {
		// The first to ask may leave; the others still want the answer.
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

// Dialect returns what the agent was found to speak, "" while that is not known.
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

// slow is the error of an agent whose answer did not come in time.
func (a *Auto) slow(err error) error {
	e := mapping.Errorf(mapping.Upstream, mapping.CodeUpstreamUnreachable,
		"The agent %q at %s gave no answer within %s. See what it is busy with, and that this is its own port.", a.up.Name, a.up.Config.URL, a.patience())
	e.Err = err
	return e
}

// silent is the error of an agent that did not answer, in the words of the dialect that asked it last.
func (a *Auto) silent(err error) error {
	e := mapping.Errorf(mapping.Upstream, mapping.CodeUpstreamUnreachable,
		"The agent %q does not answer at %s. Is it running, and is the address right?", a.up.Name, a.up.Config.URL)
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

// Run implements Backend by the resolved backend.
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
