package owner

import (
	"context"
	"slices"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/item"
	"go.uber.org/zap"
)

// Engine ends runs and has agents delete their copies of threads; engine.Engine implements it.
type Engine interface {
	Cancel(ctx context.Context, r *mapping.Run, how engine.Cancellation) error
	CanDeleteUpstream(agent string) error
	DeleteUpstreamThread(ctx context.Context, l mapping.Link) error
}

// Heads reads threads at their heads.
type Heads interface {
	WithValues(ctx context.Context, t mapping.Thread) (mapping.Thread, error)
}

// Remover removes threads, and drops what the bridge holds in memory of runs and tasks that are gone.
type Remover interface {
	Clear(ctx context.Context, threadID string) ([]mapping.Run, error)
	Remove(ctx context.Context, threadID string, runs []mapping.Run, remove func(context.Context, string) error) error
	ForgetRun(r mapping.Run)
	ForgetTask(tenant, taskID string)
}

// Parts are what an owner's data is found in, and taken out of.
type Parts struct {
	Owned      *store.Owners
	Threads    *store.Threads
	Runs       *store.Runs
	Crons      *store.Crons
	Assistants *store.Assistants
	Items      *item.Table
	Now        func() time.Time // store.Store.Now

	Engine  Engine
	Heads   Heads
	Remover Remover
}

// Owners takes out and removes what is kept of principals. Safe for concurrent use.
type Owners struct {
	holdings
	exports
	removals
}

// New returns Owners over the parts.
func New(p Parts, logger *zap.Logger) *Owners {
	held := holdings{owned: p.Owned, engine: p.Engine}
	return &Owners{
		holdings: held,
		exports:  exports{holdings: held, owned: p.Owned, threads: p.Threads, heads: p.Heads, now: p.Now},
		removals: removals{parts: p, holdings: held, busy: make(chan struct{}, 1), zap: logger},
	}
}

const codeOutOfReach = "owner_out_of_reach"

// reach returns a context in which all of an owner's tenant is seen. The caller has to see all of it; another tenant
// may be named only by callers without a tenant that were given the right to administer by name.
func reach(ctx context.Context, who adapter.OwnerRef) (context.Context, string, error) {
	p := mapping.PrincipalOf(ctx)
	tenant := p.Tenant
	if who.Tenant != nil {
		tenant = *who.Tenant
	}
	switch {
	case who.ID == "":
		return nil, "", mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "owner is needed: the id of a key, or ISSUER:SUBJECT of a token.")
	case p.Limited() || p.Namespaces != nil || p.ReadOnly:
		return nil, "", mapping.Errorf(mapping.Forbidden, codeOutOfReach,
			"%q sees a part of its tenant alone (agents, namespaces or scope), and the data of an owner may be in all of it. Use credentials without these.", p.ID)
	case tenant != p.Tenant && (p.Tenant != "" || !slices.Contains(p.Rights, mapping.RightAdmin)):
		return nil, "", mapping.Errorf(mapping.Forbidden, codeOutOfReach,
			"Tenant %q is another. Use credentials of it, or some without a tenant that have \"admin\" among their rights by name.", tenant)
	}
	return mapping.WithPrincipal(ctx, mapping.Principal{ID: p.ID, Tenant: tenant}), tenant, nil
}

var _ adapter.Owners = (*Owners)(nil)
