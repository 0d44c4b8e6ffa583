package guard

import (
	"net/http"
	"strings"

	"github.com/apbridge/apbridge/mapping"
)

const (
	codeLoop = "loop_detected"
	// mostHops is how many bridges a request may have come through. Replicas do not know
	// each other's names, so that a loop through them is known by its length.
	mostHops = 8
)

// loopGuard refuses a request that has come through this bridge before: an agent's URL
// leads back here, and each turn would hold a slot of that agent until its timeout.
// 422 is the answer that no client tries again.
type loopGuard struct {
	refuser Refuser
	own     string // what this process calls itself; "": it does not look
}

// Loop makes a loopGuard of a bridge that calls itself own.
func Loop(f Refuser, own string) func(http.Handler) http.Handler { return loopGuard{f, own}.guard }

func (g loopGuard) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hops := strings.Join(r.Header.Values(mapping.HopsHeader), ", ")
		if g.own != "" && strings.Contains(hops, g.own) {
			g.refuser.Refuse(w, r, mapping.Errorf(mapping.Invalid, codeLoop,
				"This request has come through this bridge before: the url of one of its agents leads back to the bridge itself, maybe by way of another one. Set agents.NAME.url to the agent's own address."))
			return
		}
		if n := strings.Count(hops, ",") + 1; n > mostHops {
			g.refuser.Refuse(w, r, mapping.Errorf(mapping.Invalid, codeLoop,
				"This request has come through %d servers (header %s); more than %d are taken for a loop. Set agents.NAME.url to the agent's own address.", n, mapping.HopsHeader, mostHops))
			return
		}
		if hops != "" {
			r = r.WithContext(mapping.WithHops(r.Context(), hops))
		}
		next.ServeHTTP(w, r)
	})
}
