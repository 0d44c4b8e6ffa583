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
	"golang.org/x/sync/semaphore"
)

const (
	// smallBody is not counted: what asks for little, such as a cancellation, need not wait for requests that ask for
	// much.
	smallBody = 4 << 10
	// bodyPiece is what a body may bring before it is counted.
	bodyPiece = 64 << 10
	// shortOf is the part of the memory limit that may live, in percent. Above it the collector takes more and more of
	// the processor.
	shortOf = 80
	// lookAgain is how often at most a collection is made to see what lives.
	lookAgain = time.Second
)

// bodyMemory bounds what requests take together: the bytes of their bodies, each until its request was answered, since
// a run holds on to what it was given; and new work while more lives than the process may use.
type bodyMemory struct {
	bodies *semaphore.Weighted
	shares *shares // of bodies
	limit  uint64  // of the process (GOMEMLIMIT); 0: there is none

	looking sync.Mutex
	looked  time.Time // when the last collection was made to see what lives
}

func newBodyMemory(bodies int64, of config.Share) *bodyMemory {
	m := &bodyMemory{bodies: semaphore.NewWeighted(bodies), shares: newShares(of)}
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		m.limit = uint64(limit)
	}
	return m
}

// short reports whether so much lives that new work would make things worse. What lives is counted by the collector,
// which may not run for minutes in a process that refuses all work: so it is made to run before anything is refused.
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
	return live[0].Value.Uint64() > m.limit/100*shortOf
}

func (m *bodyMemory) measure() {
	m.looking.Lock()
	defer m.looking.Unlock()
	if time.Since(m.looked) >= lookAgain {
		runtime.GC()
		m.looked = time.Now()
	}
}

// memoryGuard refuses requests that there is no memory for. A body that is streamed, such as an upload, takes none.
type memoryGuard struct {
	refuser
	ops    operations
	memory *bodyMemory
	limits Limits // nil: there are none
	times  *times
	sees   routeEffect
}

func (g *memoryGuard) Pass(x *guard.Exchange) bool {
	r := x.Request
	if g.ops.own(r.URL.Path) {
		return true
	}
	shared := memoryBudget{g.memory, g.limits, g.times.room}
	if mayBegin(r.Method) {
		if err := shared.Exhausted(); err != nil && g.sees.verb(r) != mapping.Cancelled { // what ends a run gives memory back
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

// mayBegin reports whether a request by the method may begin something.
func mayBegin(method string) bool {
	return method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch
}

func (g *memoryGuard) overloaded(w http.ResponseWriter, r *http.Request, err error) {
	w.Header().Set("Retry-After", "1")
	g.refuse(w, r, err)
}

// holdBody has memory held for the request's body as it comes; nil: it is not counted.
func (g *memoryGuard) holdBody(r *http.Request) *heldBody {
	if r.Body == nil || r.Body == http.NoBody || streamed(r) {
		return nil
	}
	h := g.memory.hold(r.Context(), r.Body, g.times.room)
	r.Body = h
	return h
}

// memoryBudget is the memory as handlers see it that read more than a body. It implements adapter.MemoryBudget.
type memoryBudget struct {
	of       *bodyMemory
	limits   Limits        // nil: there are none
	patience time.Duration // as of a heldBody
}

// Count reads a message as a body: no faster than the caller's rate allows, and with memory held for it.
func (o memoryBudget) Count(ctx context.Context, r io.Reader) io.ReadCloser {
	body := io.NopCloser(r)
	if o.limits != nil {
		body = &limitedMessage{ReadCloser: body, limits: o.limits, ctx: ctx}
	}
	return &heldMessage{o.of.hold(ctx, body, o.patience)}
}

// Request counts a message as limitGuard counts a request.
func (o memoryBudget) Request(ctx context.Context) error {
	if o.limits == nil {
		return nil
	}
	return o.limits.Request(ctx, mapping.PrincipalOf(ctx))
}

// Exhausted refuses new work near the memory limit.
func (o memoryBudget) Exhausted() error {
	if !o.of.short() {
		return nil
	}
	return mapping.Errorf(mapping.Unavailable, codeOverloaded,
		"The bridge is near its memory limit (GOMEMLIMIT), so that it takes no new work. Try again in a moment.")
}

// limitedMessage counts for the caller's rate of uploads from its first read on.
type limitedMessage struct {
	io.ReadCloser
	limits Limits
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

// heldMessage is held until it is closed, since no request ends with it.
type heldMessage struct{ *heldBody }

// Close gives its memory back.
func (h *heldMessage) Close() error {
	h.release()
	return nil
}

// heldBody is a body that memory is held for: as much as has come of it, so that an announced length, or a client that
// sends nothing, takes no room from others.
type heldBody struct {
	io.ReadCloser
	of       *bodyMemory
	ctx      context.Context // of the request
	patience time.Duration   // to wait for room
	rooms    []heldRoom      // in the order in which they are taken
	done     func()          // with the shares

	mu   sync.Mutex
	held int64
	read int64
	over bool // the request was answered
}

// heldRoom is one of the bounds on the memory of bodies.
type heldRoom struct {
	*semaphore.Weighted
	full func() error // refuses what does not fit
}

// hold returns a body that memory is held for. Its shares come first: a caller that waits for its own keeps nothing of
// what others wait for.
func (m *bodyMemory) hold(ctx context.Context, body io.ReadCloser, patience time.Duration) *heldBody {
	h := &heldBody{ReadCloser: body, of: m, ctx: ctx, patience: patience}
	who := mapping.PrincipalOf(ctx)
	key, tenant, done := m.shares.use(who)
	h.done = done
	if key != nil {
		h.rooms = append(h.rooms, heldRoom{key, func() error { return fullShare(fmt.Sprintf("key %q", who.ID), m.shares.Key) }})
	}
	if tenant != nil {
		h.rooms = append(h.rooms, heldRoom{tenant, func() error { return fullShare(fmt.Sprintf("tenant %q", who.Tenant), m.shares.Tenant) }})
	}
	h.rooms = append(h.rooms, heldRoom{m.bodies, func() error {
		return mapping.Errorf(mapping.Unavailable, codeOverloaded,
			"The bodies of the requests under way take all of limits.request_memory of this bridge. Try again in a moment.")
	}})
	return h
}

func fullShare(of string, most int64) error {
	return mapping.Errorf(mapping.Limited, "limit_bodies",
		"The bodies of the requests under way of %s take its share of limits.request_memory, %d bytes. Wait for some of them to be answered, or raise limits.request_memory.", of, most)
}

// Read waits a while for room for what has come. Without room it fails with an error of class Unavailable, or Limited
// if it is the caller's own share that is taken.
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
		giveBack(h.rooms, more)
		return nil
	}
	h.held += more
	return nil
}

func (h *heldBody) take(n int64) error {
	ctx, cancel := context.WithTimeout(h.ctx, h.patience)
	defer cancel()
	for i, room := range h.rooms {
		if room.Acquire(ctx, n) != nil {
			giveBack(h.rooms[:i], n)
			return room.full()
		}
	}
	return nil
}

func giveBack(rooms []heldRoom, n int64) {
	for _, room := range rooms {
		room.Release(n)
	}
}

func (h *heldBody) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return
	}
	h.over = true
	giveBack(h.rooms, h.held)
	h.held = 0
	h.done()
}
