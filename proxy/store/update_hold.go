package store

import (
	"context"
	"crypto/rand"

	"github.com/apbridge/apbridge/mapping"
)

// CodeUpdating refuses a change of a thread's state while another update has the
// thread: it is over in the time of one call of an agent, then it can be tried again.
const CodeUpdating = "state_update_under_way"

// codeUpdateLost: the process was out of touch with the database for so long that
// others could go on with the thread.
const codeUpdateLost = "state_update_lost"

// HoldUpdate keeps a thread for one update of its state that is told to an agent
// before it is logged: runs that are made meanwhile are pending, and other updates are
// refused as Conflict CodeUpdating. All that AppendState refuses is refused here, so
// that no agent is told of an update that does not take place: thread_busy while a run
// is active, head_moved, CodeRepeated.
//
// AppendState with the token ends it, and so does FreeUpdate. It ends with the lease
// of this process, too.
func (s *Store) HoldUpdate(ctx context.Context, threadID, expectHead string, k Key) (token string, err error) {
	token = rand.Text()
	err = s.write(ctx, func(t *tx) error {
		key, err := threadKey(t, scopeOf(ctx), threadID)
		if err != nil {
			return err
		}
		if err := t.hold(key); err != nil {
			return err
		}
		if earlier, ok, err := recallKey(t, tenantOf(ctx), k); ok || err != nil {
			return repeated(earlier, err)
		}
		if err := mustBeFree(t, key, threadID); err != nil {
			return err
		}
		added, err := t.exec(`INSERT INTO updates (thread, holder, token) VALUES ($1, $2, $3) ON CONFLICT (thread) DO NOTHING`, key, s.owner, token)
		if err == nil && added == 0 {
			err = errUpdating(threadID)
		}
		if err != nil {
			return err
		}
		var head string
		if err := t.get(`SELECT head FROM thread_seq WHERE thread = $1`, in{key}, out{&head}); err != nil {
			return noThread(err, threadID)
		}
		if head != expectHead {
			return HeadMoved()
		}
		return nil
	})
	return token, err
}

// FreeUpdate ends what HoldUpdate began, without an update. It is no error when that
// is over.
func (s *Store) FreeUpdate(ctx context.Context, threadID, token string) error {
	return s.write(ctx, func(t *tx) error {
		_, err := t.exec(`DELETE FROM updates WHERE token = $1 AND thread = (SELECT id FROM threads WHERE tenant = $2 AND thread_id = $3)`,
			token, tenantOf(ctx), threadID)
		s.tell(t, NoticePending, "")
		return err
	})
}

// mayUpdate ends what HoldUpdate began; runs that were made since wait for that.
// Without a token the thread must be free, of runs and of other updates.
func (s *Store) mayUpdate(t *tx, key int64, threadID, token string) error {
	if token != "" {
		ended, err := t.exec(`DELETE FROM updates WHERE thread = $1 AND token = $2`, key, token)
		if err == nil && ended == 0 {
			err = UpdateLost(threadID)
		}
		s.tell(t, NoticePending, "")
		return err
	}
	if err := mustBeFree(t, key, threadID); err != nil {
		return err
	}
	var held bool
	err := t.get(`SELECT EXISTS (SELECT 1 FROM updates WHERE thread = $1)`, in{key}, out{&held})
	if err == nil && held {
		err = errUpdating(threadID)
	}
	return err
}

// UpdateLost is the Conflict of an update that this process had no time to end.
func UpdateLost(threadID string) error {
	return mapping.Errorf(mapping.Conflict, codeUpdateLost,
		"Thread %q was not held for the update until its end: this bridge was cut off from its database for too long. The agent may have taken the update; then the thread's next run begins with it.", threadID)
}

func errUpdating(threadID string) error {
	return mapping.Errorf(mapping.Conflict, CodeUpdating, "The state of thread %q is being changed. Try again in a moment.", threadID)
}

// HeadMoved is the Conflict CodeHeadMoved.
func HeadMoved() error {
	return mapping.Errorf(mapping.Conflict, CodeHeadMoved, "The thread's state changed meanwhile. Try again.")
}
