package rig

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
)

// Gate stands in front of an agent and holds up the nth of the requests it watches until it is opened, or until the
// client has left. The request is then done all the same.
type Gate struct {
	Agent   http.Handler
	Watches func(*http.Request) bool
	Nth     int
	Flushes int // above 0: the answer is held up instead, after so many pieces

	Mu      sync.Mutex
	Seen    int
	Reached chan struct{} // closed when the request is there
	Passage chan struct{}
}

// StepPosts reports whether a request asks for a step; it is for NewGate.
func StepPosts(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/steps")
}

// RunPosts reports whether a request asks for a run; it is for NewGate.
func RunPosts(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/runs/stream")
}

// NewGate returns a gate that lets an agent's requests pass until the nth of those watched, which waits until the gate
// is opened.
func NewGate(agent http.Handler, watches func(*http.Request) bool, nth int) *Gate {
	return &Gate{Agent: agent, Watches: watches, Nth: nth, Reached: make(chan struct{}), Passage: make(chan struct{})}
}

// Open lets pass the request that waits and those that come later.
func (g *Gate) Open() { close(g.Passage) }

// Await waits until the watched request is held up.
func (g *Gate) Await(t *testing.T) {
	t.Helper()
	select {
	case <-g.Reached:
	case <-time.After(adaptertest.Patience):
		t.Fatal("the agent was not asked")
	}
}

func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !g.Watches(r) {
		g.Agent.ServeHTTP(w, r)
		return
	}
	g.Mu.Lock()
	g.Seen++
	held := g.Seen == g.Nth
	g.Mu.Unlock()
	switch {
	case held && g.Flushes > 0:
		w = &heldWriter{ResponseWriter: w, gate: g, left: g.Flushes, gone: r.Context().Done()}
	case held:
		g.hold(Gone(r))
	}
	g.Agent.ServeHTTP(w, r)
}

// Gone returns a channel that is closed when the client has left. A server sees that only after it has read the body.
// Uploads are left unread: they are sent as they are taken.
func Gone(r *http.Request) <-chan struct{} {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	return r.Context().Done()
}

func (g *Gate) hold(gone <-chan struct{}) {
	close(g.Reached)
	select {
	case <-g.Passage:
	case <-gone:
	}
}

// heldWriter stops after some pieces of an answer.
type heldWriter struct {
	http.ResponseWriter
	gate *Gate
	left int
	gone <-chan struct{}
}

func (w *heldWriter) Flush() {
	_ = http.NewResponseController(w.ResponseWriter).Flush()
	if w.left--; w.left == 0 {
		w.gate.hold(w.gone)
	}
}
