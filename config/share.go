package config

// Share is the maximum that one key, and one tenant, may use of a common resource. 0 means all of it.
type Share struct{ Key, Tenant int64 }

// Share returns the shares of total: half of it for a key if there can be several keys, and three quarters for a tenant
// if there can be several tenants. No share is below least.
func (a Auth) Share(total, least int64) (s Share) {
	if len(a.Keys)+len(a.Certificates) > 1 || len(a.JWT) > 0 {
		s.Key = max(total/2, least)
	}
	if a.severalTenants() {
		s.Tenant = max(total/4*3, least)
	}
	return s
}

func (a Auth) severalTenants() bool {
	names := map[string]bool{}
	for _, k := range a.Keys {
		names[k.Tenant] = true
	}
	for _, c := range a.Certificates {
		names[c.Tenant] = true
	}
	for _, j := range a.JWT {
		if j.Claims.Tenant != "" {
			return true
		}
		names[j.Tenant] = true
	}
	return len(names) > 1
}
