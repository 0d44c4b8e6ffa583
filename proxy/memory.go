package proxy

import (
	"context"
	"io"
	"math"
	"net/http"
	"runtime/debug"
	"runtime/metrics"
	"sync"

	"github.com/apbridge/apbridge/mapping"
	"golang.org/x/sync/semaphore"
)

const (
	// smallBody is not counted: what asks for little, such as a cancellation, need not
	// wait behind what asks for much.
	smallBody = 4 << 10
	// shortOf is the part of the memory limit that may live, in percent. Above it the
	// collector takes more and more of the processor.
	shortOf = 80
)

// memory bounds what requests take together: the bytes of their bodies, each until its
// request was answered, since a run holds on to what it was given; and new work while
// more lives than the process may use.
type memory struct {
	bodies *semaphore.Weighted
	size   int64
	limit  uint64 // of the process (GOMEMLIMIT); 0: there is none
}

func newMemory(bodies int64) *memory {
	m := &memory{bodies: semaphore.NewWeighted(bodies), size: bodies}
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		m.limit = uint64(limit)
	}
	return m
}

// short reports whether so much lives that new work would make things worse.
func (m *memory) short() bool {
	if m.limit == 0 {
		return false
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return live[0].Value.Uint64() > m.limit/100*shortOf
}

// withMemory refuses requests that there is no memory for. A body that is streamed,
// such as an upload, takes none.
func (s *Server) withMemory(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ops := s.ops[r.URL.Path]; ops {
			next.ServeHTTP(w, r)
			return
		}
		if makesWork(r.Method) && s.memory.short() {
			s.overloaded(w, r, "The bridge is near its memory limit (GOMEMLIMIT), so that it takes no new work. Try again in a moment.")
			return
		}
		held, err := s.holdBody(r)
		if err != nil {
			w.Header().Set("Connection", "close") // rather than reading what nobody wants
			s.overloaded(w, r, "The bodies of the requests under way take all of limits.bodies of this bridge. Try again in a moment.")
			return
		}
		defer held.release()
		next.ServeHTTP(w, r)
	})
}

func makesWork(method string) bool {
	switch method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		return true
	}
	return false
}

func (s *Server) overloaded(w http.ResponseWriter, r *http.Request, message string) {
	w.Header().Set("Retry-After", "1")
	s.refuse(w, r, mapping.Errorf(mapping.Unavailable, codeOverloaded, "%s", message))
}

// holdBody waits a while for room for the request's body. One of unknown length is
// taken for as long as may be until it was read.
func (s *Server) holdBody(r *http.Request) (*heldBody, error) {
	if r.Body == nil || r.Body == http.NoBody || streamed(r) {
		return nil, nil
	}
	size := r.ContentLength
	if size < 0 {
		size = int64(s.cfg.Limits.Body)
	}
	if size <= smallBody {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.times.room)
	defer cancel()
	h := &heldBody{ReadCloser: r.Body, of: s.memory, held: min(size, s.memory.size)}
	if err := s.memory.bodies.Acquire(ctx, h.held); err != nil {
		return nil, err
	}
	r.Body = h
	return h, nil
}

// heldBody is a body that memory is held for.
type heldBody struct {
	io.ReadCloser
	of   *memory
	mu   sync.Mutex
	held int64
	read int64
}

// Read gives back at the end of the body what it turned out not to need.
func (h *heldBody) Read(b []byte) (int, error) {
	n, err := h.ReadCloser.Read(b)
	h.read += int64(n)
	if err != nil {
		h.keep(h.read)
	}
	return n, err
}

func (h *heldBody) keep(n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if more := h.held - n; more > 0 {
		h.held = n
		h.of.bodies.Release(more)
	}
}

func (h *heldBody) release() {
	if h != nil {
		h.keep(0)
	}
}
