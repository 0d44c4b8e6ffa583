package owner

import (
	"context"

	"github.com/apbridge/apbridge/adapter"
)

func (r *removal) removeCrons() error {
	return each(func(behind string) ([]string, error) { return r.store.Owners.Crons(r.ctx, r.owner, behind) }, func(id string) error {
		return r.one("cron", id, func(ctx context.Context) error {
			if err := r.store.Owners.EraseTraces(ctx, id); err != nil {
				return err
			}
			return r.store.Crons.Delete(ctx, id)
		})
	})
}

func (r *removal) removeAssistants() error {
	return each(func(behind string) ([]string, error) { return r.store.Owners.Assistants(r.ctx, r.owner, behind) }, func(id string) error {
		return r.one("assistant", id, func(ctx context.Context) error {
			if err := r.store.Owners.EraseTraces(ctx, id); err != nil {
				return err
			}
			return r.store.Assistants.Delete(ctx, id)
		})
	})
}

func (r *removal) removeItems() error {
	for {
		n, err := r.store.Items.RemoveOwned(r.ctx, r.owner)
		if err != nil || n == 0 {
			return err
		}
		r.went += n
		if err := r.tell(adapter.Removed{Outcome: adapter.IsRemoved, Kind: "items", Count: n}); err != nil {
			return err
		}
	}
}

// removeRest removes webhooks and idempotency keys that outlived the objects they refer to.
func (r *removal) removeRest() error {
	hooks, keys, err := r.store.Owners.EraseRest(r.ctx, r.owner)
	if err != nil {
		return err
	}
	for _, one := range []adapter.Removed{{Kind: "webhooks", Count: int(hooks)}, {Kind: "idempotency keys", Count: int(keys)}} {
		if one.Count == 0 {
			continue
		}
		r.went += one.Count
		one.Outcome = adapter.IsRemoved
		if err := r.tell(one); err != nil {
			return err
		}
	}
	return nil
}
