package stepping

import (
	"context"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// keptSessions bounds the sessions that no caller uses and that are held nevertheless.
const keptSessions = 4096

// sessions are those that callers hold, which must be one per task, since callers take turns in it, and those used
// last. Safe for concurrent use.
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

// add keeps s unless there is one already, and returns the one there is.
func (l *sessions) add(s *session) *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	if there, ok := l.find(s.key); ok {
		return there
	}
	l.idle.Add(s.key, s)
	return s
}

// use keeps s, or the one that has taken its place, until letGo.
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

// takeTurn waits for the turn of a session, or of the one that has taken its place, which is in use until the turn is
// given back.
func (l *sessions) takeTurn(ctx context.Context, s *session) (_ *session, giveBack func(), err error) {
	s = l.use(s)
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		l.letGo(s)
		return nil, nil, context.Cause(ctx)
	}
	return s, sync.OnceFunc(func() {
		<-s.turn
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

// forget drops a task's session: what it was folded from is gone.
func (l *sessions) forget(key sessionKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.busy, key)
	l.idle.Remove(key)
}
