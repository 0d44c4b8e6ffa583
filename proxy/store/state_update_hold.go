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

// CodeUpdating is the error code for a change of a thread's state during another update. Such an update takes no longer
// than one call to an agent, after which the caller can retry.
const CodeUpdating = "state_update_under_way"

// CodeUpdateLost means that the process was cut off from the database for so long that others could use the thread.
const CodeUpdateLost = "state_update_lost"

// Hold reserves a thread for a state update that is sent to an agent before it is logged. Runs created during that time
// are pending, and other updates are refused with Conflict CodeUpdating. Hold refuses everything that Append would
// refuse, so that an agent never receives an update that does not take place: it returns thread_busy while a run is
// active, head_moved or CodeRepeated.
//
// The caller must call Append with the token, or Free. Both end the reservation. It also ends with the lease of this
// process. If Hold fails, the caller need not call either, even if it is unknown whether Hold took effect; see
// FreeLeft.
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

// Free ends a reservation without an update. It is not an error if it has already ended. If Free fails, FreeLeft does
// it later.
func (s *States) Free(ctx context.Context, threadID, token string) (err error) {
	defer func() { s.holds.remove(token, err != nil) }()
	return s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		_, err := t.Exec(`DELETE FROM updates WHERE token = $1 AND thread = (SELECT id FROM threads WHERE tenant = $2 AND thread_id = $3)`,
			token, tables.TenantOf(ctx), threadID)
		s.base.Notify(t, NoticePending, threadID)
		return err
	})
}

// FreeLeft frees the threads that this process holds for updates that have ended, because Free failed or it was unknown
// that they were held. It returns their number. It must be called periodically. It covers all tenants.
func (s *States) FreeLeft(ctx context.Context) (freed int, err error) {
	left := s.holds.takeLeft()
	if !left && !s.base.DB.Shared() { // on SQLite the outcome of a transaction is always known
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
			n, err := t.Exec(`DELETE FROM updates WHERE token = $1`, token) // 0 rows if it has ended since
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

// leftUpdates returns the tokens of reservations without an update in this process. An update is registered before it
// holds its thread, so one that is held but not registered is over.
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

// updateHolds holds the tokens of the running updates of this process. The zero value has none. Safe for concurrent
// use.
type updateHolds struct {
	mu   sync.Mutex
	open map[string]struct{}
	left bool // the database may still contain the token of an ended update
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

// mayUpdate ends the reservation of Hold. Runs created during it are waiting for that. Without a token the thread must
// be free of runs and of other updates.
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

// updateLost is the Conflict for an update whose reservation ended before it was written.
func updateLost(threadID string) error {
	return mapping.Errorf(mapping.Conflict, CodeUpdateLost,
		"Thread %q was not held for the update until its end: this bridge was cut off from its database for too long. If the agent has accepted the update, the thread's next run begins with it.", threadID)
}

func errUpdating(threadID string) error {
	return mapping.Errorf(mapping.Conflict, CodeUpdating, "The state of thread %q is being changed. Try again in a moment.", threadID)
}

// HeadMoved returns the Conflict CodeHeadMoved.
func HeadMoved() error {
	return mapping.Errorf(mapping.Conflict, CodeHeadMoved, "The thread's state has changed in the meantime. Try again.")
}
