package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

func (s Suite) testOrder(t *testing.T) {
	noLeaks(t)
	peer := s.Works()
	tr := Collect(bounded(t), s.dial(t, Serve(t, peer).URL), NewTask(nil), 0)
	checkShape(t, tr)
	if tr.Err != nil {
		t.Fatalf("run failed: %v", tr.Err)
	}
	if end := tr.End(); end == nil || end.Status != mapping.RunSuccess {
		t.Errorf("outcome %+v, want success", end)
	}
	if n := len(tr.Outputs()); n < 3 {
		t.Errorf("%d outputs, want at least 3", n)
	}
}

func (s Suite) testAsks(t *testing.T) {
	if s.Asks == nil {
		t.Skip("this dialect's agents never ask")
	}
	noLeaks(t)
	tr := Collect(bounded(t), s.dial(t, Serve(t, s.Asks()).URL), NewTask(nil), 0)
	checkShape(t, tr)
	end := tr.End()
	if tr.Err != nil || end == nil || end.Status != mapping.RunInterrupted || len(end.Interrupts) == 0 {
		t.Fatalf("outcome %+v, error %v, want interrupted with its questions", end, tr.Err)
	}
}

func (s Suite) testYieldFalse(t *testing.T) {
	whole := Collect(bounded(t), s.dial(t, Serve(t, s.Works()).URL), NewTask(nil), 0)
	for n := 1; n <= len(whole.Events); n++ {
		t.Run(fmt.Sprintf("after%d", n), func(t *testing.T) {
			noLeaks(t)
			tr := Collect(bounded(t), s.dial(t, Serve(t, s.Works()).URL), NewTask(nil), n)
			checkShape(t, tr)
			if len(tr.Events) != n {
				t.Errorf("%d events, want %d", len(tr.Events), n)
			}
		})
	}
}

func (s Suite) testContext(t *testing.T) {
	noLeaks(t)
	reason := errors.New("the test has enough events")
	ctx, cancel := context.WithCancelCause(bounded(t))
	b, done := s.dial(t, Serve(t, s.Hangs()).URL), make(chan Trace, 1)
	go func() {
		var tr Trace
		task := NewTask(nil)
		for ev, err := range b.Run(ctx, &task) {
			if err != nil {
				tr.Err = err
				continue
			}
			tr.Events = append(tr.Events, ev)
			if ev.Kind == mapping.KindLinked {
				cancel(reason)
			}
		}
		done <- tr
	}()
	tr := await(t, done)
	checkShape(t, tr)
	if !errors.Is(tr.Err, reason) {
		t.Errorf("error %v does not contain the cause of the context", tr.Err)
	}
}

func (s Suite) testEndedContext(t *testing.T) {
	noLeaks(t)
	peer := s.Works()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	tr := Collect(ctx, s.dial(t, Serve(t, peer).URL), NewTask(nil), 0)
	checkShape(t, tr)
	if tr.Err == nil || peer.Work() != 0 {
		t.Errorf("error %v and %d pieces of work under an ended context", tr.Err, peer.Work())
	}
}

// testAfter stops a run after each of its events in turn. A new backend then continues it from the logged events.
func (s Suite) testAfter(t *testing.T) {
	whole := s.Works()
	want := Collect(bounded(t), s.dial(t, Serve(t, whole).URL), NewTask(nil), 0)
	for n := 1; n < len(want.Events); n++ {
		t.Run(fmt.Sprintf("after%d", n), func(t *testing.T) {
			noLeaks(t)
			peer := s.Works()
			url := Serve(t, peer).URL
			first := Collect(bounded(t), s.dial(t, url), NewTask(nil), n)
			task := NewTask(nil)
			task.After = first.Events
			task.Done = len(first.Outputs())
			task.Link = lastLink(first.Events)
			rest := Collect(bounded(t), s.dial(t, url), task, 0)
			all := Trace{Events: append(first.Events, rest.Events...), Err: rest.Err}
			checkShape(t, all)
			if rest.Err != nil || len(all.Outputs()) != len(want.Outputs()) {
				t.Errorf("%d outputs in all, want %d; error %v", len(all.Outputs()), len(want.Outputs()), rest.Err)
			}
			if got := peer.Work(); got > whole.Work()+s.Rework {
				t.Errorf("%d pieces of work, want %d", got, whole.Work())
			}
		})
	}
}

// testPermit withdraws the permit at each of its checks in turn. There are two checks per call. Nothing may be sent
// after the withdrawal, and the run must end with its reason.
func (s Suite) testPermit(t *testing.T) {
	reason := errors.New("the lease is over")
	for granted := int64(0); ; granted++ {
		var sent, asked atomic.Int64
		peer := s.Works()
		url := Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet {
				sent.Add(1)
			}
			peer.ServeHTTP(w, r)
		})).URL
		ctx, cancel := context.WithCancelCause(bounded(t))
		may := func() error {
			if asked.Add(1) <= granted {
				return nil
			}
			cancel(reason)
			return reason
		}
		tr := Collect(adapter.WithPermit(ctx, may), s.dial(t, url), NewTask(nil), 0)
		checkShape(t, tr)
		if sent.Load() > granted/2 {
			t.Errorf("%d calls were sent, want %d", sent.Load(), granted/2)
		}
		if asked.Load() <= granted { // the permit held for the whole run
			if asked.Load() == 0 || tr.Err != nil {
				t.Errorf("the permit was checked %d times; error %v", asked.Load(), tr.Err)
			}
			return
		}
		if !errors.Is(tr.Err, reason) {
			t.Errorf("error %v does not contain the reason of the withdrawn permit", tr.Err)
		}
	}
}

func lastLink(evs []mapping.Event) mapping.Link {
	var link mapping.Link
	for _, ev := range evs {
		if ev.Head.Link != nil {
			link = *ev.Head.Link
		}
	}
	return link
}

func (s Suite) testRefused(t *testing.T) {
	noLeaks(t)
	host := Nowhere(t)
	tr := Collect(bounded(t), s.dial(t, "http://"+host), NewTask(nil), 0)
	checkShape(t, tr)
	if tr.Code() != mapping.CodeUpstreamUnreachable {
		t.Fatalf("error %v, want %s", tr.Err, mapping.CodeUpstreamUnreachable)
	}
	message := mapping.Classify(tr.Err).Message
	if !strings.Contains(message, "agent") || !strings.Contains(message, host) {
		t.Errorf("message %q does not name both agent and host", message)
	}
}

// testGateway makes a gateway respond with 504 to each write of a run in turn, after the agent has executed it. The run
// must find the result of the write or report it as unknown, and nothing may be done twice.
func (s Suite) testGateway(t *testing.T) {
	whole := s.Works()
	want := Collect(bounded(t), s.dial(t, Serve(t, whole).URL), NewTask(nil), 0)
	for nth := 1; ; nth++ {
		peer := s.Works()
		g := &Gateway{Agent: peer, Nth: nth, Status: http.StatusGatewayTimeout}
		tr := Collect(bounded(t), s.dial(t, Serve(t, g).URL), NewTask(nil), 0)
		checkShape(t, tr)
		switch worked, answered := g.Answered(); {
		case !answered:
			return // the run has fewer writes
		case peer.Work() > whole.Work():
			t.Errorf("write %d: %d pieces of work, want %d", nth, peer.Work(), whole.Work())
		case tr.Err == nil && len(tr.Outputs()) != len(want.Outputs()):
			t.Errorf("write %d: %d outputs, want %d", nth, len(tr.Outputs()), len(want.Outputs()))
		case tr.Err != nil && worked && tr.Code() != mapping.CodeOutcomeUnknown:
			t.Errorf("write %d: error %v, want %s", nth, tr.Err, mapping.CodeOutcomeUnknown)
		}
	}
}

func (s Suite) testFails(t *testing.T) {
	for _, f := range s.Fails {
		t.Run(f.Name, func(t *testing.T) {
			noLeaks(t)
			tr := Collect(bounded(t), s.dial(t, Serve(t, f.Peer()).URL), NewTask(nil), 0)
			checkShape(t, tr)
			if tr.Code() != f.Code {
				t.Errorf("error %v, want code %s", tr.Err, f.Code)
			}
		})
	}
}

// testConcurrent shares one backend among several runs.
func (s Suite) testConcurrent(t *testing.T) {
	noLeaks(t)
	b, ctx := s.dial(t, Serve(t, s.Works()).URL), bounded(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			tr := Collect(ctx, b, NewTask(nil), 0)
			if end := tr.End(); tr.Err != nil || end == nil || end.Status != mapping.RunSuccess {
				t.Errorf("outcome %+v, error %v", end, tr.Err)
			}
		})
	}
	wg.Wait()
}

func await(t *testing.T, done <-chan Trace) Trace {
	t.Helper()
	select {
	case tr := <-done:
		return tr
	case <-time.After(Patience):
		t.Fatal("the run did not stop")
		return Trace{}
	}
}
