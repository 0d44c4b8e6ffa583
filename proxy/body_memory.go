package proxy

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/guard"
	"github.com/apbridge/apbridge/proxy/limit"
	"golang.org/x/sync/semaphore"
)

const (
	// smallBody is the size up to which bodies are not counted, so that small requests, such as a cancellation, need
	// not wait for large ones.
	smallBody = 4 << 10
	// bodyPiece is the number of bytes of a body that may arrive before they are counted.
	bodyPiece = 64 << 10
	// maxLivePercent is the maximum share of the memory limit for live memory, in percent. Above it the garbage collector uses
	// more and more processor time.
	maxLivePercent = 80
	// measureInterval is the minimum interval between collections that measure live memory.
	measureInterval = time.Second
)

// bodyMemory limits the memory of all requests together. It counts the bytes of each body until the response to its
// request, because a run keeps its input. It also refuses new work if the process has too much live memory.
type bodyMemory struct {
	bodies *semaphore.Weighted
	shares *shares // of bodies
	limit  uint64  // of the process (GOMEMLIMIT); 0: none

	measuring sync.Mutex
	measured  time.Time // time of the last collection that measured live memory
}

func newBodyMemory(bodies int64, of config.Share) *bodyMemory {
	m := &bodyMemory{bodies: semaphore.NewWeighted(bodies), shares: newShares(of)}
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		m.limit = uint64(limit)
	}
	return m
}

// short reports whether there is so much live memory that new work should be refused. Only the garbage collector
// measures live memory, and in a process that refuses all work it may not run for minutes. So short runs it before
// anything is refused.
func (m *bodyMemory) short() bool {
	if m.limit == 0 || !m.over() {
		return false
	}
	m.measure()
	return m.over()
}

func (m *bodyMemory) over() bool {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return live[0].Value.Uint64() > m.limit/100*maxLivePercent
}

func (m *bodyMemory) measure() {
	m.measuring.Lock()
	defer m.measuring.Unlock()
	if time.Since(m.measured) >= measureInterval {
		runtime.GC()
		m.measured = time.Now()
	}
}

// memoryGuard refuses requests without memory for them. A streamed body, such as an upload, needs none.
type memoryGuard struct {
	refuser
	ops    operations
	memory *bodyMemory
	limits *limit.Limiter // may be nil
	times  *times
	sees   routeEffect
}

func (g *memoryGuard) Pass(x *guard.Exchange) bool {
	r := x.Request
	if g.ops.own(r.URL.Path) {
		return true
	}
	shared := memoryBudget{g.memory, g.limits, g.times.memory}
	if mayBegin(r.Method) {
		if err := shared.Exhausted(); err != nil && g.sees.verb(r) != mapping.Cancelled { // a cancellation frees memory
			g.overloaded(x.Writer, r, err)
			return false
		}
	}
	if r.Header.Get("Upgrade") != "" {
		x.Request = r.WithContext(adapter.WithMemoryBudget(r.Context(), shared))
	}
	if held := g.holdBody(x.Request); held != nil {
		x.AtEnd(held.release)
	}
	return true
}

// mayBegin reports whether a request with this method may begin work.
func mayBegin(method string) bool {
	return method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch
}

func (g *memoryGuard) overloaded(w http.ResponseWriter, r *http.Request, err error) {
	w.Header().Set("Retry-After", "1")
	g.refuse(w, r, err)
}

// holdBody reserves memory for the request's body as it arrives. It returns nil if the body is not counted.
func (g *memoryGuard) holdBody(r *http.Request) *heldBody {
	if r.Body == nil || r.Body == http.NoBody || streamed(r) {
		return nil
	}
	h := g.memory.hold(r.Context(), r.Body, g.times.memory)
	r.Body = h
	return h
}

// memoryBudget is the memory for handlers that read more than a body. It implements adapter.MemoryBudget.
type memoryBudget struct {
	of      *bodyMemory
	limits  *limit.Limiter // may be nil
	maxWait time.Duration  // as in heldBody
}

// Count returns a reader of a message that is treated like a body: it is read no faster than the caller's rate allows,
// and reserves memory.
func (o memoryBudget) Count(ctx context.Context, r io.Reader) io.ReadCloser {
	body := io.NopCloser(r)
	if o.limits != nil {
		body = &limitedMessage{ReadCloser: body, limits: o.limits, ctx: ctx}
	}
	return &heldMessage{o.of.hold(ctx, body, o.maxWait)}
}

// Request counts a message like limitGuard counts a request.
func (o memoryBudget) Request(ctx context.Context) error {
	if o.limits == nil {
		return nil
	}
	return o.limits.Request(ctx, mapping.PrincipalOf(ctx))
}

// Exhausted refuses new work if memory is near its limit.
func (o memoryBudget) Exhausted() error {
	if !o.of.short() {
		return nil
	}
	return mapping.Errorf(mapping.Unavailable, codeOverloaded,
		"The bridge is near its memory limit (GOMEMLIMIT) and does not accept new work. Try again in a moment.")
}

// limitedMessage applies the caller's rate of uploads, starting with its first read.
type limitedMessage struct {
	io.ReadCloser
	limits *limit.Limiter
	ctx    context.Context
	begun  bool
}

func (m *limitedMessage) Read(b []byte) (int, error) {
	if !m.begun {
		body, err := m.limits.Body(m.ctx, m.ReadCloser, mapping.PrincipalOf(m.ctx))
		if err != nil {
			return 0, err
		}
		m.ReadCloser, m.begun = body, true
	}
	return m.ReadCloser.Read(b)
}

// heldMessage keeps its memory until it is closed, because it does not end with a request.
type heldMessage struct{ *heldBody }

// Close releases the memory.
func (h *heldMessage) Close() error {
	h.release()
	return nil
}

// heldBody is a body with reserved memory. Memory is reserved only for the bytes that have arrived, so that neither an
// announced length nor a client that sends nothing takes memory from others.
type heldBody struct {
	io.ReadCloser
	ctx     context.Context // of the request
	maxWait time.Duration   // maximum wait for memory
	limits  []memoryLimit   // in the order in which memory is reserved
	done    func()          // releases the shares

	mu   sync.Mutex
	held int64
	read int64
	over bool // the request has been answered
}

// memoryLimit is one of the limits on the memory of bodies.
type memoryLimit struct {
	*semaphore.Weighted
	full func() error // returns the error if the limit is exceeded
}

// hold returns a body with reserved memory. Its shares are reserved first, so that a caller that waits for its own
// share holds no memory for which others wait.
func (m *bodyMemory) hold(ctx context.Context, body io.ReadCloser, maxWait time.Duration) *heldBody {
	h := &heldBody{ReadCloser: body, ctx: ctx, maxWait: maxWait}
	who := mapping.PrincipalOf(ctx)
	key, tenant, done := m.shares.use(who)
	h.done = done
	if key != nil {
		h.limits = append(h.limits, memoryLimit{key, func() error { return fullShare(fmt.Sprintf("key %q", who.ID), m.shares.Key) }})
	}
	if tenant != nil {
		h.limits = append(h.limits, memoryLimit{tenant, func() error { return fullShare(fmt.Sprintf("tenant %q", who.Tenant), m.shares.Tenant) }})
	}
	h.limits = append(h.limits, memoryLimit{m.bodies, func() error {
		return mapping.Errorf(mapping.Unavailable, codeOverloaded,
			"The bodies of the requests in progress use all of this bridge's limits.request_memory. Try again in a moment.")
	}})
	return h
}

func fullShare(of string, most int64) error {
	return mapping.Errorf(mapping.Limited, "limit_bodies",
		"The bodies of the requests in progress of %s use up its share of limits.request_memory, %d bytes. Wait for some of them to end, or raise limits.request_memory.", of, most)
}

// Read waits for memory for the bytes that have arrived, but only for a limited time. After that it fails with an error
// of class Unavailable, or of class Limited if the caller's own share is used up.
func (h *heldBody) Read(b []byte) (int, error) {
	n, err := h.ReadCloser.Read(b[:min(len(b), bodyPiece)])
	if full := h.hold(int64(n)); full != nil {
		return 0, full
	}
	return n, err
}

func (h *heldBody) hold(n int64) error {
	h.mu.Lock()
	h.read += n
	more := h.read - smallBody - h.held
	h.mu.Unlock()
	if more <= 0 {
		return nil
	}
	if err := h.take(more); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		giveBack(h.limits, more)
		return nil
	}
	h.held += more
	return nil
}

func (h *heldBody) take(n int64) error {
	ctx, cancel := context.WithTimeout(h.ctx, h.maxWait)
	defer cancel()
	for i, limit := range h.limits {
		if limit.Acquire(ctx, n) != nil {
			giveBack(h.limits[:i], n)
			return limit.full()
		}
	}
	return nil
}

func giveBack(limits []memoryLimit, n int64) {
	for _, limit := range limits {
		limit.Release(n)
	}
}

func (h *heldBody) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return
	}
	h.over = true
	giveBack(h.limits, h.held)
	h.held = 0
	h.done()
}
