package sse

import (
	"errors"
	"net/http"
	"time"
)

// WriteTimeout limits one write or flush to a client. A client that accepts nothing for that long is disconnected. It
// can resume with its last id.
const WriteTimeout = 30 * time.Second

// writer writes a stream to a client under a deadline that each write extends. Not safe for concurrent use. Errors are
// final.
type writer struct {
	w   http.ResponseWriter
	rc  *http.ResponseController
	set time.Time // when the deadline was last set
	err error
}

// SetHeader sets the headers of an event stream.
func SetHeader(h http.Header) {
	h.Set("Content-Type", "text/event-stream")
	SetUnbuffered(h)
}

// SetUnbuffered sets the headers that make proxies forward a response as it arrives. nginx buffers unless
// X-Accel-Buffering is no. Compressing intermediaries (the compression middleware of Express, which Next.js uses for
// rewrites) hold back small pieces unless they must not transform the response (RFC 9111 section 5.2.2.6).
func SetUnbuffered(h http.Header) {
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
}

// open writes status 200 and the headers of an event stream, which are sent with the first flush. Other headers must be
// set on w first.
func open(w http.ResponseWriter) *writer {
	SetHeader(w.Header())
	w.Header().Del("Content-Length")
	s := &writer{w: w, rc: http.NewResponseController(w)}
	s.deadline()
	w.WriteHeader(http.StatusOK)
	return s
}

// Write buffers complete encoded frames; Flush sends them.
func (s *writer) Write(frames []byte) error {
	if s.err != nil || len(frames) == 0 {
		return s.err
	}
	s.deadline()
	_, s.err = s.w.Write(frames)
	return s.err
}

// Flush sends everything buffered.
func (s *writer) Flush() error {
	if s.err != nil {
		return s.err
	}
	s.deadline()
	if err := s.rc.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		s.err = err
	}
	return s.err
}

// Heartbeat sends a comment and everything buffered.
func (s *writer) Heartbeat() error {
	if err := s.Write(AppendHeartbeat(nil)); err != nil {
		return err
	}
	return s.Flush()
}

// Failed reports whether writing failed: the client has disconnected or has accepted nothing for WriteTimeout.
func (s *writer) Failed() bool { return s.err != nil }

// Close removes the deadline, so that the connection can serve further requests. It sends nothing.
func (s *writer) Close() { _ = s.rc.SetWriteDeadline(time.Time{}) }

// deadline extends the deadline at most once a second, because in a burst of frames setting it costs more than writing.
// It fails on writers without deadlines (in tests), which cannot hang.
func (s *writer) deadline() {
	if now := time.Now(); now.Sub(s.set) >= time.Second {
		s.set = now
		_ = s.rc.SetWriteDeadline(now.Add(WriteTimeout))
	}
}
