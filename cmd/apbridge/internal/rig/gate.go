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

// Gate holds back the nth watched request to an agent until the gate is opened or the client has left. In either case
// the request is executed afterwards.
type Gate struct {
	Agent   http.Handler
	Watches func(*http.Request) bool
	Nth     int
	Flushes int // if positive, the response is held back instead, after this number of chunks

	Mu      sync.Mutex
	Seen    int
	Reached chan struct{} // closed when the request has arrived
	Passage chan struct{}
}

// StepPosts reports whether a request is for a step, for NewGate.
func StepPosts(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/steps")
}

// RunPosts reports whether a request is for a run, for NewGate.
func RunPosts(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/runs/stream")
}

// NewGate returns a gate in front of an agent, which holds back the nth watched request.
func NewGate(agent http.Handler, watches func(*http.Request) bool, nth int) *Gate {
	return &Gate{Agent: agent, Watches: watches, Nth: nth, Reached: make(chan struct{}), Passage: make(chan struct{})}
}

// Open releases the held request and lets later ones pass.
func (g *Gate) Open() { close(g.Passage) }

// Await waits until the watched request is held back.
func (g *Gate) Await(t *testing.T) {
	t.Helper()
	select {
	case <-g.Reached:
	case <-time.After(adaptertest.Patience):
		t.Fatal("the agent received no request")
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

// Gone returns a channel that is closed when the client has left, which a server only notices after reading the body.
// Bodies of uploads are not read, because they are sent as they are read.
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

// heldWriter stops after a number of chunks of a response.
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
