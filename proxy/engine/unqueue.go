package engine

import (
	"context"
	"errors"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

// Unqueue takes back a run that has not begun: nothing is left of it. It returns false for a run that has begun.
func (c *canceller) Unqueue(ctx context.Context, r *mapping.Run) (bool, error) {
	fresh, err := c.runs.Get(ctx, r.ThreadID, r.ID)
	if err != nil || fresh.Status != mapping.RunPending {
		return false, err
	}
	if err := c.inactive.cancel(ctx, fresh, Cancellation{}); errors.Is(err, store.ErrFenced) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	if err := c.runs.Delete(ctx, r.ThreadID, r.ID); err != nil {
		return false, err
	}
	c.log.Removed(r.ID)
	return true, nil
}
