package adapter_test

import (
	"context"
	"errors"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

func TestStopping(t *testing.T) {
	t.Parallel()
	ended := func(cause error) context.Context {
		ctx, end := context.WithCancelCause(t.Context())
		end(cause)
		return ctx
	}
	for name, c := range map[string]struct {
		ctx  context.Context
		want bool
	}{
		"continues":             {t.Context(), false},
		"the client left":       {ended(nil), false},
		"it took too long":      {ended(context.DeadlineExceeded), false},
		"the bridge is leaving": {ended(errors.New("the bridge is shutting down")), true},
	} {
		err := adapter.Stopping(c.ctx)
		if (err != nil) != c.want || err != nil && mapping.Classify(err).Class != mapping.Unavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
}
