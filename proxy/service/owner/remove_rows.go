package owner

import (
	"context"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/item"
)

// ownRows removes what stands for itself: crons, assistants and items.
type ownRows struct {
	*ledger
	owned      *store.Owners
	crons      *store.Crons
	assistants *store.Assistants
	items      *item.Table
}

func (r ownRows) removeCrons() error {
	return each(func(behind string) ([]string, error) { return r.owned.Crons(r.ctx, r.owner, behind) }, func(id string) error {
		return r.one("cron", id, func(ctx context.Context) error {
			if err := r.owned.EraseTraces(ctx, id); err != nil {
				return err
			}
			return r.crons.Delete(ctx, id)
		})
	})
}

func (r ownRows) removeAssistants() error {
	return each(func(behind string) ([]string, error) { return r.owned.Assistants(r.ctx, r.owner, behind) }, func(id string) error {
		return r.one("assistant", id, func(ctx context.Context) error {
			if err := r.owned.EraseTraces(ctx, id); err != nil {
				return err
			}
			return r.assistants.Delete(ctx, id)
		})
	})
}

func (r ownRows) removeItems() error {
	for {
		n, err := r.items.RemoveOwned(r.ctx, r.owner)
		if err != nil || n == 0 {
			return err
		}
		r.went += n
		if err := r.tell(adapter.Removed{Outcome: adapter.IsRemoved, Kind: "items", Count: n}); err != nil {
			return err
		}
	}
}

// removeRest removes webhooks and idempotency keys that outlived what they name.
func (r ownRows) removeRest() error {
	hooks, keys, err := r.owned.EraseRest(r.ctx, r.owner)
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
