package serve

import (
	"runtime/debug"
	"slices"
	"strings"
)

// gcPercent is the default of GOGC. Most of the live heap belongs to open streams, of which there may be thousands.
// With 50, garbage is at most half of it. With Go's default of 100, a run costs an eighth less, but an open stream
// needs up to half as much memory again. With 75, streams would be acceptable, but the peak memory for a body would
// exceed ten times its length (TestPeakOfOneBody).
const gcPercent = 50

// setCollector sets GOGC. The runtime also honours GOMEMLIMIT.
func (p *program) setCollector() {
	if !slices.ContainsFunc(p.Environ, func(v string) bool { return strings.HasPrefix(v, "GOGC=") }) {
		debug.SetGCPercent(gcPercent)
	}
}
