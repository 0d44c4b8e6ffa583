package serve

import (
	"runtime/debug"
	"slices"
	"strings"
)

// gcPercent is GOGC where the environment sets none. Most of the live heap belongs to open streams, of which there may
// be thousands: garbage may grow to half of it. With Go's own 100 a run costs an eighth less, and an open stream takes
// up to half more. With 75 it would take no more than it may, but a body's peak is then ten times its length and more
// (TestPeakOfOneBody).
const gcPercent = 50

// setCollector sets how often memory is collected. The runtime honours GOMEMLIMIT beside it.
func (p *program) setCollector() {
	if !slices.ContainsFunc(p.Environ, func(v string) bool { return strings.HasPrefix(v, "GOGC=") }) {
		debug.SetGCPercent(gcPercent)
	}
}
