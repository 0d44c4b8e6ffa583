package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/proxy/store"
)

// ownThread decides which thread a run is on.
type ownThread struct {
	*draft
	threads *store.Threads
}

// find finds the run's thread, or lays out the one to be made.
func (b ownThread) find(ctx context.Context) error {
	r := &b.out.Run
	if r.ThreadID != "" {
		if there, err := b.existing(ctx); there || err != nil {
			return err
		}
	} else {
		r.ThreadID = mapping.NewID()
		b.out.MustNotExist = true
	}
	b.out.Thread = &mapping.Thread{
		Tenant: r.Tenant, Owner: r.Owner, ID: r.ThreadID, Metadata: bytes.Clone(rawjson.OrEmpty(b.n.Metadata)), Config: json.RawMessage(`{}`),
		Status: mapping.ThreadIdle, CreatedAt: b.now, UpdatedAt: b.now,
	}
	if b.out.MustNotExist && (b.n.Temporary || b.n.DeleteAfter) {
		b.out.Thread.TTL, b.out.Thread.Expires = mapping.OfOneRun, b.now.Add(unlessEnded)
	}
	return nil
}

// unlessEnded is how long the thread of a stateless run stays if the run is removed before it ends. The end of a run
// sets another time.
const unlessEnded = time.Hour

// existing finds the thread that the request names; false: it is to be made.
func (b ownThread) existing(ctx context.Context) (bool, error) {
	t, err := b.threads.Get(ctx, b.out.Run.ThreadID)
	if err == nil {
		b.thread = t
		return true, nil
	}
	if notFound(err) && b.n.IfNotExists == "create" {
		return false, nil
	}
	return false, err
}
