package eventlog_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/store"
)

func TestLiveLateAndColdReadersSeeTheSame(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.create(true)
	w := b.own(c.Run, c.Claimed.Fence, c.Claimed.Logged)
	live := b.follow(c.Run, 0)
	first := <-live.got
	w.add(some(3, 5)...)
	late := b.follow(c.Run, 2)
	w.add(some(700, 5)...) // more than one batch from the store
	w.end()
	seen := append([]*state.Entry{first}, live.all(1)...)
	same(t, seen[2:], late.all(2))
	same(t, seen, b.follow(c.Run, 0).all(0))
	b.again()
	same(t, seen, b.follow(c.Run, 0).all(0))
	list, err := b.Read(t.Context(), &c.Run, 0)
	if err != nil {
		t.Fatal(err)
	}
	same(t, seen, list)
	if n := b.Live(); n != 0 {
		t.Errorf("%d buffers in use after all readers left", n)
	}
}

func TestReadersBehindTheBuffer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.create(true)
	w := b.own(c.Run, c.Claimed.Fence, c.Claimed.Logged)
	slow := b.follow(c.Run, 0)
	first := <-slow.got
	var fast []*reading
	for range 16 {
		fast = append(fast, b.follow(c.Run, 0))
	}
	var quick sync.WaitGroup
	var seen []*state.Entry
	for i, rd := range fast {
		quick.Go(func() {
			if list := rd.all(0); i == 0 {
				seen = list
			}
		})
	}
	const events = 3*eventlog.BufferEntries + 17
	for n := 0; n < events; n += 100 {
		w.add(some(min(100, events-n), 5)...)
	}
	w.end()
	quick.Wait() // although the slow one has not read further
	same(t, seen, append([]*state.Entry{first}, slow.all(1)...))
	same(t, seen, b.follow(c.Run, 0).all(0))
	same(t, seen[1000:], b.follow(c.Run, 1000).all(1000))
	list, err := b.Read(t.Context(), &c.Run, 500)
	if err != nil {
		t.Fatal(err)
	}
	same(t, seen[500:], list)
}

// Entries that every follower has read are dropped, except for the newest ones, since a stream may last for hours.
func TestBufferDropsEntriesThatAllFollowersHaveRead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.create(true)
	w := b.own(c.Run, c.Claimed.Fence, c.Claimed.Logged)
	fast, slow := b.follow(c.Run, 0), b.follow(c.Run, 0)
	seen := []*state.Entry{<-fast.got}
	for range 5 * eventlog.BufferTail {
		w.add(some(1, 5)...)
		seen = append(seen, <-fast.got)
	}
	if n := b.Held(c.Run.ID); n < 5*eventlog.BufferTail {
		t.Errorf("%d entries held for a follower that has read none", n)
	}
	for range len(seen) {
		<-slow.got
	}
	for range 2 * eventlog.BufferTail {
		w.add(some(1, 5)...)
		seen = append(seen, <-fast.got)
		<-slow.got
	}
	if n := b.Held(c.Run.ID); n > 2*eventlog.BufferTail {
		t.Errorf("%d entries held that all followers have read", n)
	}
	late := b.follow(c.Run, 0)
	w.end()
	list := late.all(0)
	same(t, seen, list[:len(seen)])
	same(t, list[len(list)-1:], fast.all(int64(len(seen))))
}

// notInShort skips a test that moves many megabytes.
func notInShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("passes many megabytes; omit -short to run it")
	}
}

func TestABufferOfLargeStatesIsBounded(t *testing.T) {
	t.Parallel()
	notInShort(t)
	b := setup(t)
	c := b.create(true)
	w := b.own(c.Run, c.Claimed.Fence, c.Claimed.Logged)
	for range 50 {
		w.add(some(1, 1<<20)...)
	}
	slow := b.follow(c.Run, 0)
	w.end()
	if n := len(slow.all(0)); n != 52 {
		t.Errorf("%d entries, want 52", n)
	}
	if n := b.Kept(); n > 1<<20 {
		t.Errorf("%d bytes of a heavy buffer kept", n)
	}
	b.again()
	b.follow(c.Run, 0).all(0)
	if n := b.Kept(); n > 1<<20 {
		t.Errorf("%d bytes kept for a late reader of an ended run", n)
	}
}

func TestEndedRunsStayWithinTheMemoryLimit(t *testing.T) {
	t.Parallel()
	notInShort(t)
	b := setup(t)
	for range 150 {
		c := b.create(true)
		w := b.own(c.Run, c.Claimed.Fence, c.Claimed.Logged)
		w.add(some(1, 400<<10)...)
		w.end()
	}
	if n := b.Kept(); n > eventlog.KeptBufferBytes || n == 0 {
		t.Errorf("%d bytes kept, want at most %d", n, eventlog.KeptBufferBytes)
	}
	if b.Live() != 0 {
		t.Errorf("%d buffers in use", b.Live())
	}
}

func TestAPendingRunIsFollowedBeforeItStarts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.create(false)
	early := b.follow(c.Run, 0)
	if list, err := b.Read(t.Context(), &c.Run, 0); err != nil || len(list) != 0 {
		t.Fatalf("a pending run has %d entries, %v", len(list), err)
	}
	claimed, _, err := b.st.Claims.ClaimNext(t.Context(), nil)
	if err != nil || claimed == nil {
		t.Fatal(claimed, err)
	}
	w := b.own(claimed.Run, claimed.Fence, claimed.Logged)
	w.add(mapping.Event{Kind: mapping.KindStarted})
	w.add(some(5, 5)...)
	w.end()
	if n := len(early.all(0)); n != 7 {
		t.Errorf("%d entries, want 7", n)
	}
}

func TestARunOfAnotherProcessIsPolled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.create(true)
	rd := b.follow(c.Run, 0)
	<-rd.got
	w := b.elsewhere(c.Run, c.Claimed.Fence)
	w.add(some(2, 5)...)
	b.Wake(c.Run.ID) // after a notice
	<-rd.got
	<-rd.got
	w.end() // after polling
	if n := len(rd.all(3)); n != 1 {
		t.Errorf("%d entries, want the end", n)
	}
}

func TestLateReaderSeesUnannouncedEntriesAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.create(true)
	w := b.own(c.Run, c.Claimed.Fence, c.Claimed.Logged)
	w.add(some(2, 5)...)
	b.Release(w.buffer) // handed over; the buffer is kept
	w.buffer = nil
	w.end()
	if list, err := b.Read(t.Context(), &c.Run, 0); err != nil || len(list) != 4 {
		t.Errorf("%d entries without waiting, want 4 (%v)", len(list), err)
	}
	if n := len(b.follow(c.Run, 0).all(0)); n != 4 {
		t.Errorf("%d entries, want 4", n)
	}
}

func TestRunDeletedDuringARead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	notFound := func(rd *reading) {
		t.Helper()
		var last *state.Entry
		for e := range rd.got {
			last = e
		}
		ended := last != nil && last.Kind == mapping.KindEnd // it queried just before the run was removed
		if !ended && mapping.Classify(rd.err).Class != mapping.NotFound {
			t.Errorf("the reader got %v", rd.err)
		}
	}
	c := b.create(true)
	w := b.own(c.Run, c.Claimed.Fence, c.Claimed.Logged)
	rd := b.follow(c.Run, 0)
	<-rd.got
	b.Evict(c.Run.ID)
	notFound(rd)
	b.Release(w.buffer)
	if _, known := b.Lookup(c.Run.ID); known {
		t.Error("a removed run came back when its execution left")
	}
	p := b.create(false)
	rd = b.follow(p.Run, 0)
	out := mapping.Outcome{Status: mapping.RunInterrupted, Cancelled: true}
	ev := mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &out}}
	if _, err := b.st.Events.EndInactive(t.Context(), p.Run.ThreadID, p.Run.ID, ev, store.End{Outcome: out, Thread: mapping.ThreadIdle}); err != nil {
		t.Fatal(err)
	}
	if err := b.st.Threads.Delete(t.Context(), p.Run.ThreadID); err != nil {
		t.Fatal(err)
	}
	b.Wake(p.Run.ID)
	notFound(rd)
	if b.Live() != 0 {
		t.Errorf("%d buffers in use", b.Live())
	}
}

func TestFollowEndsWithItsContextAndReturnsNothingAfterTheEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.create(true)
	w := b.own(c.Run, c.Claimed.Fence, c.Claimed.Logged)
	ctx, stop := context.WithCancelCause(t.Context())
	gone := errors.New("the client left")
	defer stop(nil)
	for e, err := range b.Follow(ctx, &c.Run, 0, nil) {
		if err != nil {
			if !errors.Is(err, gone) {
				t.Errorf("got %v", err)
			}
			break
		}
		if e.Seq == 1 {
			stop(gone)
		}
	}
	w.end()
	for _, after := range []int64{2, 100} {
		if n := len(b.follow(c.Run, after).all(after)); n != 0 {
			t.Errorf("%d entries after %d", n, after)
		}
	}
}

// A reader's query of the store and an execution that takes the run over coincide at every point. In either order,
// readers see each entry once.
func TestReadersAndExecutionsRace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 60 {
		c := b.create(false)
		var readers []*reading
		for range 3 {
			readers = append(readers, b.follow(c.Run, 0))
		}
		claimed, _, err := b.st.Claims.ClaimNext(t.Context(), nil)
		if err != nil || claimed == nil {
			t.Fatal(claimed, err)
		}
		w := b.elsewhere(claimed.Run, claimed.Fence)
		w.add(mapping.Event{Kind: mapping.KindStarted})
		w.add(some(2, 5)...)
		b.Wake(c.Run.ID)
		logged, err := b.st.Events.List(t.Context(), c.Run.ThreadID, c.Run.ID, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		w = b.own(claimed.Run, claimed.Fence, logged)
		readers = append(readers, b.follow(c.Run, 0))
		w.add(some(2, 5)...)
		readers = append(readers, b.follow(c.Run, 0))
		w.end()
		for _, rd := range readers {
			if n := len(rd.all(0)); n != 6 {
				t.Fatalf("%d entries, want 6", n)
			}
		}
	}
}

func TestStatesAreReadFromMemoryAndFromTheStoreAlike(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.create(true)
	w := b.elsewhere(c.Run, c.Claimed.Fence)
	id := mapping.NewID()
	ev := some(1, 5)[0]
	ev.Head.Checkpoint = &mapping.Checkpoint{ID: id, Source: "loop"}
	w.add(ev)
	cold, cp, err := b.State(t.Context(), c.Run.ThreadID, "")
	if err != nil || cp.ID != id {
		t.Fatal(cp.ID, err)
	}
	warm, err := b.Base(t.Context(), c.Run.ThreadID, id)
	if err != nil || warm != cold {
		t.Errorf("the state was folded twice (%v)", err)
	}
	if !strings.Contains(string(cold.JSON()), `"text":"xxxxx"`) {
		t.Errorf("state %s", cold.JSON())
	}
	if _, _, err := b.State(t.Context(), c.Run.ThreadID, mapping.NewID()); mapping.Classify(err).Class != mapping.NotFound {
		t.Errorf("an unknown checkpoint gave %v", err)
	}
}

// TestReaderWithoutNotifications checks that a reader of a run executed by another process, for which no notification
// arrives, polls the store and misses nothing (C5).
func TestReaderWithoutNotifications(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.create(true)
	rd := b.follow(c.Run, 0)
	first := <-rd.got
	w := b.elsewhere(c.Run, c.Claimed.Fence)
	w.add(some(3, 5)...)
	w.end()
	if list := rd.all(1); first.Kind != mapping.KindStarted || len(list) != 4 || list[3].Kind != mapping.KindEnd {
		t.Errorf("after %s it read %d entries", first.Kind, len(list))
	}
}

// A caller that waits for the end is registered as a reader before it waits, so neither the run nor its buffer is
// removed.
func TestWaitForTheEndReadsTheStore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.create(true)
	w := b.own(c.Run, c.Claimed.Fence, c.Claimed.Logged)
	ended := make(chan error, 1)
	go func() {
		e, err := b.End(t.Context(), &c.Run)
		if err == nil && e.Kind != mapping.KindEnd {
			err = fmt.Errorf("it read a %s event", e.Kind)
		}
		ended <- err
	}()
	for !b.Reading(c.Run.ThreadID) {
		runtime.Gosched()
	}
	w.add(some(3, 400<<10)...) // more than is kept of a run without readers
	if b.Live() == 0 {
		t.Error("the run is no longer in memory")
	}
	w.end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if b.Reading(c.Run.ThreadID) || b.Live() != 0 {
		t.Error("the run still has a reader")
	}
}

// The delay is measured for entries that a reader has waited for, not for those that existed before it started.
func TestLagOfReadersThatWait(t *testing.T) {
	t.Parallel()
	b := setup(t)
	lags := make(chan time.Duration, 100)
	b.Measure(func(lag time.Duration) { lags <- lag })
	c := b.create(true)
	w := b.own(c.Run, c.Claimed.Fence, c.Claimed.Logged)
	live := b.follow(c.Run, 0)
	<-live.got
	w.add(some(1, 5)...)
	<-live.got
	if lag := <-lags; lag < 0 || lag > time.Hour {
		t.Errorf("delivered %s after the publication", lag)
	}
	w.end()
	live.all(2)
	<-lags
	b.follow(c.Run, 0).all(0)
	b.again()
	b.Measure(func(lag time.Duration) { lags <- lag })
	b.follow(c.Run, 0).all(0)
	if n := len(lags); n > 0 {
		t.Errorf("%d delays measured for readers of an ended run", n)
	}
}
