package stateupdate_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// TestStateUpdateIsNotSentAfterTheLease ends the lease of a process that holds a thread for a state update that it has
// not sent yet. Another process may have continued the thread. The client gets the reason, and nothing is logged.
func TestStateUpdateIsNotSentAfterTheLease(t *testing.T) {
	t.Parallel()
	b := replicas(t, 1)[0]
	var posts atomic.Int64
	agent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { posts.Add(1) }))
	t.Cleanup(agent.Close)
	client := upstream.New(adapter.Upstream{Name: "a"}, upstream.Options{Root: agent.URL})
	t.Cleanup(client.CloseIdle)
	k := &keeper{asked: func(ctx context.Context) error {
		storetest.Exec(t, b.Path, `UPDATE processes SET until_us = 0`)
		select {
		case <-ctx.Done(): // at the next renewal
		case <-time.After(time.Minute):
		}
		_, err := client.Once(context.WithoutCancel(ctx), &upstream.Call{Method: http.MethodPost})
		return err
	}}
	thread := b.keeps(t, k)
	before, err := b.GetState(t.Context(), thread, "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.UpdateState(t.Context(), thread, adds("one"))
	if e := mapping.Classify(err); e.Code != store.CodeUpdateLost || e.Class != mapping.Unavailable || posts.Load() != 0 || k.told != 0 {
		t.Errorf("%v; %d calls arrived, %d updates accepted", err, posts.Load(), k.told)
	}
	if after, err := b.GetState(t.Context(), thread, ""); err != nil || after.Checkpoint != before.Checkpoint {
		t.Errorf("the state has moved on to %s, %v", after.Values, err)
	}
	k.asked = nil
	if _, err := b.UpdateState(t.Context(), thread, adds("two")); err != nil || k.told != 1 {
		t.Errorf("under the next lease: %v, %d updates accepted", err, k.told)
	}
}
