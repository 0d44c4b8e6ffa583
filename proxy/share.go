package proxy

import (
	"sync"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"golang.org/x/sync/semaphore"
)

// shares tracks the use by each key and each tenant. Safe for concurrent use.
type shares struct {
	config.Share
	mu   sync.Mutex
	held map[shareName]*share
}

// shareName names a key of a tenant, or a tenant.
type shareName struct {
	tenant, key string
	isKey       bool
}

// share is the limit of a key or tenant. It exists while the key or tenant uses any of it.
type share struct {
	*semaphore.Weighted
	users int
}

func newShares(of config.Share) *shares { return &shares{Share: of, held: map[shareName]*share{}} }

// use returns the shares of a principal until done is called. A share is nil if there is no limit.
func (s *shares) use(who mapping.Principal) (key, tenant *semaphore.Weighted, done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ofKey, ofTenant := shareName{who.Tenant, who.ID, true}, shareName{tenant: who.Tenant}
	key, tenant = s.get(ofKey, s.Key), s.get(ofTenant, s.Tenant)
	return key, tenant, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.leave(ofKey)
		s.leave(ofTenant)
	}
}

// get must be called with mu held.
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

// leave must be called with mu held.
func (s *shares) leave(n shareName) {
	if one := s.held[n]; one != nil {
		if one.users--; one.users == 0 {
			delete(s.held, n)
		}
	}
}
