package adaptertest

import (
	"net/http"
	"net/http/httptest"
	"sync"
)

// Gateway stands in front of an agent and answers one request in its place, such as 504 when the time is over that it
// waits for an answer. Safe for concurrent use; its fields are set before it is asked.
type Gateway struct {
	Agent Peer
	// Watches says which requests are counted; nil: all that are not GET.
	Watches func(*http.Request) bool
	Nth     int // of the counted requests is answered so; 0: the first
	Status  int
	// Keeps: the request does not reach the agent; else the agent carries it out before it is answered.
	Keeps bool

	mu       sync.Mutex
	seen     int
	answered bool
	worked   bool
}

// Answered reports whether the gateway has answered its request, and whether the agent worked on that.
func (g *Gateway) Answered() (worked, answered bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.worked, g.answered
}

func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !g.standsIn(r) {
		g.Agent.ServeHTTP(w, r)
		return
	}
	before := g.Agent.Work()
	if !g.Keeps {
		g.Agent.ServeHTTP(httptest.NewRecorder(), r)
	}
	g.mu.Lock()
	g.answered, g.worked = true, g.Agent.Work() > before
	g.mu.Unlock()
	write(w, g.Status, "text/html", "<html><head><title>Gateway</title></head><body><center>nginx</center></body></html>")
}

// standsIn reports whether the gateway stands in for the agent at this request.
func (g *Gateway) standsIn(r *http.Request) bool {
	if g.Watches == nil && r.Method == http.MethodGet || g.Watches != nil && !g.Watches(r) {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seen++
	return g.seen == max(g.Nth, 1)
}
