package owner

import (
	"context"
	"slices"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
)

// Threads reads and removes threads, and drops everything in memory about removed runs and tasks. It is implemented by
// service.Service, which this package cannot import.
type Threads interface {
	// WithValues fills in the state at the thread's head.
	WithValues(ctx context.Context, t mapping.Thread) (mapping.Thread, error)
	// ClearThread cancels the active runs of a thread and returns all its runs.
	ClearThread(ctx context.Context, threadID string) ([]mapping.Run, error)
	// RemoveThread deletes a thread without active runs by calling remove.
	RemoveThread(ctx context.Context, threadID string, runs []mapping.Run, remove func(context.Context, string) error) error
	ForgetRun(r mapping.Run)
	ForgetTask(tenant, taskID string)
}

// Owners reports, exports and removes the data of principals. Safe for concurrent use.
type Owners struct {
	store   *store.Store
	engine  *engine.Engine
	threads Threads
	zap     *zap.Logger
	busy    chan struct{} // full during a removal, so that there is only one at a time
}

// New returns Owners over a store, its engine and its threads.
func New(st *store.Store, e *engine.Engine, threads Threads, logger *zap.Logger) *Owners {
	return &Owners{store: st, engine: e, threads: threads, zap: logger, busy: make(chan struct{}, 1)}
}

const codeOutOfReach = "owner_out_of_reach"

// reach returns a context with access to all of an owner's tenant. The caller must itself have that access. Only a
// caller without a tenant that has been given the admin right explicitly may name another tenant.
func reach(ctx context.Context, who adapter.OwnerRef) (context.Context, string, error) {
	p := mapping.PrincipalOf(ctx)
	tenant := p.Tenant
	if who.Tenant != nil {
		tenant = *who.Tenant
	}
	switch {
	case who.ID == "":
		return nil, "", mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "owner is required: the id of a key, or ISSUER:SUBJECT of a token.")
	case p.Limited() || p.Namespaces != nil || p.ReadOnly:
		return nil, "", mapping.Errorf(mapping.Forbidden, codeOutOfReach,
			"%q can access only part of its tenant (agents, namespaces or scope), but an owner's data may be anywhere in it. Use credentials without these restrictions.", p.ID)
	case tenant != p.Tenant && (p.Tenant != "" || !slices.Contains(p.Rights, mapping.RightAdmin)):
		return nil, "", mapping.Errorf(mapping.Forbidden, codeOutOfReach,
			"Tenant %q is not yours. Use credentials of that tenant, or credentials without a tenant whose rights include \"admin\" explicitly.", tenant)
	}
	return mapping.WithPrincipal(ctx, mapping.Principal{ID: p.ID, Tenant: tenant}), tenant, nil
}

var _ adapter.Owners = (*Owners)(nil)
