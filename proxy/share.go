package proxy

import (
	"sync"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"golang.org/x/sync/semaphore"
)

// shareOf is how much of something that all callers use one key, and one tenant, may hold. 0: all of it.
type shareOf struct{ key, tenant int64 }

// sharesOf returns the shares of total: half of it for a key and three quarters for a tenant, where the configuration
// knows more than one. No share is below least.
func sharesOf(auth config.Auth, total, least int64) (s shareOf) {
	if len(auth.Keys)+len(auth.Certificates) > 1 || len(auth.JWT) > 0 {
		s.key = max(total/2, least)
	}
	if severalTenants(auth) {
		s.tenant = max(total/4*3, least)
	}
	return s
}

func severalTenants(auth config.Auth) bool {
	names := map[string]bool{}
	for _, k := range auth.Keys {
		names[k.Tenant] = true
	}
	for _, c := range auth.Certificates {
		names[c.Tenant] = true
	}
	for _, j := range auth.JWT {
		if j.Claims.Tenant != "" {
			return true
		}
		names[j.Tenant] = true
	}
	return len(names) > 1
}

// shares keeps what each key and each tenant holds. Safe for concurrent use.
type shares struct {
	shareOf
	mu   sync.Mutex
	held map[shareName]*share
}

// shareName names a key of a tenant, or a tenant.
type shareName struct {
	tenant, key string
	isKey       bool
}

// share is what one of them may hold. It is there while anything of theirs is under way.
type share struct {
	*semaphore.Weighted
	users int
}

func newShares(of shareOf) *shares { return &shares{shareOf: of, held: map[shareName]*share{}} }

// use returns the shares of a principal until done is called. nil: it is not bounded.
func (s *shares) use(who mapping.Principal) (key, tenant *semaphore.Weighted, done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ofKey, ofTenant := shareName{who.Tenant, who.ID, true}, shareName{tenant: who.Tenant}
	key, tenant = s.get(ofKey, s.key), s.get(ofTenant, s.tenant)
	return key, tenant, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.leave(ofKey)
		s.leave(ofTenant)
	}
}

// get is called with mu held.
func (s *shares) get(n shareName, most int64) *semaphore.Weighted {
	if most == 0 {
		return nil
	}
	if s.held[n] == nil {
		s.held[n] = &share{Weighted: semaphore.NewWeighted(most)}
	}
	s.held[n].users++
	return s.held[n].Weighted
}

// leave is called with mu held.
func (s *shares) leave(n shareName) {
	if one := s.held[n]; one != nil {
		if one.users--; one.users == 0 {
			delete(s.held, n)
		}
	}
}
