package service

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

// threadMaker makes threads, of which those hear that wait for them.
type threadMaker struct {
	threads *store.Threads
	log     waker
}

// waker wakes those that wait on a thread; eventlog.Log implements it.
type waker interface{ WakeThread(threadID string) }

// create makes a thread; existed: there is one already.
func (m threadMaker) create(ctx context.Context, n store.ThreadCreation) (t mapping.Thread, existed bool, err error) {
	t, existed, err = m.threads.Create(ctx, n)
	if err == nil && !existed {
		m.log.WakeThread(t.ID)
	}
	return t, existed, err
}

// copy makes a copy of a thread under an id, unless the same request has made one.
func (m threadMaker) copy(ctx context.Context, id, copied string, key store.IdempotencyKey) (mapping.Thread, error) {
	t, err := m.threads.Copy(ctx, id, copied, key)
	if err == nil {
		m.log.WakeThread(t.ID)
	}
	return t, err
}
