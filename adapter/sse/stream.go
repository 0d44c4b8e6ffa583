package sse

import (
	"net/http"
	"sync"
	"time"
)

// Stream is a response that sends heartbeats when it is otherwise silent. A timer sends them, so that one goroutine can
// both wait for frames and write them. With separate goroutines, the writer would have to be woken for every frame.
//
// The response begins with the first frame or the first call of Idle. Safe for concurrent use. Write errors are final.
type Stream struct {
	every time.Duration
	lost  func()

	mu     sync.Mutex
	w      http.ResponseWriter
	out    *writer // nil until something is sent
	beat   *time.Timer
	held   bool // DelayStart was called: Idle does not begin the response
	fresh  bool // headers or frames must be flushed
	closed bool
}

// NewStream returns a stream that is never silent for longer than every. lost is called if data sent by a timer or Idle
// cannot be written, because no call of Write would report that. No lock is held during that call. The caller must call
// Close.
func NewStream(w http.ResponseWriter, every time.Duration, lost func()) *Stream {
	return &Stream{w: w, every: every, lost: lost}
}

// DelayStart delays the beginning of the response until the first frame, but for at most the given time. Until then the
// request may still be refused.
func (s *Stream) DelayStart(most time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = true
	s.beat = time.AfterFunc(most, s.tick)
}

// tick begins a delayed response or sends a heartbeat.
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

// Idle must be called before the writer waits. It flushes unless the start of the response is delayed.
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

// Begun reports whether status 200 was sent. After that, errors must be sent as frames.
func (s *Stream) Begun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out != nil
}

// Withdraw closes the stream of a request that will be refused. If the response has already begun, it does nothing and
// returns false.
func (s *Stream) Withdraw() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out != nil {
		return false
	}
	s.close()
	return true
}

// Failed reports whether writing failed: the client has disconnected or has accepted nothing for WriteTimeout.
func (s *Stream) Failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out != nil && s.out.Failed()
}

// Close stops the heartbeats. It sends nothing, and nothing is written after it has returned.
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
