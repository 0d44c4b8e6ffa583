package threadrun

import (
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// A client that reads the history of a thread while its runs are removed gets the existing states. It never gets an
// error about a checkpoint that it did not name.
func TestHistoryWhileRunsAreRemoved(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	at, over := b.Thread(), make(chan struct{})
	b.Post(at+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`).OK()
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				if a, err := b.Try(t.Context(), "GET", at+"/history?limit=100", ""); err != nil || a.Status != 200 {
					t.Errorf("response %d: %.300s %v", a.Status, a.Body, err)
					return
				}
			}
		})
	}
	for range 8 {
		run := b.Begin(at, "")
		b.Get(run + "/join").OK()
		b.Do("DELETE", run, "")
	}
	close(over)
	readers.Wait()
}
