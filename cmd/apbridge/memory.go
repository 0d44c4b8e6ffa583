package main

import (
	"runtime/debug"
	"slices"
	"strings"
)

// gcPercent is GOGC where the environment sets none. Most of what lives belongs to open
// streams, of which there may be thousands: half of it is enough to wait for the
// collector. What runs cost does not change measurably between 50 and 400.
const gcPercent = 50

// setCollector sets how often memory is collected, and gives back what the start took.
// The runtime honours GOMEMLIMIT beside it.
func (p *program) setCollector() {
	defer debug.FreeOSMemory()
	if !slices.ContainsFunc(p.environ, func(v string) bool { return strings.HasPrefix(v, "GOGC=") }) {
		debug.SetGCPercent(gcPercent)
	}
}
