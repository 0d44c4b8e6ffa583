package sse

import (
	"net/http"
	"sync"
	"time"
)

// Stream is a response that sends heartbeats when it is otherwise silent. A timer sends them, so that the goroutine
// that waits for the next frame can also write it. With one goroutine to wait and another to write, the second would
// have to be woken for every frame.
//
// The response begins with the first frame, or at Idle. Safe for concurrent use. Write errors are final.
type Stream struct {
	every time.Duration
	lost  func()

	mu     sync.Mutex
	w      http.ResponseWriter
	out    *writer // nil: nothing was sent yet
	beat   *time.Timer
	held   bool // Idle does not begin the response
	fresh  bool // headers or frames must be flushed
	closed bool
}

// NewStream returns a stream that is never silent for longer than every. lost is called if the client does not accept
// data sent by a timer or Idle, which no Write of the caller would report. No lock is held during that call. The caller
// must call Close.
func NewStream(w http.ResponseWriter, every time.Duration, lost func()) *Stream {
	return &Stream{w: w, every: every, lost: lost}
}

// DelayStart delays the beginning of the response until the first frame, but no longer than most. Until then the
// request may still be refused.
func (s *Stream) DelayStart(most time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = true
	s.beat = time.AfterFunc(most, s.tick)
}

// tick begins a held response, or sends a heartbeat.
func (s *Stream) tick() {
	if s.beats() != nil {
		s.lost()
	}
}

func (s *Stream) beats() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	err := s.send()
	if err == nil {
		s.beat.Reset(s.every)
	}
	return err
}

func (s *Stream) send() error {
	if s.out == nil {
		s.open()
		return s.flush()
	}
	s.fresh = false
	return s.out.Heartbeat()
}

// open, send and flush must be called with the lock held.
func (s *Stream) open() {
	if s.out != nil {
		return
	}
	s.out, s.fresh = open(s.w), true
	if s.beat == nil {
		s.beat = time.AfterFunc(s.every, s.tick)
	} else {
		s.beat.Reset(s.every)
	}
}

func (s *Stream) flush() error {
	if !s.fresh {
		return s.out.err
	}
	s.fresh = false
	return s.out.Flush()
}

// Write buffers complete encoded frames; Flush and Idle send them.
func (s *Stream) Write(frames []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open()
	s.fresh = true
	return s.out.Write(frames)
}

// Flush begins the response, if necessary, and sends everything buffered.
func (s *Stream) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open()
	return s.flush()
}

// Idle must be called before the writer waits. It is Flush, unless the response is held.
func (s *Stream) Idle() {
	if s.waits() {
		return
	}
	if s.Flush() != nil {
		s.lost()
	}
}

func (s *Stream) waits() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held && s.out == nil
}

// Begun reports whether status 200 was sent. After that, errors must be sent as a frame.
func (s *Stream) Begun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out != nil
}

// Withdraw is Close for a request that will be refused. If the response has already begun, it returns false and does
// not close it.
func (s *Stream) Withdraw() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out != nil {
		return false
	}
	s.close()
	return true
}

// Failed reports whether writing failed: the client has disconnected, or accepted nothing for WriteTimeout.
func (s *Stream) Failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out != nil && s.out.Failed()
}

// Close stops the heartbeats and sends nothing. After it has returned, nothing more is written.
func (s *Stream) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.close()
}

// close must be called with the lock held.
func (s *Stream) close() {
	s.closed = true
	if s.beat != nil {
		s.beat.Stop()
	}
	if s.out != nil {
		s.out.Close()
	}
}
