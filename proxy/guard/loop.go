package guard

import (
	"net/http"
	"strings"

	"github.com/apbridge/apbridge/mapping"
)

const (
	codeLoop = "loop_detected"
	// mostHops is how many bridges a request may have come through. Replicas do not know each other's names, so that a
	// loop through them is known by its length.
	mostHops = 8
)

// loopGuard refuses a request that has come through this bridge before: an agent's URL leads back here, and each turn
// would hold a slot of that agent until its timeout. 422 is the answer that no client tries again.
type loopGuard struct {
	refuser Refuser
	own     string // what this process calls itself; "": it does not look
}

// Loop returns a check that refuses a request which has come through the bridge that calls itself own.
func Loop(f Refuser, own string) Check { return loopGuard{f, own} }

func (g loopGuard) Pass(w http.ResponseWriter, r *http.Request) (*http.Request, bool) {
	hops := strings.Join(r.Header.Values(mapping.HopsHeader), ", ")
	if hops == "" {
		return r, true
	}
	if err := g.fault(hops); err != nil {
		g.refuser.Refuse(w, r, err)
		return nil, false
	}
	return r.WithContext(mapping.WithHops(r.Context(), hops)), true
}

func (g loopGuard) fault(hops string) error {
	if g.own != "" && strings.Contains(hops, g.own) {
		return mapping.Errorf(mapping.Invalid, codeLoop,
			"This request has come through this bridge before: the url of one of its agents leads back to the bridge itself, maybe by way of another one. Set agents.NAME.url to the agent's own address.")
	}
	if n := strings.Count(hops, ",") + 1; n > mostHops {
		return mapping.Errorf(mapping.Invalid, codeLoop,
			"This request has come through %d servers (header %s); more than %d are taken for a loop. Set agents.NAME.url to the agent's own address.", n, mapping.HopsHeader, mostHops)
	}
	return nil
}
