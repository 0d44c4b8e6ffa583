package sse_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apbridge/apbridge/adapter/sse"
)

func TestWriterSendsHeadersBeforeEvents(t *testing.T) {
	t.Parallel()
	goOn := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s := sse.NewStream(w, time.Hour, func() {})
		defer s.Close()
		_ = s.Flush()
		<-goOn
		_ = s.Write(sse.AppendFrame(nil, "a", []byte("1"), "1.0"))
		_ = s.Flush()
	}))
	defer srv.Close()
	res, err := http.Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no",
	} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	close(goOn)
	body, _ := io.ReadAll(res.Body)
	if want := "event: a\ndata: 1\nid: 1.0\n\n"; string(body) != want {
		t.Errorf("got %q, want %q", body, want)
	}
}

// deadlineRecorder reports whether each write is covered by a deadline.
type deadlineRecorder struct {
	http.ResponseWriter
	deadline time.Time
	bare     int
}

func (d *deadlineRecorder) SetWriteDeadline(t time.Time) error { d.deadline = t; return nil }
func (d *deadlineRecorder) FlushError() error                  { return nil }
func (d *deadlineRecorder) Write(p []byte) (int, error) {
	if d.deadline.IsZero() {
		d.bare++
	}
	return len(p), nil
}

func TestWriterMovesTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // sleeps use fake time
		rec := &deadlineRecorder{ResponseWriter: httptest.NewRecorder()}
		s := sse.NewStream(rec, time.Hour, func() {})
		_ = s.Flush()
		first := rec.deadline
		time.Sleep(sse.WriteTimeout / 2)
		if err := s.Write([]byte("data: x\n\n")); err != nil {
			t.Fatal(err)
		}
		if moved := rec.deadline.Sub(first); rec.bare != 0 || moved != sse.WriteTimeout/2 {
			t.Errorf("the deadline moved by %v", moved)
		}
		s.Close()
		if !rec.deadline.IsZero() {
			t.Error("the deadline is still set after Close")
		}
	})
}

type brokenWriter struct{ http.ResponseWriter }

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestWriterErrorsAreFinal(t *testing.T) {
	t.Parallel()
	s := sse.NewStream(brokenWriter{httptest.NewRecorder()}, time.Hour, func() {})
	defer s.Close()
	if err := s.Write([]byte("data: x\n\n")); err == nil {
		t.Fatal("no error")
	}
	if s.Flush() == nil || s.Write([]byte("data: y\n\n")) == nil || !s.Failed() {
		t.Error("the stream continues after an error")
	}
}
