package engine

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// crowd is how long each of n executions that come at once waits.
func crowd(s *starters, n int, takes time.Duration) (waits []time.Duration) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	came := time.Now()
	for range n {
		wg.Go(func() {
			end := s.await(context.Background())
			mu.Lock()
			waits = append(waits, time.Since(came))
			mu.Unlock()
			time.Sleep(takes)
			end()
		})
	}
	wg.Wait()
	slices.Sort(waits)
	return waits
}

func TestWhoComesAloneBeginsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &starters{}
		defer s.make()()
		for range 3 * startFresh {
			if d := cmp.Diff([]time.Duration{0}, crowd(s, 1, 0)); d != "" {
				t.Fatal(d)
			}
			time.Sleep(startEvery)
		}
		if len(s.fresh) > 1 {
			t.Errorf("%d are remembered", len(s.fresh))
		}
	})
}

func TestExecutionsGiveWayWhileRunsAreMade(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &starters{}
		made := s.make()
		time.AfterFunc(3*startEvery-startCalm+time.Millisecond, made)
		want := []time.Duration{0, startEvery, 2 * startEvery, 3 * startEvery, 4 * startEvery, 4 * startEvery, 4 * startEvery}
		if d := cmp.Diff(want, crowd(s, len(want), 0)); d != "" {
			t.Error("a few wait for the crowd of requests, all for its end (-want +got):\n" + d)
		}
	})
}

func TestACrowdBeginsByAndBy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		takes, again time.Duration // the second lot is complete
	}{
		"the next begin as others end":        {2 * startEvery, 3 * startEvery},
		"agents that are slow hold up nobody": {time.Minute, startEvery + startOld},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				waits := crowd(&starters{}, 2*startFresh, c.takes)
				if got := waits[startFresh-1]; got != startEvery {
					t.Errorf("the first lot is complete after %s", got)
				}
				if got := waits[2*startFresh-1]; got < c.again || got > c.again+startEvery {
					t.Errorf("the next lot is complete after %s, want about %s", got, c.again)
				}
			})
		})
	}
}

func TestNobodyGivesWayForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &starters{}
		defer s.make()()
		waits := crowd(s, 1000, 0)
		if longest := waits[len(waits)-1]; longest < startLatest || longest > startLatest+startEvery {
			t.Errorf("the last began after %s", longest)
		}
		if early := int(startLatest / startEvery); waits[early-1] >= startLatest || waits[early+1] < startLatest {
			t.Errorf("%d began before: %v", early, waits[early-2:early+2])
		}
	})
}

func TestAStoppedExecutionDoesNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &starters{}
		defer s.make()()
		s.await(t.Context())()
		ctx, stop := context.WithCancel(t.Context())
		stop()
		came := time.Now()
		if s.await(ctx)(); time.Since(came) != 0 {
			t.Errorf("it waited %s", time.Since(came))
		}
	})
}
