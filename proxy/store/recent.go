package store

import (
	"bytes"

	"github.com/apbridge/apbridge/mapping"
	lru "github.com/hashicorp/golang-lru/v2"
)

// recent is what is known of threads, by their keys, without reading it back: that
// takes as long as half a commit, since every commit has SQLite's readers begin with
// empty caches, and the first run of a thread mostly comes right after it was made.
// Only threads in Store.threads are looked up, so it is of no use on PostgreSQL, where
// others change the database too. Operations fill and empty it after their commit,
// before their callers hear of it.
type recent struct {
	bare  *lru.Cache[int64, struct{}]       // nothing was ever uploaded to them
	fresh *lru.Cache[int64, mapping.Thread] // nothing was done with them since they were made
}

const (
	freshKept = 512
	freshMost = 4 << 10 // bytes of metadata and configuration
)

func newRecent() (r recent, err error) {
	if r.bare, err = lru.New[int64, struct{}](keysKept); err != nil {
		return r, err
	}
	r.fresh, err = lru.New[int64, mapping.Thread](freshKept)
	return r, err
}

// noting has an operation forget what it makes untrue. Whatever is done with a thread
// begins with holding it; what is done with a run of its does not always, but making
// the run did.
func (s *Store) noting(do func(*tx) error) func(*tx) error {
	return func(t *tx) error {
		err := do(t)
		if len(t.held)+len(t.uploaded) > 0 {
			t.after(func() { s.recent.forget(t.held, t.uploaded) })
		}
		return err
	}
}

func (r *recent) forget(held, uploaded []int64) {
	for _, thread := range held {
		r.fresh.Remove(thread)
	}
	for _, thread := range uploaded {
		r.bare.Remove(thread)
	}
}

// keepFresh remembers a thread that is being made as reading it would give it.
func (s *Store) keepFresh(t *tx, row threadRow) {
	if t.on.shared() || len(row.Metadata)+len(row.Config) > freshMost {
		return
	}
	th := row.Thread
	th.Metadata, th.Config = bytes.Clone(th.Metadata), bytes.Clone(th.Config) // they are parts of a request
	t.after(func() { s.recent.fresh.Add(row.key, th) })
}

func (s *Store) freshThread(tenant, id string) (mapping.Thread, bool) {
	key, ok := s.threads.Get(threadName{tenant, id})
	if !ok {
		return mapping.Thread{}, false
	}
	th, ok := s.recent.fresh.Get(key)
	return th, ok && th.ID == id && th.Tenant == tenant
}

func (s *Store) isBare(tenant, id string) bool {
	key, ok := s.threads.Get(threadName{tenant, id})
	return ok && s.recent.bare.Contains(key)
}
