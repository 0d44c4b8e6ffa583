package sse_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apbridge/apbridge/adapter/sse"
)

const every = 15 * time.Second

// flushes is a client that records the data of each flush.
type flushes struct {
	deadlineRecorder
	mu   sync.Mutex
	text strings.Builder
	all  []string
	fail error
}

func newFlushes() *flushes {
	return &flushes{deadlineRecorder: deadlineRecorder{ResponseWriter: httptest.NewRecorder()}}
}

func (f *flushes) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.text.Write(p)
}

func (f *flushes) FlushError() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, f.text.String())
	f.text.Reset()
	return f.fail
}

func (f *flushes) sent() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.all)
}

func (f *flushes) breaks() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = io.ErrClosedPipe
}

func TestAStreamIsNeverSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // sleeps use fake time
		rec := newFlushes()
		s := sse.NewStream(rec, every, func() { t.Error("lost") })
		_ = s.Write([]byte("data: 1\n\n"))
		s.Idle()
		s.Idle() // nothing new
		time.Sleep(2*every + time.Second)
		s.Close()
		time.Sleep(10 * every)
		if want := "data: 1\n\n|: heartbeat\n|: heartbeat\n"; strings.Join(rec.sent(), "|") != want {
			t.Errorf("sent %q, want %q", strings.Join(rec.sent(), "|"), want)
		}
	})
}

// Headers and first frames are sent in one write.
func TestHeadersAreSentWithTheFirstFrames(t *testing.T) {
	t.Parallel()
	rec := newFlushes()
	s := sse.NewStream(rec, every, func() { t.Error("lost") })
	defer s.Close()
	_, _ = s.Write([]byte("data: 1\n\n")), s.Write([]byte("data: 2\n\n"))
	if len(rec.sent()) != 0 || !s.Begun() {
		t.Errorf("sent %q before Idle", rec.sent())
	}
	s.Idle()
	if len(rec.sent()) != 1 {
		t.Errorf("sent %q", rec.sent())
	}
}

func TestAStreamBeginsBeforeItsReaderWaits(t *testing.T) {
	t.Parallel()
	rec := newFlushes()
	s := sse.NewStream(rec, every, func() { t.Error("lost") })
	defer s.Close()
	if s.Begun() {
		t.Error("the response began before Idle")
	}
	if s.Idle(); !s.Begun() || len(rec.sent()) != 1 {
		t.Error("Idle did not begin the response")
	}
}

func TestADelayedStreamBeginsWithAFrameOrInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // sleeps use fake time
		rec := newFlushes()
		s := sse.NewStream(rec, every, func() { t.Error("lost") })
		s.DelayStart(time.Second)
		if s.Idle(); s.Begun() {
			t.Error("a delayed response began early, so the request can no longer be refused")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if !s.Begun() || len(rec.sent()) != 1 {
			t.Error("the response did not begin in time")
		}
		time.Sleep(every)
		synctest.Wait()
		if len(rec.sent()) != 2 {
			t.Errorf("sent %q", rec.sent())
		}
		s.Close()
		framed := sse.NewStream(newFlushes(), every, func() { t.Error("lost") })
		framed.DelayStart(time.Second)
		if _ = framed.Write([]byte("data: x\n\n")); !framed.Begun() {
			t.Error("a frame did not begin the response")
		}
		framed.Close()
	})
}

// A goroutine that waits for the next frame is notified if the client stops accepting data.
func TestALostStreamIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // sleeps use fake time
		for name, wait := range map[string]func(*sse.Stream){
			"idle":      (*sse.Stream).Idle,
			"heartbeat": func(*sse.Stream) { time.Sleep(every); synctest.Wait() },
		} {
			rec, lost := newFlushes(), 0
			s := sse.NewStream(rec, every, func() { lost++ })
			_ = s.Flush()
			_ = s.Write([]byte("data: x\n\n"))
			rec.breaks()
			wait(s)
			if lost != 1 || !s.Failed() {
				t.Errorf("%s: lost %d times, failed %v", name, lost, s.Failed())
			}
			s.Close()
		}
	})
}

// The callback for a lost stream may call the stream's methods.
func TestALostStreamIsReportedWithoutALock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // sleeps use fake time
		rec, failed := newFlushes(), false
		var s *sse.Stream
		s = sse.NewStream(rec, every, func() { failed = s.Failed() })
		_ = s.Flush()
		rec.breaks()
		time.Sleep(every)
		synctest.Wait()
		if !failed {
			t.Error("the stream does not report its failure")
		}
		s.Close()
	})
}

// A request is either refused or answered: once a stream is withdrawn, no timer sends status 200.
func TestAWithdrawnStreamSendsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // sleeps use fake time
		rec := newFlushes()
		s := sse.NewStream(rec, every, func() { t.Error("lost") })
		s.DelayStart(time.Second)
		if !s.Withdraw() {
			t.Error("the response began before its delay ended")
		}
		time.Sleep(2 * time.Second)
		s.Close()
		if s.Begun() || len(rec.sent()) != 0 {
			t.Errorf("sent %q", rec.sent())
		}
		begun := sse.NewStream(rec, every, func() { t.Error("lost") })
		defer begun.Close()
		if begun.Idle(); begun.Withdraw() {
			t.Error("a begun response was withdrawn")
		}
	})
}

// A heartbeat is never written within a frame, whichever goroutine writes it.
func TestHeartbeatsAreSentBetweenFrames(t *testing.T) {
	t.Parallel()
	const frames = 300
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := sse.NewStream(w, time.Microsecond, func() {})
		defer s.Close()
		for range frames {
			_ = s.Write(sse.AppendFrame(nil, "a", []byte(strings.Repeat("1", 100)), "1.0"))
			s.Idle()
		}
	}))
	defer srv.Close()
	req, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, srv.URL, nil)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	r, n := sse.NewReader(res.Body, 0), 0
	for ev, err := r.Next(); err == nil; ev, err = r.Next() {
		if n++; ev.Name != "a" || len(ev.Data) != 100 {
			t.Fatalf("frame %d: %+v", n, ev)
		}
	}
	if n != frames {
		t.Errorf("%d frames, want %d", n, frames)
	}
}
