package limit

import (
	"slices"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/quota"
)

// Quotas returns the quotas of a limit for what belongs to a key of a tenant, as quota.Allowed wants. None: it is not
// bounded.
func (l *Limiter) Quotas(limit, tenant, owner string) (list []quota.Quota) {
	for _, s := range l.subjects(mapping.Principal{ID: owner, Tenant: tenant}) {
		if most := quotaOf(s.Allowance, limit); most > 0 {
			list = append(list, quota.Quota{Of: s.of, Name: s.name, Most: most, Place: s.place(limit)})
		}
	}
	return list
}

// quotaOf is how much may be kept; 0 is any number.
func quotaOf(a config.Allowance, limit string) int64 {
	switch limit {
	case quota.Threads:
		return int64(a.Threads)
	case quota.Crons:
		return int64(a.Crons)
	case quota.Items:
		return int64(a.Items)
	case quota.Files:
		return int64(a.Files)
	case quota.Disk:
		return int64(a.Disk)
	}
	return 0
}

// HasQuotas reports whether anything that is kept is bounded at all.
func (l *Limiter) HasQuotas() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := []config.Allowance{l.limits.Tenant}
	for _, a := range l.limits.Tenants {
		all = append(all, a)
	}
	for _, k := range l.keys {
		all = append(all, k.Limits)
	}
	return slices.ContainsFunc(all, func(a config.Allowance) bool {
		return a.Threads+a.Crons+a.Items+a.Files > 0 || a.Disk > 0
	})
}
