package console

import (
	"fmt"
	"time"
)

// Shown returns a function that rewrites one line on a terminal, at most some times a second, and writes nothing
// elsewhere, and one that ends the line.
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
