package sse

import (
	"errors"
	"net/http"
	"time"
)

// WriteTimeout is how long one write or flush to a client may take. A client that takes nothing for so long is cut off;
// its last id lets it come back.
const WriteTimeout = 30 * time.Second

// writer writes a stream to a client under a deadline that moves along with every write. Not for concurrent use. Errors
// are final.
type writer struct {
	w   http.ResponseWriter
	rc  *http.ResponseController
	set time.Time // when the deadline was set last
	err error
}

// SetHeader sets the headers of an event stream.
func SetHeader(h http.Header) {
	h.Set("Content-Type", "text/event-stream")
	SetUnbuffered(h)
}

// SetUnbuffered sets the headers by which proxies pass an answer on piece by piece. nginx buffers unless
// X-Accel-Buffering is no. What compresses on the way holds small pieces back (the compression middleware of Express,
// which Next.js uses for rewrites), unless it must not transform the answer (RFC 9111 section 5.2.2.6).
func SetUnbuffered(h http.Header) {
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
}

// open says status 200 and the headers of an event stream, which leave with the first flush. Further headers must have
// been set on w before.
func open(w http.ResponseWriter) *writer {
	SetHeader(w.Header())
	w.Header().Del("Content-Length")
	s := &writer{w: w, rc: http.NewResponseController(w)}
	s.deadline()
	w.WriteHeader(http.StatusOK)
	return s
}

// Write buffers encoded frames, whole ones only; Flush sends them.
func (s *writer) Write(frames []byte) error {
	if s.err != nil || len(frames) == 0 {
		return s.err
	}
	s.deadline()
	_, s.err = s.w.Write(frames)
	return s.err
}

// Flush sends what is buffered.
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

// Heartbeat sends a comment and whatever else is buffered.
func (s *writer) Heartbeat() error {
	if err := s.Write(AppendHeartbeat(nil)); err != nil {
		return err
	}
	return s.Flush()
}

// Failed reports whether the client could not be written to: it has gone, or it took nothing for WriteTimeout.
func (s *writer) Failed() bool { return s.err != nil }

// Close lifts the deadline, so that the connection can serve further requests. It sends nothing.
func (s *writer) Close() { _ = s.rc.SetWriteDeadline(time.Time{}) }

// deadline moves the deadline on, at most once a second: in a burst of frames setting it costs more than writing. It
// fails on writers that have none (tests); those cannot hang either.
func (s *writer) deadline() {
	if now := time.Now(); now.Sub(s.set) >= time.Second {
		s.set = now
		_ = s.rc.SetWriteDeadline(now.Add(WriteTimeout))
	}
}
