package serve

import (
	"runtime/debug"
	"slices"
	"strings"
)

// gcPercent is GOGC where the environment sets none. Most of the live heap belongs to open streams, of which there may
// be thousands: garbage may grow to three quarters of it. With Go's own 100 a run costs a little less, and an open
// stream takes more than the 140 kB that rig/bench allows.
const gcPercent = 75

// setCollector sets how often memory is collected. The runtime honours GOMEMLIMIT beside it.
func (p *program) setCollector() {
	if !slices.ContainsFunc(p.Environ, func(v string) bool { return strings.HasPrefix(v, "GOGC=") }) {
		debug.SetGCPercent(gcPercent)
	}
}
