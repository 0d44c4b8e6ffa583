package guard

import (
	"strings"

	"github.com/apbridge/apbridge/mapping"
)

const (
	codeLoop = "loop_detected"
	// mostHops limits the number of bridges that a request may pass. Replicas do not know each other's names, so a loop
	// through them is detected by its length.
	mostHops = 8
)

// loopGuard refuses a request that has already passed this bridge, because an agent's URL leads back here. Each pass
// would occupy a slot of that agent until its timeout. The status is 422, which clients do not retry.
type loopGuard struct {
	refuser Refuser
	own     string // name of this process; "" disables the check
}

// Loop returns a guard that refuses requests that have passed the bridge named own.
func Loop(f Refuser, own string) Guard { return loopGuard{f, own} }

func (g loopGuard) Pass(x *Exchange) bool {
	hops := strings.Join(x.Request.Header.Values(mapping.HopsHeader), ", ")
	if hops == "" {
		return true
	}
	if err := g.fault(hops); err != nil {
		g.refuser.Refuse(x.Writer, x.Request, err)
		return false
	}
	x.Request = x.Request.WithContext(mapping.WithHops(x.Request.Context(), hops))
	return true
}

func (g loopGuard) fault(hops string) error {
	if g.own != "" && strings.Contains(hops, g.own) {
		return mapping.Errorf(mapping.Invalid, codeLoop,
			"This request has come through this bridge before: the url of one of its agents leads back to the bridge itself, possibly through another one. Set agents.NAME.url to the agent's own address.")
	}
	if n := strings.Count(hops, ",") + 1; n > mostHops {
		return mapping.Errorf(mapping.Invalid, codeLoop,
			"This request has come through %d servers (header %s); more than %d are treated as a loop. Set agents.NAME.url to the agent's own address.", n, mapping.HopsHeader, mostHops)
	}
	return nil
}
