package console

import (
	"fmt"
	"time"
)

// Shown returns two functions. look rewrites one line on a terminal, at most a few times per second, and writes nothing
// elsewhere. end ends the line.
func (p *Process) Shown(text func() string) (look, end func()) {
	raw, ok := Rewritable(p.Err, p.Environ)
	if !ok {
		return func() {}, func() {}
	}
	last := time.Time{}
	const clear = "\r\x1b[K"
	return func() {
		if now := time.Now(); now.Sub(last) > 200*time.Millisecond {
			last = now
			fmt.Fprint(raw, clear+text())
		}
	}, func() { fmt.Fprint(raw, clear) }
}
