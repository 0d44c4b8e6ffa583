package serve

import (
	"runtime/debug"
	"slices"
	"strings"
)

// gcPercent is GOGC where the environment sets none. Most of the live heap belongs to open
// streams, of which there may be thousands: garbage may grow to half of it. The cost of
// runs does not change measurably between 50 and 400.
const gcPercent = 50

// setCollector sets how often memory is collected, and returns the memory of the start.
// The runtime honours GOMEMLIMIT beside it.
func (p *program) setCollector() {
	defer debug.FreeOSMemory()
	if !slices.ContainsFunc(p.Environ, func(v string) bool { return strings.HasPrefix(v, "GOGC=") }) {
		debug.SetGCPercent(gcPercent)
	}
}
