package store

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// CodeUpdating refuses a change of a thread's state while another update has the thread: it is over in the time of one
// call of an agent, then it can be tried again.
const CodeUpdating = "state_update_under_way"

// CodeUpdateLost: the process was out of touch with the database for so long that others could go on with the thread.
const CodeUpdateLost = "state_update_lost"

// Hold keeps a thread for one update of its state that is told to an agent before it is logged: runs that are made
// meanwhile are pending, and other updates are refused as Conflict CodeUpdating. All that Append refuses is refused
// here, so that no agent is told of an update that does not take place: thread_busy while a run is active, head_moved,
// CodeRepeated.
//
// Append with the token ends it, and so does Free: one of them must. It ends with the lease of this process, too. One
// that is refused, or of which it is not known whether it took place, needs no end; see FreeLeft.
func (s *States) Hold(ctx context.Context, threadID, expectHead string, k IdempotencyKey) (token string, err error) {
	token = rand.Text()
	s.holds.add(token)
	defer func() {
		if err != nil {
			s.holds.remove(token, errors.Is(err, ErrUnknown))
		}
	}()
	err = s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		key, err := tables.ThreadKey(t, tables.ScopeOf(ctx), threadID)
		if err != nil {
			return err
		}
		if err := tables.LockThread(t, key); err != nil {
			return err
		}
		if earlier, ok, err := recallKey(t, tables.TenantOf(ctx), k); ok || err != nil {
			return repeatedRequest(earlier, err)
		}
		if err := mustBeFree(t, key, threadID); err != nil {
			return err
		}
		added, err := t.Exec(`INSERT INTO updates (thread, holder, token) VALUES ($1, $2, $3) ON CONFLICT (thread) DO NOTHING`, key, s.base.Owner, token)
		if err == nil && added == 0 {
			err = errUpdating(threadID)
		}
		if err != nil {
			return err
		}
		var head string
		if err := t.Get(`SELECT head FROM thread_seq WHERE thread = $1`, sqldb.In{key}, sqldb.Out{&head}); err != nil {
			return tables.NoThread(err, threadID)
		}
		if head != expectHead {
			return HeadMoved()
		}
		return nil
	})
	return token, err
}

// Free ends what Hold began, without an update. It is no error when that is over. Where it fails, FreeLeft does it.
func (s *States) Free(ctx context.Context, threadID, token string) (err error) {
	defer func() { s.holds.remove(token, err != nil) }()
	return s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		_, err := t.Exec(`DELETE FROM updates WHERE token = $1 AND thread = (SELECT id FROM threads WHERE tenant = $2 AND thread_id = $3)`,
			token, tables.TenantOf(ctx), threadID)
		s.base.Notify(t, NoticePending, threadID)
		return err
	})
}

// FreeLeft frees the threads that this process holds for an update and that no update of it goes on with: one could not
// be freed, or it was not known that it was held. It returns how many; it is to be called now and then. All tenants.
func (s *States) FreeLeft(ctx context.Context) (freed int, err error) {
	left := s.holds.takeLeft()
	if !left && !s.base.DB.Shared() { // a SQLite file always says what became of a transaction
		return 0, nil
	}
	defer func() {
		if err != nil && left {
			s.holds.remove("", true)
		}
	}()
	tokens, err := s.leftUpdates(ctx)
	if err != nil || len(tokens) == 0 {
		return 0, err
	}
	err = s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		freed = 0
		for _, token := range tokens {
			n, err := t.Exec(`DELETE FROM updates WHERE token = $1`, token) // 0: it has ended since
			if err != nil {
				return err
			}
			freed += int(n)
		}
		s.base.Notify(t, NoticePending, "")
		return nil
	})
	return freed, err
}

// leftUpdates are the tokens of holds that no update has. An update is noted before it holds its thread, so that one
// which is seen held and not noted is over.
func (s *States) leftUpdates(ctx context.Context) (tokens []string, err error) {
	err = s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		tokens = nil
		return t.Each(`SELECT token FROM updates WHERE holder = $1`, sqldb.In{s.base.Owner}, func(scan func(...any) error) error {
			var token string
			err := scan(&token)
			tokens = append(tokens, token)
			return err
		})
	})
	return slices.DeleteFunc(tokens, s.holds.goOn), err
}

// updateHolds are the tokens of the updates that are under way in this process. Safe for concurrent use; the zero value
// has none.
type updateHolds struct {
	mu   sync.Mutex
	open map[string]struct{}
	left bool // one that is over may stand in the database still
}

func (h *updateHolds) add(token string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open == nil {
		h.open = map[string]struct{}{}
	}
	h.open[token] = struct{}{}
}

func (h *updateHolds) remove(token string, left bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.open, token)
	h.left = h.left || left
}

func (h *updateHolds) goOn(token string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, ok := h.open[token]
	return ok
}

func (h *updateHolds) takeLeft() (left bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	left, h.left = h.left, false
	return left
}

// mayUpdate ends what Hold began; runs that were made since wait for that. Without a token the thread must be free, of
// runs and of other updates.
func (s *States) mayUpdate(t *sqldb.Tx, key int64, threadID, token string) error {
	if token != "" {
		ended, err := t.Exec(`DELETE FROM updates WHERE thread = $1 AND token = $2`, key, token)
		if err == nil && ended == 0 {
			err = updateLost(threadID)
		}
		s.base.Notify(t, NoticePending, threadID)
		return err
	}
	if err := mustBeFree(t, key, threadID); err != nil {
		return err
	}
	var held bool
	err := t.Get(`SELECT EXISTS (SELECT 1 FROM updates WHERE thread = $1)`, sqldb.In{key}, sqldb.Out{&held})
	if err == nil && held {
		err = errUpdating(threadID)
	}
	return err
}

// updateLost is the Conflict of an update that this process had no time to end.
func updateLost(threadID string) error {
	return mapping.Errorf(mapping.Conflict, CodeUpdateLost,
		"Thread %q was not held for the update until its end: this bridge was cut off from its database for too long. The agent may have taken the update; then the thread's next run begins with it.", threadID)
}

func errUpdating(threadID string) error {
	return mapping.Errorf(mapping.Conflict, CodeUpdating, "The state of thread %q is being changed. Try again in a moment.", threadID)
}

// HeadMoved returns the Conflict CodeHeadMoved.
func HeadMoved() error {
	return mapping.Errorf(mapping.Conflict, CodeHeadMoved, "The thread's state changed meanwhile. Try again.")
}
