package limit

import (
	"slices"
	"sync"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// Allowances are the limits of keys and tenants in the current configuration. They have no dependencies, so they exist
// before the database, which uses their quotas, and before the Limiter, which counts in the database. Safe for
// concurrent use.
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

// Reconfigure replaces the configuration. The use of an unchanged rate stays, and open streams stay open.
func (a *Allowances) Reconfigure(cfg *config.Config) {
	keys := map[string]config.Key{}
	for _, k := range cfg.Auth.Keys {
		keys[k.ID] = k
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.limits, a.keys = cfg.Limits, keys
}

// subjects returns the subjects whose limits apply to a principal: its key, if that has limits, and its tenant.
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

// Quotas returns the quotas of a limit for objects of a key of a tenant. If there are none, there is no limit.
func (a *Allowances) Quotas(limit, tenant, owner string) (list []tables.Quota) {
	for _, s := range a.subjects(mapping.Principal{ID: owner, Tenant: tenant}) {
		if most := quotaOf(s.Allowance, limit); most > 0 {
			list = append(list, tables.Quota{Of: s.of, Name: s.name, Most: most, Place: s.place(limit)})
		}
	}
	return list
}

// quotaOf returns the quota of a limit; 0 means none.
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

// HasQuotas reports whether there is any quota.
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
