package main

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

// gate stands before an agent and holds up the nth of the requests it is told
// to watch until it is opened, or until whoever asked has left. What was held
// up is done all the same.
type gate struct {
	agent   http.Handler
	watches func(*http.Request) bool
	nth     int
	flushes int // above 0: the answer is held up instead, after so many pieces

	mu      sync.Mutex
	seen    int
	reached chan struct{} // closed when the request is there
	passage chan struct{}
}

func stepPosts(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/steps")
}

func runPosts(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/runs/stream")
}

func newGate(agent http.Handler, watches func(*http.Request) bool, nth int) *gate {
	return &gate{agent: agent, watches: watches, nth: nth, reached: make(chan struct{}), passage: make(chan struct{})}
}

func (g *gate) open() { close(g.passage) }

// await waits until the watched request is held up.
func (g *gate) await(t *testing.T) {
	t.Helper()
	select {
	case <-g.reached:
	case <-time.After(adaptertest.Patience):
		t.Fatal("the agent was not asked")
	}
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !g.watches(r) {
		g.agent.ServeHTTP(w, r)
		return
	}
	g.mu.Lock()
	g.seen++
	held := g.seen == g.nth
	g.mu.Unlock()
	switch {
	case held && g.flushes > 0:
		w = &heldWriter{ResponseWriter: w, gate: g, left: g.flushes, gone: r.Context().Done()}
	case held:
		g.hold(gone(r))
	}
	g.agent.ServeHTTP(w, r)
}

// gone is closed when who asked has left, which a server does not see before it has
// read the body. Uploads are left unread: they are sent as they are taken.
func gone(r *http.Request) <-chan struct{} {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	return r.Context().Done()
}

func (g *gate) hold(gone <-chan struct{}) {
	close(g.reached)
	select {
	case <-g.passage:
	case <-gone:
	}
}

// heldWriter stops after some pieces of an answer.
type heldWriter struct {
	http.ResponseWriter
	gate *gate
	left int
	gone <-chan struct{}
}

func (w *heldWriter) Flush() {
	_ = http.NewResponseController(w.ResponseWriter).Flush()
	if w.left--; w.left == 0 {
		w.gate.hold(w.gone)
	}
}
