package engine

import (
	"context"
	"errors"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// Why a copy stays with its agent whatever is asked of it.
var (
	errNoAgent     = errors.New("it is not in the configuration any more")
	errNoForgetter = errors.New("its protocol has no way to delete")
)

// CopyStays reports whether RemoveCopy has failed for a reason that time does not mend.
func CopyStays(err error) bool {
	return errors.Is(err, errNoAgent) || errors.Is(err, errNoForgetter) || mapping.Classify(err).Code == mapping.CodeNotSupported
}

// RemoveCopy deletes what an agent has of a thread, whatever its configuration says of deleted threads
// (upstream_threads). One that is gone already is no error. Like Forget it needs no permit.
func (c *copies) RemoveCopy(ctx context.Context, l mapping.Link) error {
	ctx, stop := context.WithTimeout(ctx, cancelGrace)
	defer stop()
	f, err := c.forgetter(ctx, l.Agent)
	if err != nil {
		return err
	}
	return f.Forget(ctx, l)
}

// Forgets returns nil where an agent can delete its copies, as far as is known without asking it, else why it cannot.
func (c *copies) Forgets(name string) error {
	agent := c.settings.agent(name)
	if agent == nil {
		return errNoAgent
	}
	if f := agent.found.Load(); f != nil {
		if _, ok := f.backend.(adapter.Forgetter); !ok {
			return errNoForgetter
		}
	}
	return nil
}

func (c *copies) forgetter(ctx context.Context, name string) (adapter.Forgetter, error) {
	agent := c.settings.agent(name)
	if agent == nil {
		return nil, errNoAgent
	}
	b, _, err := agent.Backend(ctx)
	if err != nil {
		return nil, err
	}
	f, ok := b.(adapter.Forgetter)
	if !ok {
		return nil, errNoForgetter
	}
	return f, nil
}
