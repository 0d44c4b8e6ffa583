package stepping

import (
	"context"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// keptSessions limits the unused sessions in memory.
const keptSessions = 4096

// sessions holds the sessions in use and the most recently used of the others. There must be only one session per task
// in use because it has the task's lock. Safe for concurrent use.
type sessions struct {
	mu   sync.Mutex
	busy map[sessionKey]*session
	idle *simplelru.LRU[sessionKey, *session]
}

type sessionKey struct{ tenant, task string }

func newSessions() (*sessions, error) {
	idle, err := simplelru.NewLRU[sessionKey, *session](keptSessions, nil)
	return &sessions{busy: map[sessionKey]*session{}, idle: idle}, err
}

func (l *sessions) get(key sessionKey) (*session, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.find(key)
}

// find must be called with the lock held.
func (l *sessions) find(key sessionKey) (*session, bool) {
	if s, ok := l.busy[key]; ok {
		return s, true
	}
	return l.idle.Get(key)
}

// add keeps s, unless its task already has a session, and returns the task's session.
func (l *sessions) add(s *session) *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	if there, ok := l.find(s.key); ok {
		return there
	}
	l.idle.Add(s.key, s)
	return s
}

// use keeps s, or the session that has replaced it, until letGo is called.
func (l *sessions) use(s *session) *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	if there, ok := l.find(s.key); ok {
		s = there
	}
	l.idle.Remove(s.key)
	l.busy[s.key] = s
	s.users++
	return s
}

// acquire waits for the lock of a session, or of the session that has replaced it, and keeps that one in use until the
// lock is released.
func (l *sessions) acquire(ctx context.Context, s *session) (_ *session, release func(), err error) {
	s = l.use(s)
	select {
	case s.lock <- struct{}{}:
	case <-ctx.Done():
		l.letGo(s)
		return nil, nil, context.Cause(ctx)
	}
	return s, sync.OnceFunc(func() {
		<-s.lock
		l.letGo(s)
	}), nil
}

func (l *sessions) letGo(s *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.users--; s.users > 0 || l.busy[s.key] != s {
		return
	}
	delete(l.busy, s.key)
	l.idle.Add(s.key, s)
}

// forget drops a task's session because the events from which it was folded were removed.
func (l *sessions) forget(key sessionKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.busy, key)
	l.idle.Remove(key)
}
