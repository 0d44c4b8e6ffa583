package operate

import (
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// principals is a peer that records the principals named in its calls.
type principals struct {
	http.Handler
	mu   sync.Mutex
	seen []string
}

func (p *principals) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.seen = append(p.seen, r.Header.Get("X-User")+" "+r.Header.Get("X-Tenant")+" "+r.Header.Get("X-Fixed"))
	p.mu.Unlock()
	p.Handler.ServeHTTP(w, r)
}

// calls returns the principals since the previous call, without repetitions.
func (p *principals) calls() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := slices.Compact(p.seen)
	p.seen = nil
	return list
}

// TestAgentCallsNameThePrincipal checks that every call for a request or a run names its principal, even if the run had
// to wait for another principal's run, and that the bridge's own calls name none.
func TestAgentCallsNameThePrincipal(t *testing.T) {
	t.Parallel()
	const alice, bob = "alice-0123456789abcdef", "bob-0123456789abcdef"
	for name, agent := range rig.EitherKind() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			peer := &principals{Handler: agent()}
			g := rig.NewGate(peer, func(r *http.Request) bool { return rig.StepPosts(r) || rig.RunPosts(r) }, 1)
			b := rig.Configured(t, `
agents: {agent: {url: $AGENT, concurrency: 1, headers: {X-User: "{principal.id}", X-Tenant: "t-{principal.tenant}", X-Fixed: f}}}
auth: {keys: [{id: alice, key: `+alice+`, tenant: acme}, {id: bob, key: `+bob+`}]}`, map[string]http.Handler{"agent": g})
			at := "/threads/" + b.Do("POST", "/threads", "{}", "X-Api-Key", alice).OK().Text("thread_id")
			of := "/threads/" + b.Do("POST", "/threads", "{}", "X-Api-Key", bob).OK().Text("thread_id")
			first := at + "/runs/" + b.Do("POST", at+"/runs", rig.OneRun, "X-Api-Key", alice).OK().Text("run_id")
			g.Await(t)
			second := of + "/runs/" + b.Do("POST", of+"/runs", rig.OneRun, "X-Api-Key", bob).OK().Text("run_id")
			for _, call := range peer.calls() {
				if call != "alice t-acme f" && call != "  f" {
					t.Errorf("a call for alice's run names %q", call)
				}
			}
			g.Open()
			b.Do("GET", first+"/join", "", "X-Api-Key", alice).OK()
			b.Do("GET", second+"/join", "", "X-Api-Key", bob).OK()
			calls := peer.calls()
			if calls[0] != "alice t-acme f" || calls[len(calls)-1] != "bob  f" {
				t.Errorf("the calls name %q", calls)
			}
		})
	}
}
