package main

import (
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
)

// Who reads the history of a thread while runs are removed from it gets what is
// there, never that a checkpoint nobody named is not.
func TestHistoryWhileRunsAreRemoved(t *testing.T) {
	t.Parallel()
	b := inFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	at, over := b.thread(), make(chan struct{})
	b.post(at+"/runs/wait", `{"assistant_id":"agent",`+saysHi+`}`).ok()
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				if a, err := b.try(t.Context(), "GET", at+"/history?limit=100", ""); err != nil || a.status != 200 {
					t.Errorf("answered %d: %.300s %v", a.status, a.body, err)
					return
				}
			}
		})
	}
	for range 8 {
		run := b.begin(at, "")
		b.get(run + "/join").ok()
		b.do("DELETE", run, "")
	}
	close(over)
	readers.Wait()
}
