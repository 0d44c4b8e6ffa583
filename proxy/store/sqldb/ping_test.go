package sqldb

import (
	"context"
	"testing"
	"time"
)

// A ping that waits too long for a connection succeeds if the database answers other callers.
func TestBusyDatabaseIsUp(t *testing.T) {
	t.Parallel()
	d := fresh(t)
	var number int64
	one := func(tx *Tx) error { return tx.Get(`SELECT 1`, nil, []any{&number}) }
	reading, end, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	for range readersMost {
		go func() {
			ended <- d.Read(t.Context(), func(*Tx) error {
				reading <- struct{}{}
				select {
				case <-end:
				case <-t.Context().Done():
				}
				return nil
			})
		}()
		<-reading
	}
	brief, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if d.Ping(brief) == nil {
		t.Error("the ping succeeded although the database answers nobody")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	pinged := make(chan error, 1)
	go func() { pinged <- d.Ping(ctx) }()
	for waiting := true; waiting; {
		select {
		case err := <-pinged:
			ok(t, err)
			waiting = false
		default:
			ok(t, d.Write(t.Context(), one))
		}
	}
	close(end)
	for range readersMost {
		ok(t, <-ended)
	}
	ok(t, d.Ping(t.Context()))
}
