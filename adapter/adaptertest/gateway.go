package adaptertest

import (
	"net/http"
	"net/http/httptest"
	"sync"
)

// Gateway is a gateway in front of an agent that responds to one request in the agent's place, for example with 504
// after its time limit. Its fields must be set before it serves; then it is safe for concurrent use.
type Gateway struct {
	Agent Peer
	// Watches selects the requests to count. If it is nil, all requests except GETs are counted.
	Watches func(*http.Request) bool
	Nth     int // number of the counted request to respond to; 0 means the first
	Status  int
	// Keeps prevents the request from reaching the agent. Otherwise the agent executes it before the gateway responds.
	Keeps bool

	mu       sync.Mutex
	seen     int
	answered bool
	worked   bool
}

// Answered reports whether the gateway has responded to its request, and whether the agent worked on it.
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

// standsIn reports whether the gateway responds to this request.
func (g *Gateway) standsIn(r *http.Request) bool {
	if g.Watches == nil && r.Method == http.MethodGet || g.Watches != nil && !g.Watches(r) {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seen++
	return g.seen == max(g.Nth, 1)
}
