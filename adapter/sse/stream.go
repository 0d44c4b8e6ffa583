package sse

import (
	"net/http"
	"sync"
	"time"
)

// Stream is an answer whose silence is filled with heartbeats. A timer sends them, so that the goroutine that waits for
// the next frame can also write it: where one goroutine waits and another writes, the second must be woken for every
// frame.
//
// The answer begins with the first frame, or at Idle. Safe for concurrent use; errors of writing are final.
type Stream struct {
	every time.Duration
	lost  func()

	mu     sync.Mutex
	w      http.ResponseWriter
	out    *writer // nil: nothing was said yet
	beat   *time.Timer
	held   bool // Idle does not begin the answer
	fresh  bool // headers or frames wait to be flushed
	closed bool
}

// NewStream makes a stream that is not silent for longer than every. lost is called when the client does not take what
// a timer or Idle sends, which no Write of the caller would report. No lock is held during that call. Close must
// follow.
func NewStream(w http.ResponseWriter, every time.Duration, lost func()) *Stream {
	return &Stream{w: w, every: every, lost: lost}
}

// DelayStart delays the beginning of the answer until the first frame, for so long at most: until then the request may
// still be refused.
func (s *Stream) DelayStart(most time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = true
	s.beat = time.AfterFunc(most, s.tick)
}

// tick begins an answer that was held, or sends a heartbeat.
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

// Write buffers encoded frames, whole ones only; Flush and Idle send them.
func (s *Stream) Write(frames []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open()
	s.fresh = true
	return s.out.Write(frames)
}

// Flush begins the answer, if it has not, and sends what is buffered.
func (s *Stream) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open()
	return s.flush()
}

// Idle is for a writer that is about to wait: it is Flush, unless the answer is held.
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

// Begun reports whether status 200 was said: errors must be told in a frame then.
func (s *Stream) Begun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out != nil
}

// Withdraw is Close for a request that is to be refused. It returns false where the answer has begun, which then goes
// on.
func (s *Stream) Withdraw() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out != nil {
		return false
	}
	s.close()
	return true
}

// Failed reports whether the client could not be written to: it has gone, or it took nothing for WriteTimeout.
func (s *Stream) Failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out != nil && s.out.Failed()
}

// Close ends the heartbeats; when it has returned nothing is written any more. It sends nothing.
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
