package limit

import (
	"slices"
	"sync"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// Allowances are what the configuration in force lets keys and tenants use. They ask nothing of anybody, so they are
// there before the database, whose quotas they are, and before the Limiter, which counts in it. Safe for concurrent
// use.
type Allowances struct {
	mu     sync.Mutex
	limits config.Limits
	keys   map[string]config.Key
}

// NewAllowances returns the Allowances of a configuration.
func NewAllowances(cfg *config.Config) *Allowances {
	a := &Allowances{}
	a.Reconfigure(cfg)
	return a
}

// Reconfigure has another configuration count from now on. What was used of a rate that stays the same stays used, and
// streams that are open stay open.
func (a *Allowances) Reconfigure(cfg *config.Config) {
	keys := map[string]config.Key{}
	for _, k := range cfg.Auth.Keys {
		keys[k.ID] = k
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.limits, a.keys = cfg.Limits, keys
}

// subjects are what a principal's use is counted for: its key, if that has limits, and its tenant.
func (a *Allowances) subjects(who mapping.Principal) (list []subject) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if k, ok := a.keys[who.ID]; ok && k.Tenant == who.Tenant && k.Limits != (config.Allowance{}) {
		list = append(list, subject{tables.QuotaOfKey, who.ID, k.Limits})
	}
	if of := a.limits.AllowanceOf(who.Tenant); of != (config.Allowance{}) {
		list = append(list, subject{tables.QuotaOfTenant, who.Tenant, of})
	}
	return list
}

// Quotas returns the quotas of a limit for what belongs to a key of a tenant, as quota.Allowed wants. None: it is not
// bounded.
func (a *Allowances) Quotas(limit, tenant, owner string) (list []tables.Quota) {
	for _, s := range a.subjects(mapping.Principal{ID: owner, Tenant: tenant}) {
		if most := quotaOf(s.Allowance, limit); most > 0 {
			list = append(list, tables.Quota{Of: s.of, Name: s.name, Most: most, Place: s.place(limit)})
		}
	}
	return list
}

// quotaOf is how much may be kept; 0 is any number.
func quotaOf(a config.Allowance, limit string) int64 {
	switch limit {
	case tables.QuotaThreads:
		return int64(a.Threads)
	case tables.QuotaCrons:
		return int64(a.Crons)
	case tables.QuotaItems:
		return int64(a.Items)
	case tables.QuotaFiles:
		return int64(a.Files)
	case tables.QuotaDisk:
		return int64(a.Disk)
	}
	return 0
}

// HasQuotas reports whether anything that is kept is bounded at all.
func (a *Allowances) HasQuotas() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := []config.Allowance{a.limits.Tenant}
	for _, of := range a.limits.Tenants {
		all = append(all, of)
	}
	for _, k := range a.keys {
		all = append(all, k.Limits)
	}
	return slices.ContainsFunc(all, func(of config.Allowance) bool {
		return of.Threads+of.Crons+of.Items+of.Files > 0 || of.Disk > 0
	})
}
